"""``btg biparse`` as a user types it."""

import json
from random import Random

import pytest

from btg_seq2seq.cli.main import main
from btg_seq2seq.text import read_lines, write_lines
from btg_seq2seq.translation.rules.files import read_rules
from tests.unit.translation.test_biparse import SOURCES, TARGETS


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lines("text.en", [*SOURCES, "", "word " * 100, "one more"])
    write_lines("text.de", [*TARGETS, "nichts", "Wort " * 100, ""])
    return ["text.en", "text.de"]


def biparse(capsys, *arguments):
    status = main(["biparse", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out.split("\n")[:-1], said.err


def test_one_line_for_each_pair(files, capsys):
    status, lines, err = biparse(capsys, *files, "--segments", 3)
    assert status == 0
    assert len(lines) == len(SOURCES) + 3
    assert lines[0].count(" -> ") == 3
    assert lines[-3:] == ["", "", ""]
    assert "line 22: no derivation: a side has more than --max-units 80 words" in err
    assert "line 21" not in err


def test_json_is_that_of_an_alignment(files, capsys):
    _, lines, _ = biparse(capsys, *files, "--format", "json", "--quiet")
    values = [json.loads(line) for line in lines]
    assert [value["source"] for value in values[:-3]] == SOURCES
    assert [value["text"] for value in values[:-3]] == TARGETS
    phrase = values[0]["derivation"]["phrases"][0]
    assert phrase["source"] in SOURCES[0]
    assert phrase["target"] in TARGETS[0]
    assert values[0]["derivation"]["tree"]
    assert values[0]["log_prob"] <= 0
    assert values[-1]["derivation"] is None


def test_word_alignments(files, capsys):
    _, lines, _ = biparse(capsys, *files, "--format", "pharaoh", "--quiet")
    assert len(lines) == len(SOURCES) + 3
    for line, source, target in zip(lines, SOURCES, TARGETS, strict=False):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert links
        assert max(x for x, _ in links) < len(source.split())
        assert max(y for _, y in links) < len(target.split())


def test_a_phrase_table_that_rules_can_read(files, capsys):
    status, lines, _ = biparse(capsys, *files, "--format", "table", "--output-file", "table.txt")
    assert (status, lines) == (0, [])
    table = read_lines("table.txt")
    assert all(line.count(" ||| ") == 4 or "||| |||" in line for line in table)
    assert read_rules("table.txt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--segments", "0"], "--segments must be 1 or more, not 0"),
        (["--segment-rate", "2"], "segment-rate"),
        (["--max-phrase-length", "0"], "--max-phrase-length must be 1 or more"),
        (["--cache", "text.en"], "text.en is a file"),
        (["--output-file", "text.en"], "text.en is read"),
    ],
)
def test_options_that_make_no_sense(files, capsys, arguments, message):
    status, lines, err = biparse(capsys, *files, *arguments)
    assert status == 1
    assert lines == []
    assert message in err
    assert len(err.splitlines()) == 1


def test_files_of_different_lengths(files, capsys):
    write_lines("short.de", TARGETS[:3])
    status, _, err = biparse(capsys, "text.en", "short.de")
    assert status == 1
    assert "short.de" in err


def test_pairs_that_cannot_be_cut_are_one_phrase(tmp_path, monkeypatch, capsys):
    """Where words repeat, too many phrase pairs are likely, and none can be left out."""
    monkeypatch.chdir(tmp_path)
    random = Random(1)
    for name in ("text.en", "text.de"):
        write_lines(name, [" ".join(random.choices("abcdefgh", k=60)) for _ in range(2)])
    _, lines, err = biparse(capsys, "text.en", "text.de")
    assert [line.count(" -> ") for line in lines] == [1, 1]
    assert "no derivation" not in err
