"""Rules from files and from the command line."""

import gzip

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.rules.files import parse_rule, read_rules
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


def test_tab_separated(tmp_path):
    path = tmp_path / "rules.tsv"
    path.write_text(
        "source\ttarget\tmode\n"
        "von Grund auf\tfrom scratch ||| anew\n"
        "\n"
        'say "no"\tx\tPrefer\tinsensitive\n'
        "GmbH\t\tkeep\n"
        "das Haus ||| the house ||| 0.5 0.25 ||| ||| 1 2 1\n",
        encoding="utf-8",
    )
    first, second, third, fourth = read_rules(path)
    assert first == Rule("von Grund auf", ["from scratch", "anew"], place=f"{path}:2")
    assert second == Rule('say "no"', "x", "prefer", "insensitive", f"{path}:4")
    assert third == Rule("GmbH", mode="keep", place=f"{path}:5")
    assert fourth == Rule("das Haus", "the house", mode="prefer", place=f"{path}:6")


@pytest.mark.parametrize("name", ["rules.csv", "rules.csv.gz"])
def test_comma_separated(tmp_path, name):
    path = tmp_path / name
    content = b'a,b\n"x, y","z ""q""",prefer\n'
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    first, second = read_rules(path)
    assert first == Rule("a", "b", place=f"{path}:1")
    assert second == Rule("x, y", 'z "q"', mode="prefer", place=f"{path}:2")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.tsv", "a\tb\nonly one\n", r"r\.tsv:2: 1 columns, but a rule has 2 to 4"),
        ("r.tsv", "a\tb\tforce\tsensitive\tmore\n", r"r\.tsv:1: 5 columns"),
        ("r.tsv", "a\tb\nc\td\twish\n", r"r\.tsv:2: mode is force, prefer or keep, not 'wish'"),
        ("r.tsv", "a\t\n", r"r\.tsv:1: the rule for 'a' has no target"),
        ("r.csv", 'a,b\n"c"d,e\n', r"r\.csv:2: "),
        ("r.tsv", b"a\tb\n\xff\tc\n", r"r\.tsv: line 2 is not UTF-8"),
    ],
)
def test_errors_name_the_line(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message):
        read_rules(path)
    with pytest.raises(ValueError, match="there is no such file"):
        read_rules(tmp_path / "missing.tsv")


def test_on_the_command_line():
    assert parse_rule("von Grund auf=from scratch|||anew") == Rule(
        "von Grund auf", ["from scratch", "anew"], place="--rule"
    )
    assert parse_rule("GmbH") == Rule("GmbH", mode="keep", place="--rule")
    assert parse_rule("a=b=c").targets == ("b=c",)
    assert parse_rule("E=mc²\t\tkeep") == Rule("E=mc²", mode="keep", place="--rule")
    assert parse_rule("Haus\thouse|||home\tprefer\tinsensitive") == Rule(
        "Haus", ["house", "home"], mode="prefer", case="insensitive", place="--rule"
    )
    with pytest.raises(ValueError, match="--rule: 5 columns"):
        parse_rule("a\tb\tforce\t\t")
