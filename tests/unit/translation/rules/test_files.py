"""Files of rules: what a line break within quotes means."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.rules.files import read_rules
from btg_seq2seq.translation.rules.rules import Rule


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_break_within_quotes_is_white_space(tmp_path, end):
    path = tmp_path / "rules.csv"
    lines = ["a,b", '"von Grund', 'auf","from', "", 'scratch",prefer', "", "c,d"]
    path.write_bytes("".join(line + end for line in lines).encode())
    assert read_rules(path) == [
        Rule("a", "b", place=f"{path}:1"),
        Rule("von Grund auf", "from scratch", mode="prefer", place=f"{path}:2"),
        Rule("c", "d", place=f"{path}:7"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('a,b\n\n"c\nd",e,wish\n', r"r\.csv:3: mode is force, prefer or keep, not 'wish'"),
        ('a,b\n"c\nd,e\nf,g\n', r"r\.csv:2: unexpected end of data"),
    ],
)
def test_an_error_names_the_line_on_which_a_rule_begins(tmp_path, content, message):
    path = tmp_path / "r.csv"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        read_rules(path)
