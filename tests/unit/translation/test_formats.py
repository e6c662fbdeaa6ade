"""Output formats: what each writes, and formats registered from outside."""

import json
import math
from collections import defaultdict

import pytest

from btg_seq2seq import Translation
from btg_seq2seq.cli.main import main
from btg_seq2seq.grammar import Tree
from btg_seq2seq.translation import formats
from btg_seq2seq.translation.formats import (
    AlignedPair,
    OutputFormat,
    PhraseTableEntry,
    ScoredLine,
    TranslatedLine,
    formats_for,
    register_format,
    to_json_line,
)
from btg_seq2seq.translation.scoring import Score
from btg_seq2seq.translation.translation import Alternative, TextDerivation, TextPhrase

SOURCE, TEXT = "das Haus", "house the"
PHRASES = tuple(
    TextPhrase.between(SOURCE, TEXT, units=tokens, source_span=own, target_span=to, log_prob=-0.5)
    for tokens, own, to in (((1, 2), (3, 8), (0, 6)), ((0, 1), (0, 3), (6, 9)))
)
DERIVATION = TextDerivation(Tree.parse("<0:1 1:2>"), PHRASES)
TRANSLATION = Translation(
    TEXT, -1.0, ((5, 6),), DERIVATION, SOURCE, "cky", (Alternative("home", -2.0),)
)


def lines(result, name):
    return list(formats_for(type(result))[name].lines(result))


@pytest.fixture
def registry(monkeypatch):
    """A copy of the registry, which a test may change."""
    copy = defaultdict(dict, {kind: dict(own) for kind, own in formats._formats.items()})
    monkeypatch.setattr(formats, "_formats", copy)


def test_translations():
    assert lines(TranslatedLine(7, TRANSLATION), "text") == [TEXT]
    assert lines(TranslatedLine(7, TRANSLATION, nbest=2), "text") == [
        "7 ||| house the ||| -1.000000",
        "7 ||| home ||| -2.000000",
    ]
    assert lines(TranslatedLine(7, TRANSLATION), "pharaoh") == ["0-1 1-0"]
    (line,) = lines(TranslatedLine(7, TRANSLATION, fields={"id": 3, "source": SOURCE}), "jsonl")
    assert json.loads(line) == {"id": 3, **TRANSLATION.to_json()}
    written = {*TRANSLATION.to_json()} - {"source"}
    assert formats_for(TranslatedLine)["jsonl"].fields == written


@pytest.mark.parametrize("reported", [None, -math.inf])
def test_scores(reported):
    scored = ScoredLine(1, Score(-1.5, -1.25, DERIVATION), reported, {"source": SOURCE})
    numbers = ["-1.500000", "-1.250000"] + ["-inf"] * (reported is not None)
    assert lines(scored, "text") == ["\t".join(numbers)]
    values = json.loads(lines(scored, "jsonl")[0])
    assert values["derivation"] == DERIVATION.to_json()
    assert ("reported_log_prob" in values) == (reported is not None)
    assert values.get("reported_log_prob") is None  # JSON has no infinity
    assert {*values} - {"source"} <= formats_for(ScoredLine)["jsonl"].fields
    nothing = ScoredLine(1, Score(-math.inf, -math.inf, None))
    assert json.loads(lines(nothing, "jsonl")[0])["derivation"] is None


def test_alignments_and_phrase_tables():
    assert lines(AlignedPair(1, TRANSLATION), "pharaoh") == ["0-1 1-0"]
    assert json.loads(lines(AlignedPair(1, TRANSLATION), "json")[0]) == TRANSLATION.to_json()
    entry = PhraseTableEntry("das Haus", "home", 0.5, 0.25, 0.125, 4.0, 8.0, 2.0)
    assert lines(entry, "moses") == ["das Haus ||| home ||| 0.5 0.25 0.125 ||| ||| 4 8 2"]
    assert json.loads(lines(entry, "jsonl")[0])["phi_target"] == 0.25


def test_text_that_is_not_valid_is_escaped():
    assert to_json_line({"text": "Größe"}) == '{"text": "Größe"}'
    assert to_json_line({"text": "\ud800"}) == r'{"text": "\ud800"}'


def test_a_name_is_taken_once(registry):
    with pytest.raises(ValueError, match="already a format 'text' for TranslatedLine"):
        register_format(OutputFormat("text", TranslatedLine, "", lambda line: []))


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("translate", TranslatedLine),
        ("score", ScoredLine),
        ("align", AlignedPair),
        ("phrase-table", PhraseTableEntry),
    ],
)
def test_commands_offer_formats_from_outside(registry, capsys, command, result):
    register_format(
        OutputFormat("shouted", result, "in capital letters", lambda one: [str(one).upper()])
    )
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert f"--format {{{','.join(formats_for(result))}}}" in text
    assert "shouted: in capital letters" in text
    files = ["a"] if command == "translate" else ["a", "b"]
    assert main([command, "M", *files, "--format", "shout"]) == 2
    assert "did you mean shouted?" in capsys.readouterr().err
