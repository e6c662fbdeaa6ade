"""Long lines: refused by name above a limit, and below it in little memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import btg_seq2seq
from btg_seq2seq.console import lines
from btg_seq2seq.decoding.chart import target_mass

SHORT = ["--beam_size", "2", "--max_output_ratio", "0.5", "--max_output_extra", "2"]
LONG = "the " * 1025
REFUSED = "has 1025 tokens, more than max_length = 1024; split it into sentences, or raise"

# ---- above the limit -----------------------------------------------------------------------


def write(name, *content):
    Path(name).write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    return name


@pytest.mark.parametrize("options", [[], ["--rule", "dog=cat"], ["--mode", "cky"]])
def test_all_before_a_long_line_is_translated(run, options):
    source = write("in.txt", "the dog", "the", LONG, "the dog")
    status, output, errors = run("translate", source, *options, *SHORT)
    assert (status, len(output)) == (1, 2)
    refused = f"btg translate: in.txt: line 3: it {REFUSED} max_length (--max-length): 'the the the"
    assert refused in errors
    given = Path(source).read_bytes()
    status, again, errors = run("translate", *options, *SHORT, stdin=given)
    assert (status, again) == (1, output)
    assert f"btg translate: standard input: line 3: it {REFUSED}" in errors
    status, output, _ = run("translate", source, "--max_length", 1025, *options, *SHORT)
    assert (status, len(output)) == (0, 4)


def test_all_before_a_long_line_is_scored(run):
    source, target = write("a.txt", "the dog", LONG), write("b.txt", "the", "the")
    status, output, errors = run("score", source, target, *SHORT)
    assert (status, len(output)) == (1, 1)
    assert f"btg score: a.txt: line 2: it {REFUSED}" in errors
    write("a.txt", "the dog", "the")
    write("b.txt", "the", LONG)
    status, output, errors = run("score", source, target, *SHORT)
    assert (status, len(output)) == (1, 1)
    assert (
        "btg score: a.txt: line 2: its translation has 1025 tokens, but with max_length = 1024 no "
        "more than 514 are allowed; split it into sentences, or raise max_length (--max-length)"
    ) in errors
    pairs = [{"source": text, "text": "the"} for text in ("the dog", LONG)]
    write("pairs.jsonl", *map(json.dumps, pairs))
    status, output, errors = run("score", "pairs.jsonl", *SHORT)
    assert (status, len(output)) == (1, 1)
    assert f"btg score: pairs.jsonl: line 2: it {REFUSED}" in errors


def test_all_before_a_pair_that_takes_too_much_memory_is_scored(run, monkeypatch):
    monkeypatch.setattr(target_mass, "MOST_BYTES", 1e5)
    write("a.txt", "the", "the dog, saw the dog in the garden", "the")
    write("b.txt", "the", "in the garden. the dog saw the dog", "the")
    options = ["--span_threshold", "0", "--chunk", 3]
    status, output, errors = run("score", "a.txt", "b.txt", *options)
    assert (status, len(output)) == (1, 1)
    assert errors.startswith("btg score: a.txt: line 2: the sum over all derivations of ")


@pytest.mark.parametrize("sides", [("it", LONG, "the"), ("its translation", "the", LONG)])
def test_all_before_a_long_line_is_aligned(run, sides):
    what, source, target = sides
    write("a.txt", "the dog", source, "the")
    write("b.txt", "the dog", target, "the")
    status, output, errors = run("align", "a.txt", "b.txt")
    assert (status, len(output)) == (1, 1)
    assert f"btg align: a.txt and b.txt: line 2: {what} {REFUSED}" in errors
    status, output, errors = run("align", "a.txt", "b.txt", "--max_length", 2000)
    assert (status, len(output)) == (0, 3)
    assert "line 2: the pair is too long for the grammar" in errors


def test_commands_that_write_at_the_end_refuse_a_long_line_at_once(run):
    write("a.txt", "the dog", LONG)
    write("b.txt", "the dog", "the")
    outputs = ["--output_source", "c.txt", "--output_target", "d.txt"]
    for command, place in (
        (["phrase-table", "a.txt"], "a.txt"),
        (["phrase-table", "a.txt", "b.txt"], "a.txt and b.txt"),
        (["evaluate", "a.txt", "b.txt"], "a.txt"),
        (["augment", "a.txt", "b.txt", *outputs], "a.txt and b.txt"),
    ):
        status, output, errors = run(*command)
        assert (status, output) == (1, [])
        assert f"btg {command[0]}: {place}: line 2: it {REFUSED}" in errors


def test_a_line_without_end(run, monkeypatch, tmp_path):
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    monkeypatch.setattr(lines, "BLOCK", 64)
    content = b"the dog\n" + b"the " * 250 + b"\n" + b"the " * 300
    (tmp_path / "in.txt").write_bytes(content)
    for arguments, name in ((["in.txt"], "in.txt"), ([], "standard input")):
        status, output, errors = run("translate", *arguments, *SHORT, stdin=content)
        assert (status, len(output)) == (1, 1)
        assert f"{name}: line 2 has more than 1000 bytes; split it into sentences" in errors
    whole = content.replace(b"the " * 250, b"the " * 249)[: -len(b"the " * 100)]
    assert len(run("translate", *SHORT, stdin=whole)[1]) == 3


# ---- below the limit -----------------------------------------------------------------------

LIMITED = """
import json, resource, sys
from btg_seq2seq.cli.main import main

def size():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmData")) * 1024

model, more, *commands = json.loads(sys.argv[1])
short = ["--beam_size", "2", "--max_output_extra", "2"]
warm = [["translate", model, "short.txt", "--rule", "dog=cat", *short],
        ["score", model, "short.txt", "short.txt", *short], ["align", model, *["short.txt"] * 2]]
for command in warm:  # what is compiled or imported later would count too
    assert main(command) == 0
resource.setrlimit(resource.RLIMIT_DATA, (size() + more, resource.RLIM_INFINITY))
for command, status in commands:
    assert main([command[0], model, *command[1:]]) == status, command
"""


def run_limited(model, more, *commands, stdin=None):
    """Commands, and the status of each, in a process with that much memory beside its libraries."""
    write("short.txt", "the dog saw the dog")
    return subprocess.run(
        [sys.executable, "-c", LIMITED, json.dumps([model, more, *commands])],
        stdin=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        env=os.environ
        | {"PYTHONPATH": str(Path(btg_seq2seq.__file__).parents[1]), "OMP_NUM_THREADS": "1"},
    )


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs to know how much memory it has"
)


@needs_proc
def test_lines_within_the_limit_take_little_memory(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long, medium = "the " * 1024, "the dog saw it. " * 25
    write("long.txt", long)
    write("longest.txt", "the " * 3082)
    write("medium.txt", *[medium] * 40)
    done = run_limited(
        model,
        10**9,
        (["translate", "long.txt"], 0),
        (["translate", "long.txt", "--rule", "dog=cat"], 0),
        (["translate", "long.txt", "--rule", "the=cat"], 0),
        (["translate", "medium.txt", "--mode", "cky", *SHORT], 0),
        (["translate", "medium.txt", "--rule", "saw=cat", *SHORT], 0),
        (["score", "long.txt", "longest.txt"], 0),
        (["score", "medium.txt", "medium.txt", *SHORT], 0),
        (["align", "medium.txt", "medium.txt"], 0),
        (["align", "long.txt", "long.txt"], 0),
        (["phrase-table", "medium.txt", *SHORT], 0),
    )
    assert done.returncode == 0, done.stderr


@needs_proc
def test_ten_thousand_words_with_a_rule(model, tmp_path, monkeypatch):
    """They took 5 GB."""
    monkeypatch.chdir(tmp_path)
    write("words.txt", "the garden " * 2000 + "the dog " * 3000)
    rule = ["--rule", "garden=cat", "--max_length", "100000"]
    done = run_limited(model, 5 * 10**8, (["translate", "words.txt", *rule], 0))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].count("cat") == 2000


@needs_proc
def test_huge_lines_are_refused_in_little_memory(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("words.txt", "the dog", "the " * 350_000)
    with Path("endless").open("wb") as file:
        file.write(b"the dog\n")
        for _ in range(100):
            file.write(b"the " * 2**18)
    with Path("endless").open("rb") as endless:
        done = run_limited(
            model,
            5 * 10**8,
            (["translate", "words.txt", *SHORT], 1),
            (["translate", "words.txt", "--rule", "dog=cat", *SHORT], 1),
            (["score", "words.txt", "words.txt", *SHORT], 1),
            (["align", "words.txt", "words.txt"], 1),
            (["translate", "endless", *SHORT], 1),
            (["translate", *SHORT], 1),
            stdin=endless,
        )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3 + 6
    refused = "line 2: it has 350000 tokens, more than max_length = 1024"
    assert done.stderr.count(refused) == 4
    assert "endless: line 2 has more than 33554432 bytes" in done.stderr
    assert "standard input: line 2 has more than 33554432 bytes" in done.stderr
