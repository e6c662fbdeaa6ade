"""The benchmark of rules on real text: phrases of references are found, and obeyed when forced."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import rules
from btg_seq2seq.text import Bitext, write_lines

SOURCES = ["the dog saw the garden", "the dog, small", "klein saw the dog", "in the garden ."] * 3
TARGETS = ["das Haus ist klein", "klein, Haus", "das klein Haus", "von Grund auf ."] * 3


def test_forced_rules_are_obeyed(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(tmp_path / name) for name in ("test.src", "test.tgt")]
    for file, lines in zip(files, (SOURCES, TARGETS), strict=True):
        write_lines(file, lines)
    output = tmp_path / "rules.json"
    command = ["rules", model, *files, "--with", *files, "--sentences", "4", "--rules", "2"]
    monkeypatch.setattr(sys, "argv", [*command, "--output", str(output)])
    assert rules.main() == 0
    found = json.loads(output.read_text(encoding="utf-8"))
    assert found["rules"] >= 4
    assert found["obeyed"]["force"] == 100.0
    assert "without rules" in capsys.readouterr().out


def test_phrases_that_could_be_meant_twice_are_left_out() -> None:
    found = rules.reference_phrases(Bitext(SOURCES, TARGETS), None, 9)
    for one in found:
        for source, target in one.phrases:
            assert one.source.count(source) == 1
            assert target in one.reference
            assert any(character.isalpha() for character in source)
    assert sum(len(one.phrases) for one in found) > 6
