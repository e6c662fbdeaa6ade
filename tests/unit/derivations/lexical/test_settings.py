"""Settings of the lexical teacher."""

import pytest

from btg_seq2seq.derivations.lexical import LexicalSettings
from btg_seq2seq.errors import UserError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_segments", 0),
        ("max_phrase_length", 0),
        ("segment_rate", 1.0),
        ("drawn_rate", 0.0),
        ("table_iterations", 0),
        ("phrase_iterations", -1),
        ("concentration", 0.0),
        ("draws", -1),
        ("beam", -1.0),
        ("max_units", 40000),
    ],
)
def test_wrong_settings_are_refused(name, value):
    with pytest.raises(UserError, match=name):
        LexicalSettings(**{name: value})
