"""Lines that a command refuses: it names them, after everything before them was written."""

import json

import pytest

SHORT = ["--beam_size", "3", "--max_output_ratio", "1", "--max_output_extra", "2"]


# ---- edited translations -------------------------------------------------------------------


@pytest.mark.parametrize("rules", [[], ["--rule", "dog=C.A.T.", "--rule", "Haus"]])
def test_an_edited_text_is_not_scored_by_its_old_tokens(run, files, tmp_path, rules):
    options = ["--mode", "cky", "--format", "jsonl", *rules, *SHORT]
    _, output, _ = run("translate", "source.txt", *options)
    (tmp_path / "out.jsonl").write_text("\n".join(output) + "\n", encoding="utf-8")
    status, scores, _ = run("score", "out.jsonl", *SHORT)
    assert (status, len(scores)) == (0, 4)
    values = json.loads(output[2])
    values["text"] += " dog"
    (tmp_path / "out.jsonl").write_text(
        "\n".join([*output[:2], json.dumps(values), output[3]]) + "\n", encoding="utf-8"
    )
    status, before, errors = run("score", "out.jsonl", *SHORT)
    assert (status, len(before)) == (1, 2)
    assert errors == (
        "btg score: out.jsonl: line 3: 'text' is not what 'variants', the tokens that were "
        "translated, read as: to score the text as it is now, leave 'variants' out\n"
    )
    del values["variants"]
    (tmp_path / "out.jsonl").write_text(json.dumps(values) + "\n", encoding="utf-8")
    status, rescored, _ = run("score", "out.jsonl", *SHORT)
    assert status == 0
    assert float(rescored[0].split()[0]) != pytest.approx(float(scores[2].split()[0]), abs=1e-3)


# ---- JSON ----------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [501, 990, 100_000])
@pytest.mark.parametrize("command", ["translate", "score"])
def test_json_that_is_nested_too_deeply(run, command, depth):
    options = ["--input", "jsonl", "--format", "jsonl"] if command == "translate" else ["-"]
    nested = '{"source": "the", "text": "the", "more": ' + "[" * depth + "]" * depth + "}"
    if command == "translate":
        nested = nested.replace('"text": "the", ', "")
    good = '{"source": "the", "variants": [[7]]}' if command == "score" else '{"source": "the"}'
    lines = f"{good}\n{nested}\n".encode()
    status, output, errors = run(command, *options, *SHORT, stdin=lines)
    assert (status, len(output)) == (1, 1)
    assert errors == f"btg {command}: standard input: line 2: its JSON is nested too deeply\n"


def test_half_a_character_in_a_translation(run):
    lines = b'{"source": "the", "text": "the"}\n{"source": "the", "text": "\\ud800"}\n'
    status, output, errors = run("score", "-", *SHORT, stdin=lines)
    assert (status, len(output)) == (1, 1)
    assert "standard input: line 2: its translation has half a character" in errors
