"""``btg translate`` as a person types it."""

import gzip
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_translators import contains_words

import btg_seq2seq
from btg_seq2seq import Translation
from btg_seq2seq.cli.main import main
from btg_seq2seq.console import lines
from btg_seq2seq.console.output import Output
from btg_seq2seq.model.decoding_settings import DecodingSettings

SHORT = ["--beam_size", "3", "--max_output_ratio", "1", "--max_output_extra", "2"]


@pytest.mark.parametrize("mode", ["flat", "cky"])
def test_a_line_for_every_line(run, files, mode):
    text = Path("source.txt").read_text(encoding="utf-8")
    status, output, _ = run("translate", "source.txt", "--mode", mode, *SHORT)
    assert status == 0
    assert len(output) == 4
    assert output[1] == output[3] == ""
    assert run("translate", "--mode", mode, *SHORT, stdin=text.encode())[1] == output
    with gzip.open("source.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\ufeff" + text.replace("\n", "\r\n"))
    _, zipped, _ = run("translate", "source.txt.gz", "--mode", mode, "--chunk", 1, *SHORT)
    assert zipped == output
    assert run("translate", *SHORT) == (0, [], "")


def test_defaults_saved_beside_the_model(capsys, model, tmp_path):
    """Options of the command line win."""
    directory = tmp_path / "model"
    loaded = btg_seq2seq.Translator.from_pretrained(model)
    loaded.model.decoding = DecodingSettings(beam_size=2, max_output_ratio=0.0, max_output_extra=1)
    loaded.model.save_pretrained(directory)
    loaded.tokenizer.save_pretrained(directory)
    (tmp_path / "source.txt").write_text("the dog saw\n", encoding="utf-8")

    def translated(*options):
        capsys.readouterr()
        arguments = ["translate", str(directory), str(tmp_path / "source.txt"), "--quiet"]
        status = main([*arguments, "--format", "jsonl", *options])
        captured = capsys.readouterr()
        return captured.err if status else json.loads(captured.out)

    assert "--nbest must not be more than --beam-size, 2" in translated("--nbest", "3")
    short, long = translated("--nbest", "2"), translated("--max-output-extra", "5")
    assert max(map(len, short["variants"])) <= 1 < max(map(len, long["variants"]))


def test_a_list_that_cannot_be_written_is_told_at_once(run, files, tmp_path):
    (tmp_path / "taken").write_text("")
    status, output, errors = run("translate", "source.txt", "--unused", "taken/unused.txt", *SHORT)
    assert (status, output) == (1, [])
    assert "taken" in errors


def test_rules_are_obeyed_and_reported(run, files, tmp_path):
    (tmp_path / "rules.tsv").write_text(
        "dog\tcat\nHaus\thouse ||| home\nHaus\thut\nGrund\treason\nnever\tx\n", encoding="utf-8"
    )
    inline = ["--rule", "von Grund auf=from scratch", "--rule", "klein"]
    unused = ["--unused", "unused.txt"]
    _, output, errors = run(
        "translate", "source.txt", "--rules", "rules.tsv", *inline, *unused, *SHORT
    )
    assert contains_words(output[0], "cat")
    assert contains_words(output[2], "klein")
    assert contains_words(output[2], "house") or contains_words(output[2], "home")
    assert contains_words(output[2], "from scratch")
    assert errors.splitlines() == [
        "btg translate: rule 'Haus' -> 'hut' (rules.tsv:3) contradicts 'Haus' -> 'house' | 'home' "
        "(rules.tsv:2), which is used",
        "btg translate: line 3: rule 'Grund' -> 'reason' (rules.tsv:4) gives way to 'von Grund "
        "auf' -> 'from scratch' (--rule von Grund auf=from scratch), which it overlaps",
        "btg translate: rule 'never' -> 'x' (rules.tsv:5) matched nothing",
    ]
    assert (tmp_path / "unused.txt").read_text() == (
        "rule 'Haus' -> 'hut' (rules.tsv:3) contradicts 'Haus' -> 'house' | 'home' (rules.tsv:2), "
        "which is used\nrule 'never' -> 'x' (rules.tsv:5) matched nothing\n"
    )


def test_many_messages_are_counted(run, files, tmp_path):
    (tmp_path / "rules.csv").write_text("".join(f"w{n},x\n" for n in range(50)))
    _, _, errors = run("translate", "source.txt", "--rules", "rules.csv", *SHORT)
    assert len(errors.splitlines()) == 21
    assert errors.endswith("and 30 more; --unused FILE lists all of them\n")


def test_messages_of_one_kind_do_not_hide_others(run, files, tmp_path):
    rules = "".join(f"w{n}\tx\nw{n}\ty\n" for n in range(30)) + "Grund\treason\n"
    (tmp_path / "rules.tsv").write_text(rules)
    options = ["--rules", "rules.tsv", "--rule", "von Grund auf=from scratch", *SHORT]
    _, _, errors = run("translate", "source.txt", *options)
    assert errors.count("contradicts") == 20
    assert "and 10 more; --unused FILE lists all of them" in errors
    assert "line 3: rule 'Grund' -> 'reason' (rules.tsv:61) gives way" in errors


def test_json_lines_keep_their_other_fields(run, tmp_path):
    rows = [{"id": 7, "source": "the dog saw", "more": {"é": [1]}}, {"source": ""}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n")
    status, output, _ = run(
        "translate", "in.jsonl", "--format", "jsonl", "--rule", "dog=cat", "--nbest", 2, *SHORT
    )
    assert status == 0
    first, second, third = map(json.loads, output)
    assert (first["id"], first["more"]) == (7, {"é": [1]})
    assert contains_words(first["text"], "cat")
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
    status, output, errors = run("translate", "in.jsonl", "--format", "jsonl", *SHORT)
    assert (status, len(output)) == (1, 1)
    assert "in.jsonl: line 2 has 'text', 'mode', which the output would overwrite" in errors
    assert run("translate", "in.jsonl", *SHORT)[0] == 0  # as text there is nothing to overwrite

    _, translated, _ = run("translate", "--format", "jsonl", *SHORT, stdin=b"the dog\n")
    (tmp_path / "in.jsonl").write_text(translated[0] + "\n", encoding="utf-8")
    status, scored, _ = run("score", "in.jsonl", "--format", "jsonl", *SHORT)
    assert status == 0
    before, after = json.loads(translated[0]), json.loads(scored[0])
    assert {**before, "derivation": 0} == {name: after[name] for name in before} | {"derivation": 0}
    (tmp_path / "in.jsonl").write_text(scored[0] + "\n", encoding="utf-8")
    assert "has 'flat_log_prob', 'cky_log_prob'," in run(
        "score", "in.jsonl", "--format", "jsonl", *SHORT
    )[2]  # fmt: skip
    own = json.dumps({"source": "the", "text": "dog", "derivation": "mine"}).encode()
    assert "standard input: line 1 has 'derivation'," in run(
        "score", "-", "--format", "jsonl", *SHORT, stdin=own
    )[2]  # fmt: skip


def test_several_translations(run):
    _, output, _ = run("translate", "--nbest", 2, *SHORT, stdin=b"the dog\n\nsaw\n")
    fields = [line.split(" ||| ") for line in output]
    assert [number for number, *_ in fields] == ["1", "1", "2", "3", "3"]
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
        ('{"source": "saw", "weight": NaN}', "line 2 is not JSON: NaN is no number"),
        ('{"source": "saw", "weight": 1e999}', "line 2 is not JSON: 1e999 is no number"),
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
    assert "--max-cky-length" in errors


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
    Output().write(["a\nb\r\nc", "d"])
    assert capsys.readouterr().out == "a b  c\nd\n"
