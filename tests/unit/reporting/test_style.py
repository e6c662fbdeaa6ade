"""The style sheet of reports."""

import re

import pytest

from btg_seq2seq.drawing.colours import COLOURS
from btg_seq2seq.reporting.style import report_style


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_every_variable_is_defined(theme):
    text = report_style(theme)
    used = set(re.findall(r"var\((--[a-z0-9]+)\)", text))
    defined = set(re.findall(r"(--[a-z0-9]+):", text))
    assert used <= defined
    assert ("prefers-color-scheme" in text) == (theme == "auto")
    assert text.count("{") == text.count("}")
    assert f".run{COLOURS - 1}{{" in text
    assert "url(" not in text
