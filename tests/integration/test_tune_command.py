"""``btg tune`` as a person types it, and what the other commands make of it."""

import json
import shutil
from pathlib import Path

import pytest

from btg_seq2seq.cli.main import main
from btg_seq2seq.manifest import LEXICAL_FILE, TUNED_FILE

SHORT = ["--beam-size", "3", "--max-output-ratio", "1", "--max-output-extra", "2"]
TEXT = "the dog saw\n\ndas Haus ist klein\nin the garden.\n"


@pytest.fixture
def tuned(model, tmp_path, monkeypatch, capsys):
    """A copy of the model that is tuned for references which are longer than its translations."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(model, "model")
    Path("source.txt").write_text(TEXT, encoding="utf-8")
    assert main(["translate", "model", "source.txt", "--mode", "cky", "--nbest", "3", *SHORT]) == 0
    best = {}
    for line in capsys.readouterr().out.splitlines():
        number, text, _ = line.split(" ||| ")
        best[number] = max(best.get(number, ""), text, key=len)
    Path("target.txt").write_text("\n".join(best.values()) + "\n", encoding="utf-8")
    arguments = ["tune", "model", "source.txt", "target.txt", "--metric", "chrf", *SHORT]
    arguments += ["--train-source", "source.txt", "--train-target", "target.txt", "--quiet"]
    assert main(arguments) == 0
    return capsys.readouterr().out.splitlines()


def test_settings_are_saved_and_used(tuned, capsys):
    scores = [line for line in tuned if not line.startswith(" ")]
    assert [line.partition(":")[0] for line in scores] == ["flat", "cky", "rescored"]
    files = json.loads(Path("model/manifest.json").read_text())["files"]
    assert {LEXICAL_FILE, TUNED_FILE} <= {*files}
    saved = json.loads(Path("model", TUNED_FILE).read_text())
    assert saved["modes"].keys() == saved["reports"].keys() == {"flat", "cky", "rescored"}
    assert saved["modes"]["cky"]["beam_size"] == 3  # as given
    for line, (mode, report) in zip(scores, saved["reports"].items(), strict=True):
        assert f"chrF {report['before']:.2f} -> {report['after']:.2f} on 4 sentences" in line
        arguments = ["evaluate", "model", "source.txt", "target.txt", "--mode", mode]
        assert main([*arguments, "--format", "json"]) == 0
        values = json.loads(capsys.readouterr().out)
        assert values["chrf"] == pytest.approx(report["after"])
    assert saved["reports"]["cky"]["after"] > saved["reports"]["cky"]["before"]


def test_translations_say_by_what_they_were_ranked(tuned, capsys):
    arguments = ["translate", "model", "source.txt", "--mode", "cky", "--format", "jsonl"]
    assert main(arguments) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["ranked_by"] for line in lines} <= {"score", "score per token"}
    for line in lines:
        if line["source"]:
            assert line["rank_score"] != line["log_prob"] <= 0
    # What is typed takes precedence over what was tuned.
    plain = ["--length-normalised", "false"]
    for name in ("reverse", "lexical", "reverse-lexical", "word", "phrase"):
        plain += [f"--weights.{name}", "0"]
    assert main([*arguments, *plain, "--weights.grammar", "1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["ranked_by"] for line in lines} == {"probability"}
    assert all(line["rank_score"] == line["log_prob"] for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--train-source", "source.txt"], "give both --train-source and --train-target"),
        (["--sentences", "0"], "--sentences must be 1 or more"),
        (["--metric", "ter"], "--metric"),
        (["--tokenize", "x"], "no tokenizer 'x'"),
        (["--weights.word", "nan"], "--weights.word: 'nan' is not a number"),
        (["--modes", "[fast]"], "--modes"),
    ],
)
def test_what_is_refused(run, files, arguments, message):
    status, output, error = run("tune", "source.txt", "target.txt", *arguments)
    assert status != 0
    assert output == []
    assert message in error
    assert error.count("\n") == 1


def test_damaged_tables_are_refused_in_one_line(tuned, capsys):
    path = Path("model", LEXICAL_FILE)
    path.write_bytes(path.read_bytes()[:-5])
    for verify in ("true", "false"):
        assert main(["translate", "model", "source.txt", "--verify", verify]) == 1
        error = capsys.readouterr().err
        assert LEXICAL_FILE in error
        assert error.count("\n") == 1
