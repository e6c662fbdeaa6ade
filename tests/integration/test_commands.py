"""The commands that use a model, as a person types them."""

import gzip
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import btg_seq2seq
from btg_seq2seq import BTGSeq2Seq, Translation
from btg_seq2seq.cli import lines
from btg_seq2seq.cli.main import main
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import train_tokenizer

CORPUS = ["the dog saw the dog, in the garden.", "das Haus ist klein, von Grund auf"] * 4
SHORT = ["--beam_size", "3", "--max_output_ratio", "1", "--max_output_extra", "2"]
TEXT = "the dog saw\n\ndas Haus ist klein, von Grund auf\n \n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    tokenizer = train_tokenizer("bpe", CORPUS, 320)
    torch.manual_seed(0)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return str(directory)


@pytest.fixture
def run(model, capsys, monkeypatch, tmp_path):
    """Run a command in a directory of its own: exit status, lines of the output, and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(command, *arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = main([command, model, *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out.split("\n")[:-1], captured.err

    return run


@pytest.fixture
def files(tmp_path):
    (tmp_path / "source.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "target.txt").write_text("in the garden\n\nthe dog\n\n", encoding="utf-8")
    (tmp_path / "trees.txt").write_text("[0:1 1:3]\n\n<0:2 2:7>\n\n", encoding="utf-8")


# ---- translate -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_a_line_for_every_line(run, files, mode):
    status, output, _ = run("translate", "source.txt", "--mode", mode, *SHORT)
    assert status == 0
    assert len(output) == 4
    assert output[1] == output[3] == ""
    assert run("translate", "--mode", mode, *SHORT, stdin=TEXT.encode())[1] == output
    with gzip.open("source.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\ufeff" + TEXT.replace("\n", "\r\n"))
    _, zipped, _ = run("translate", "source.txt.gz", "--mode", mode, "--chunk", 1, *SHORT)
    assert zipped == output
    assert run("translate", *SHORT) == (0, [], "")


def test_rules_are_obeyed_and_reported(run, files, tmp_path):
    (tmp_path / "rules.tsv").write_text(
        "dog\tcat\nHaus\thouse ||| home\nHaus\thut\nGrund\treason\nnever\tx\n", encoding="utf-8"
    )
    inline = ["--rule", "von Grund auf=from scratch", "--rule", "klein"]
    unmatched = ["--unmatched", "unmatched.txt"]
    _, output, errors = run(
        "translate", "source.txt", "--rules", "rules.tsv", *inline, *unmatched, *SHORT
    )
    assert "cat" in output[0].split()
    words = output[2].replace(",", " ").split()
    assert "klein" in words
    assert {"house", "home"} & {*words}
    assert "from scratch" in output[2]
    assert errors.splitlines() == [
        "btg translate: rule 'Haus' -> 'hut' (rules.tsv:3) contradicts 'Haus' -> 'house' | 'home' "
        "(rules.tsv:2), which is used",
        "btg translate: line 3: rule 'Grund' -> 'reason' (rules.tsv:4) gives way to 'von Grund "
        "auf' -> 'from scratch' (--rule von Grund auf=from scratch), which it overlaps",
        "btg translate: rule 'never' -> 'x' (rules.tsv:5) matched nothing",
    ]
    assert (tmp_path / "unmatched.txt").read_text() == (
        "rule 'never' -> 'x' (rules.tsv:5) matched nothing\n"
    )


def test_many_messages_are_counted(run, files, tmp_path):
    (tmp_path / "rules.csv").write_text("".join(f"w{n},x\n" for n in range(50)))
    _, _, errors = run("translate", "source.txt", "--rules", "rules.csv", *SHORT)
    assert len(errors.splitlines()) == 21
    assert errors.endswith("and 30 more; --unmatched FILE lists all of them\n")


def test_json_lines_keep_their_other_fields(run, tmp_path):
    rows = [{"id": 7, "source": "the dog saw", "more": {"é": [1]}}, {"source": ""}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n")
    status, output, _ = run(
        "translate", "in.jsonl", "--output", "jsonl", "--rule", "dog=cat", "--nbest", 2, *SHORT
    )
    assert status == 0
    first, second, third = map(json.loads, output)
    assert (first["id"], first["more"]) == (7, {"é": [1]})
    assert "cat" in first["text"].split()
    translation = Translation.from_json(first)
    assert {**first, **translation.to_json()} == first
    assert [phrase.rule.place for phrase in translation.derivation.phrases if phrase.rule] == [
        "--rule dog=cat"
    ]
    assert second["text"] == third["text"] == ""
    _, texts, _ = run("translate", "in.jsonl", "--rule", "dog=cat", *SHORT)
    assert texts == [first["text"], "", ""]


def test_fields_that_would_be_overwritten_are_refused(run, tmp_path):
    rows = [{"source": "the dog"}, {"source": "saw", "text": "old", "id": 1, "mode": 2}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, output, errors = run("translate", "in.jsonl", "--output", "jsonl", *SHORT)
    assert (status, len(output)) == (1, 1)
    assert "in.jsonl: line 2 has 'text', 'mode', which the output would overwrite" in errors
    assert run("translate", "in.jsonl", *SHORT)[0] == 0  # as text there is nothing to overwrite

    _, translated, _ = run("translate", "--output", "jsonl", *SHORT, stdin=b"the dog\n")
    (tmp_path / "in.jsonl").write_text(translated[0] + "\n", encoding="utf-8")
    status, scored, _ = run("score", "in.jsonl", "--output", "jsonl", *SHORT)
    assert status == 0
    before, after = json.loads(translated[0]), json.loads(scored[0])
    assert {**before, "derivation": 0} == {name: after[name] for name in before} | {"derivation": 0}
    (tmp_path / "in.jsonl").write_text(scored[0] + "\n", encoding="utf-8")
    assert "has 'flat_log_prob', 'cky_log_prob'," in run(
        "score", "in.jsonl", "--output", "jsonl", *SHORT
    )[2]  # fmt: skip
    own = json.dumps({"source": "the", "text": "dog", "derivation": "mine"}).encode()
    assert "standard input: line 1 has 'derivation'," in run(
        "score", "-", "--output", "jsonl", *SHORT, stdin=own
    )[2]  # fmt: skip


def test_several_translations(run):
    _, output, _ = run("translate", "--nbest", 2, *SHORT, stdin=b"the dog\n\nsaw\n")
    fields = [line.split(" ||| ") for line in output]
    assert [number for number, *_ in fields] == ["0", "0", "1", "2", "2"]
    assert float(fields[0][2]) >= float(fields[1][2])


@pytest.mark.parametrize("chunk", [1, 256])
def test_what_is_wrong_with_a_line_leaves_earlier_output_intact(run, chunk):
    expected = run("translate", *SHORT, stdin=b"the dog\nsaw\n")[1]
    options = ["--chunk", chunk, *SHORT]
    status, output, errors = run("translate", *options, stdin=b"the dog\nsaw\n\xff\xfe\nthe\n")
    assert status == 1
    assert output == expected
    assert "standard input: line 3 is not UTF-8 (byte 0xff: invalid start byte)" in errors
    for bad, message in [
        ("{", "line 2 is not JSON"),
        ("[1]", "line 2 is not an object with a text as 'source'"),
        ('{"source": 1}', "line 2 is not an object with a text as 'source'"),
        ('{"source": "\\ud800"}', "line 2 has half a character"),
    ]:
        lines = '{"source": "the dog"}\n' + bad + "\n"
        status, output, errors = run(
            "translate", "--input", "jsonl", *options, stdin=lines.encode()
        )
        assert status == 1
        assert output == expected[:1]
        assert message in errors


def test_a_damaged_file_leaves_earlier_output_intact(run, tmp_path):
    expected = run("translate", *SHORT, stdin=b"the dog\nsaw\n")[1]
    # Hardly compressible: what is missing at the end of the file is missing in this line.
    noise = random.Random(0).randbytes(300).hex().encode()
    packed = gzip.compress(b"the dog\nsaw\n" + noise + b"\n")
    for content in (packed[:-150], packed[:-150] + b"\xff" * 150):
        (tmp_path / "in.gz").write_bytes(content)
        status, output, errors = run("translate", "in.gz", *SHORT)
        assert (status, output) == (1, expected)
        assert errors.startswith("btg translate: in.gz: line 3 cannot be read: ")
        assert len(errors.splitlines()) == 1


class Arriving(io.RawIOBase):
    """A pipe into which somebody writes a block only when the last one was answered."""

    def __init__(self, blocks):
        self.blocks = blocks

    def readable(self):
        return True

    def readinto(self, buffer):
        block = self.blocks.pop(0) if self.blocks else b""
        buffer[: len(block)] = block
        return len(block)


def test_lines_are_answered_as_they_arrive(monkeypatch):
    pipe = Arriving([b"one\n", b"two\nth", b"ree\nfour\nfive\n", b"six"])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(pipe)))
    answered = [
        ([line.text for line in chunk], len(pipe.blocks))
        for chunk in lines.in_chunks(lines.read_texts("-"), 2)
    ]
    assert answered == [(["one"], 3), (["two"], 2), (["three", "four"], 1), (["five"], 1),
                        (["six"], 0)]  # fmt: skip


def test_hard_lines(run):
    hard = ["a\x00b\x07\x1b[0m", "ᎠᏂᏴᏫ ᎤᎵᎮᎵᏍᏗ", "a\x0cb\u2028c\x85d\x1ce", "the " * 500]
    options = ["--mode", "cky", "--max_output_ratio", "0.1", "--beam_size", 2]
    status, output, errors = run("translate", *options, stdin="\n".join(hard).encode())
    assert status == 0
    assert len(output) == 4
    assert "line 4: " in errors
    assert "max_cky_length" in errors


def test_as_a_process(model, tmp_path):
    """UTF-8 in and out whatever the locale, and nothing on stderr that nobody asked for."""
    rules = tmp_path / "rules.tsv"
    rules.write_text("ᎠᏂᏴᏫ\tTsalagi é\n", encoding="utf-8")
    command = [sys.executable, "-m", "btg_seq2seq.cli.main", "translate", model, *SHORT]
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--rules", rules],
        input="ᎠᏂᏴᏫ\n".encode(),
        capture_output=True,
        env=environment | {"PYTHONPATH": str(Path(btg_seq2seq.__file__).parents[1])},
    )
    assert done.stdout.decode() == "Tsalagi é\n"
    assert [line for line in done.stderr.splitlines() if not line.startswith(b"Compiling")] == []
    assert done.returncode == 0


def test_ends_of_lines_within_a_translation(capsys):
    lines.write(["a\nb\r\nc", "d"])
    assert capsys.readouterr().out == "a b  c\nd\n"


# ---- score ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_score_is_what_translate_reported(run, files, tmp_path, mode):
    rules = ["--rule", "dog=cat"] if mode == "cky" else []
    _, output, _ = run(
        "translate", "source.txt", "--mode", mode, "--output", "jsonl", *rules, *SHORT
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
    _, rows, _ = run("score", "source.txt", "target.txt", "--output", "jsonl", *SHORT)
    first = json.loads(rows[0])
    assert first["text"] == "in the garden"
    assert f"{first['cky_log_prob']:.6f}" == output[0].split("\t")[1]
    assert first["derivation"]["phrases"]
    status, _, errors = run("score", "source.txt", "target.txt", "--rule", "a=b")
    assert status == 1
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
    message = "btg phrase-table: line 3: left out, because it is too long for max_cky_length = 5"
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
    _, rows, _ = run("evaluate", *options, "--json", "--tokenize", "char")
    values = json.loads("\n".join(rows))
    assert values["sentences"] == 4
    assert "tok:char" in values["bleu_signature"]
    assert set(values["trees"]) == {"posterior", "prior", "derivation"}
    assert (values["fallbacks"], values["fallback_reasons"]) == (0, {})
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
        "btg translate: nbest=9 must lie between 1 and beam_size=3"
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
