"""Command lines: what stands where, how it is spelled, and what is wrong with it."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

from btg_seq2seq.errors import UsageError
from btg_seq2seq.options.parser import OptionParser


@dataclass
class Section:
    """A section."""

    beam_size: int = 5
    """Hypotheses."""

    kind: Literal["word", "bpe"] | None = None
    """Of tokens; see ``beam_size``."""

    weight: float | dict[int, float] = 1.0
    """May change with the step."""

    names: list[str] = field(default_factory=list)
    """Some names."""


def parser():
    made = OptionParser("btg test", description="A test.", moved={"--old": "--old is now --new"})
    made.add_argument("model")
    made.add_argument("file", nargs="?", default="-")
    made.add_argument("--flag", action="store_true")
    made.add_argument("--rule", action="append")
    made.add_argument("--exclude", nargs="+", default=[])
    made.add_argument("--output-file")
    made.add_class_arguments(Section, "part")
    return made


@pytest.mark.parametrize(
    "arguments",
    [
        "M F --flag --rule a=b --part.beam-size 3",
        "--flag --rule a=b --part.beam_size 3 M F",
        "M --flag F --rule=a=b --part.beam-size=3",
        "--rule a=b M --part.beam-size 3 F --flag",
        "--rule a=b --part.beam-size 3 --flag -- M F",
    ],
)
def test_files_stand_anywhere(arguments):
    found = parser().parse_args(arguments.split())
    assert (found.model, found.file, found.flag, found.rule) == ("M", "F", True, ["a=b"])
    assert found.part.beam_size == 3


def test_values_and_files_that_begin_with_a_dash():
    found = parser().parse_args(["M", "-", "--rule", "-5=five", "--rule=--x=y"])
    assert (found.file, found.rule) == ("-", ["-5=five", "--x=y"])
    assert parser().parse_args(["--flag", "--", "M", "-f"]).file == "-f"


@pytest.mark.parametrize(
    ("arguments", "excluded", "files"),
    [
        ("M F --exclude a b", ["a", "b"], ("M", "F")),
        ("M --exclude a b --flag F", ["a", "b"], ("M", "F")),
        ("--exclude a b M", ["a", "b"], ("M", "-")),
        ("--exclude a b --flag M F", ["a", "b"], ("M", "F")),
    ],
)
def test_an_option_that_takes_many_files_leaves_what_is_needed(arguments, excluded, files):
    found = parser().parse_args(arguments.split())
    assert (found.exclude, (found.model, found.file)) == (excluded, files)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "MODEL is missing: btg test MODEL [FILE]"),
        ("M F G", "'G' is too much: btg test MODEL [FILE]"),
        ("M --flga", "there is no option --flga; did you mean --flag?"),
        ("M --beam_size 3", "there is no option --beam-size; did you mean --part.beam-size?"),
        ("M --part.beam 3", "there is no option --part.beam; did you mean --part.beam-size?"),
        ("M --output-fil x", "there is no option --output-fil; did you mean --output-file?"),
        ("M --qqq", "there is no option --qqq; see btg test --help"),
        ("M -x", "there is no option -x; see btg test --help"),
        ("M --part x", "--part is a section; its fields are options, such as --part.beam-size"),
        ("M --old", "--old is now --new"),
        ("M --rule", "--rule needs a value"),
        ("M --part.kind", "--part.kind needs a value: one of word, bpe"),
        ("M --part.kind Bpe", "--part.kind: 'Bpe' is not one of word, bpe; did you mean bpe?"),
        ("M --part.beam_size x", "--part.beam-size: 'x' is not a whole number"),
        ("M --part.beam-size 1.5", "--part.beam-size: '1.5' is not a whole number"),
        (
            "M --part.weight {0:1.0}",
            "--part.weight: '{0:1.0}' needs a space after each colon, as in {0: 1.0, 500: 0.5}",
        ),
        (
            "M --part.weight x",
            "--part.weight: 'x' is not a number or a schedule such as {0: 1.0, 500: 0.5}",
        ),
        ("M --part.names x", "--part.names: 'x' is not a list, such as [one, two]"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, message):
    with pytest.raises(UsageError) as error:
        parser().parse_args(arguments.split())
    assert str(error.value) == message


def test_a_value_that_is_nested_deeply_is_refused():
    for value in ("[" * 100_000, "{a: " * 20_000, "- " * 20_000):
        with pytest.raises(UsageError) as error:
            parser().parse_args(["M", "--part.names", value])
        assert len(str(error.value)) < 200


def test_lists_and_schedules():
    given = [
        "M",
        "--part.names",
        "[a, b]",
        "--part.names+",
        "c",
        "--part.weight",
        "{0: 1, 5: 1e-3}",
    ]
    found = parser().parse_args(given).part
    assert (found.names, found.weight) == (["a", "b", "c"], {0: 1.0, 5: 0.001})


def test_help_spells_options_as_they_are_typed(capsys):
    with pytest.raises(SystemExit, match="0"):
        parser().parse_args(["M", "--part.kind", "nonsense", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("usage: btg test MODEL [FILE] [--OPTION VALUE ...]")
    assert "--part.kind {word,bpe} Of tokens; see --part.beam-size." in text
    assert "_" not in text
    assert "--part CONFIG" not in text
