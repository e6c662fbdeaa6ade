"""The other commands that use a model, as a person types them."""

import json

import pytest

from btg_seq2seq import Translation
from btg_seq2seq.cli.main import main

SHORT = ["--beam_size", "3", "--max_output_ratio", "1", "--max_output_extra", "2"]


# ---- score ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_score_is_what_translate_reported(run, files, tmp_path, mode):
    rules = ["--rule", "dog=cat"] if mode == "cky" else []
    _, output, _ = run(
        "translate", "source.txt", "--mode", mode, "--format", "jsonl", *rules, *SHORT
    )
    (tmp_path / "out.jsonl").write_text("\n".join(output) + "\n", encoding="utf-8")
    reported = [json.loads(line)["log_prob"] for line in output]
    extra = ["--reported", *rules] if mode == "cky" else []
    status, scores, _ = run("score", "out.jsonl", *extra, *SHORT)
    assert status == 0
    column = {"flat": 0, "cky": 2}[mode]
    found = [float(line.split("\t")[column]) for line in scores]
    assert found == pytest.approx(reported, abs=1e-4)


def test_score_of_text(run, files):
    status, output, _ = run("score", "source.txt", "target.txt", *SHORT)
    assert status == 0
    assert [len(line.split("\t")) for line in output] == [2] * 4
    _, rows, _ = run("score", "source.txt", "target.txt", "--format", "jsonl", *SHORT)
    first = json.loads(rows[0])
    assert first["text"] == "in the garden"
    assert f"{first['cky_log_prob']:.6f}" == output[0].split("\t")[1]
    assert first["derivation"]["phrases"]
    status, _, errors = run("score", "source.txt", "target.txt", "--rule", "a=b")
    assert status == 2
    assert "use --reported" in errors


def test_lines_that_cannot_be_scored(run):
    good = json.dumps({"source": "the dog", "text": "dog"})
    for bad, message in [
        ({"source": "the"}, "line 2 has no translation: neither 'text' nor 'variants'"),
        ({"source": "the", "variants": []}, "line 2 has no translation"),
        ({"source": "the", "text": 7}, "line 2: 'text' is no text"),
        *(
            ({"source": "the", "text": "the", "variants": variants}, "line 2: 'variants' must be")
            for variants in (
                7,
                "ab",
                {"a": 1},
                [7],
                ["ab"],
                [[7], None],
                [["a"]],
                [[7.5]],
                [[True]],
            )
        ),
        ({"source": "the", "variants": [[-1]]}, "line 2: 'variants' must be lists of numbers"),
        ({"source": "the", "variants": [[10**9]]}, "line 2: 'variants' must be lists of numbers"),
    ]:
        lines = f"{good}\n{json.dumps(bad)}\n".encode()
        status, output, errors = run("score", "-", *SHORT, stdin=lines)
        assert (status, len(output)) == (1, 1)
        assert f"standard input: {message}" in errors
        assert len(errors.splitlines()) == 1
    lines = b'\n{"source": "", "text": ""}\n{"source": "the", "variants": [[7], [7, 8]]}\n'
    status, output, _ = run("score", "-", *SHORT, stdin=lines)
    assert (status, output[:2]) == (0, ["0.000000\t0.000000"] * 2)
    assert len(output) == 3


def test_rules_are_reported_when_scoring(run, files, tmp_path):
    (tmp_path / "rules.tsv").write_text("dog\tcat\ndog\tcow\nnever\tx\n")
    options = ["--reported", "--rules", "rules.tsv", *SHORT]
    status, output, errors = run("score", "source.txt", "target.txt", *options)
    assert (status, len(output)) == (0, 4)
    assert errors.splitlines() == [
        "btg score: rule 'dog' -> 'cow' (rules.tsv:2) contradicts 'dog' -> 'cat' (rules.tsv:1), "
        "which is used",
        "btg score: rule 'never' -> 'x' (rules.tsv:3) matched nothing",
    ]


# ---- align, phrase-table, evaluate -----------------------------------------------------------


def test_align(run, files):
    status, output, _ = run("align", "source.txt", "target.txt")
    assert status == 0
    assert len(output) == 4
    assert output[1] == output[3] == ""
    for line, (words, others) in zip((output[0], output[2]), ((3, 3), (7, 2)), strict=True):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert {source for source, _ in links} == {*range(words)}
        assert {target for _, target in links} == {*range(others)}
    _, rows, _ = run("align", "source.txt", "target.txt", "--format", "json", "--segments", 2)
    pair = Translation.from_json(json.loads(rows[0]))
    assert pair.text == "in the garden"
    assert pair.derivation.tree.segments == 2


def test_phrase_table_comes_back_as_rules(run, files, tmp_path):
    for inputs in (["source.txt", "target.txt", "--segments", 2], ["source.txt", *SHORT]):
        status, output, _ = run("phrase-table", *inputs)
        assert status == 0
        assert output
        assert all(line.count(" ||| ") == 3 for line in output)
        (tmp_path / "table").write_text("\n".join(output) + "\n", encoding="utf-8")
        status, translated, _ = run("translate", "source.txt", "--rules", "table", *SHORT)
        assert status == 0
        assert len(translated) == 4


def test_a_phrase_table_tells_what_is_too_long(run, files):
    options = ["--max_cky_length", 5, "--chunk", 2, *SHORT]
    status, output, errors = run("phrase-table", "source.txt", *options)
    assert status == 0
    assert output
    message = "btg phrase-table: line 3: left out, because it is too long for --max-cky-length = 5"
    assert message in errors.splitlines()


def test_evaluate(run, files, tmp_path):
    options = ["source.txt", "target.txt", "--trees", "trees.txt", "--mode", "cky", *SHORT]
    status, output, _ = run("evaluate", *options, "--translations", "out.txt")
    assert status == 0
    assert output[0] == "4 sentences, cky"
    assert output[2].startswith("BLEU")
    assert "tok:13a" in output[2]
    assert [line.split()[0] for line in output[4:]] == ["posterior", "prior", "derivation"]
    assert len((tmp_path / "out.txt").read_text(encoding="utf-8").split("\n")) == 5
    _, rows, _ = run("evaluate", *options, "--format", "json", "--tokenize", "char")
    values = json.loads("\n".join(rows))
    assert values["sentences"] == 4
    assert "tok:char" in values["bleu_signature"]
    assert set(values["trees"]) == {"posterior", "prior", "derivation"}
    assert (values["fallbacks"], values["fallback_reasons"]) == (0, {})
    before = (tmp_path / "target.txt").read_bytes()
    status, _, errors = run("evaluate", *options, "--translations", "target.txt")
    assert (status, (tmp_path / "target.txt").read_bytes()) == (1, before)
    assert "target.txt is read: choose another file" in errors
    reason = "more than max_cky_length = 1: translated flat"
    _, output, _ = run("evaluate", *options, "--max_cky_length", 1)
    assert output[-1] == f"2 not translated as asked: {reason}"


def test_errors_are_for_people(run, files, capsys, tmp_path):
    (tmp_path / "short.txt").write_text("one\n")
    for command in ("score", "align", "phrase-table", "evaluate"):
        status, _, errors = run(command, "source.txt", "short.txt")
        assert status == 1
        assert "source.txt has 4 lines, but short.txt has 1" in errors
    assert run("translate", "missing.txt")[2] == (
        "btg translate: missing.txt: there is no such file\n"
    )
    assert main(["translate", str(tmp_path), "source.txt"]) == 1
    assert "holds no model" in capsys.readouterr().err
    assert run("translate", "--nbest", 9, *SHORT, stdin=b"a\n")[2].startswith(
        "btg translate: --nbest must not be more than --beam-size, 3, but is 9"
    )


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--threads", 0, "--threads must be 1 or more, not 0"),
        ("--device", "foo", "--device foo: torch cannot compute there: "),
        ("--device", "meta", "--device meta: torch cannot compute there: "),
        ("--device", "cuda:99", "--device cuda:99: torch cannot compute there: "),
        ("--chunk", 0, "--chunk must be 1 or more, not 0"),
        ("--tokenize", "foo", "sacreBLEU has no tokenizer 'foo'"),
    ],
)
def test_bad_options_are_for_people(run, files, option, value, message):
    for command in ("translate", "score", "align", "phrase-table", "evaluate"):
        if (option, command == "evaluate") in [("--tokenize", False), ("--chunk", True)]:
            continue  # it has no such option
        inputs = ["source.txt"] if command == "translate" else ["source.txt", "target.txt"]
        status, output, errors = run(command, *inputs, option, value)
        assert (status, output) == (1, [])
        assert errors.startswith(f"btg {command}: {message}")
        assert len(errors.splitlines()) == 1
