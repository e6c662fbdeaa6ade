"""What all commands have in common, as a person types it."""

import gzip
import io
import os
import re
import signal
import subprocess
import sys
import time
from itertools import chain, permutations
from pathlib import Path

import pytest

from btg_seq2seq.cli.commands import COMMANDS
from btg_seq2seq.cli.main import main

ROOT = Path(__file__).parents[2]
SHORT = ["--beam-size", "3", "--max-output-ratio", "1", "--max-output-extra", "2"]
PRINTING = {
    "translate": ["source.txt"],
    "score": ["source.txt", "target.txt"],
    "align": ["source.txt", "target.txt"],
    "evaluate": ["source.txt", "target.txt"],
    "phrase-table": ["source.txt", "target.txt"],
}
SETTINGS = {"translate": SHORT, "score": SHORT, "evaluate": SHORT}


@pytest.fixture
def said(capsys, monkeypatch, tmp_path, files):
    """Run a command: exit status, output and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = main([*map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def process(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "btg_seq2seq.cli.main", *map(str, arguments)]
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


# ---- where files stand -----------------------------------------------------------------------


@pytest.mark.parametrize("command", PRINTING)
def test_files_stand_before_or_after_options(said, model, command):
    files, settings = [model, *PRINTING[command]], SETTINGS.get(command, ["--segments", "2"])
    expected = said(command, *files, *settings, "--quiet")
    assert expected[0] == 0
    assert expected[1]
    assert said(command, *settings, "--quiet", *files) == expected
    assert said(command, "--quiet", files[0], *settings, *files[1:]) == expected
    assert said(command, *files[:-1], *settings, "--quiet", files[-1]) == expected
    underscored = [setting.replace("-", "_").replace("__", "--", 1) for setting in settings]
    assert said(command, *underscored, *files, "--quiet") == expected


def test_orders_of_augment_and_train(said, model):
    parts = (
        [model, "source.txt", "target.txt"],
        ["--exclude", "a.txt", "b.txt"],
        ["--output-source", "x", "--output_target", "y"],
    )
    for order in permutations(parts):
        status, _, errors = said("augment", *chain(*order))
        assert (status, errors) == (1, "btg augment: a.txt: there is no such file\n")
    Path("config.yaml").write_text("output: run\nseed: -1\n")
    for arguments in (["--resume", "config.yaml"], ["config.yaml", "--resume"]):
        status, _, errors = said("train", *arguments, "--threads", "1")
        assert (status, errors) == (
            1,
            "btg train: config.yaml: line 2: seed must be 0 or more, not -1\n",
        )


# ---- help and errors -------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_dashes_and_quiet(said, capsys, command):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert re.findall(r"--[\w.-]*_[\w.-]*", text) == []
    assert "--quiet" in text
    assert ("--output-file" in text) == (command in [*PRINTING, "biparse"])
    assert "Literal" not in text


def test_documentation_has_dashes():
    for page in ("README.md", "docs/training.md"):
        text = (ROOT / page).read_text().replace("--num_processes", "")  # of accelerate
        assert re.findall(r"--[a-z][\w.-]*_[\w.-]*", text) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tranlsate"], "btg: there is no command 'tranlsate'; did you mean translate?"),
        (["--vresion"], "btg: there is no option '--vresion'; btg --help lists all"),
        (["translate"], "btg translate: MODEL is missing: btg translate MODEL [FILE]"),
        (
            ["align", "M"],
            "btg align: SOURCE and TARGET are missing: btg align MODEL SOURCE TARGET",
        ),
        (
            ["translate", "M", "--mode", "ckyy"],
            "btg translate: --mode: 'ckyy' is not one of flat, cky, rescored; did you mean cky?",
        ),
        (
            ["translate", "M", "--beam_sise", "3"],
            "btg translate: there is no option --beam-sise; did you mean --beam-size?",
        ),
        (
            ["align", "M", "a", "b", "--format", "jsno"],
            "btg align: --format: 'jsno' is not one of pharaoh, json, phrases; did you mean json?",
        ),
        (["evaluate", "M", "a", "b", "--json"], "btg evaluate: --json is now --format json"),
        (
            ["translate", "M", "--mode", "flat", "--rule", "a=b"],
            "btg translate: --mode flat cannot obey rules; use --mode cky, or no rules",
        ),
        (
            ["translate", "M", "--rule", "caf\udce9=x"],
            "btg translate: --rule 'caf\\udce9=x' is not UTF-8; convert it, or use --rules FILE",
        ),
        (
            ["draw", "in.jsonl", "out.gif"],
            "btg draw: out.gif: the output must end in .svg, .html, .png",
        ),
        (
            ["draw", "in.jsonl", "out.svg", "--rule", "a=b"],
            "btg draw: rules need a model that translates: use --model",
        ),
        (
            ["draw", "in.jsonl", "out.svg", "--beam-size", "3"],
            "btg draw: --beam-size needs a model that translates: use --model",
        ),
        (
            ["draw", "in.jsonl", "out.png", "--scale", "0"],
            "btg draw: --scale must be above 0 and at most 10, not 0.0",
        ),
        (
            ["translate", "M", "--explain", "--format", "jsonl"],
            "btg translate: --explain is for people, and --format for programs: use one of them",
        ),
        (["demo", "--seed", "x"], "btg demo: --seed: 'x' is not a whole number"),
        (
            ["train"],
            "btg train: CONFIG is missing, a YAML file of settings: btg train CONFIG, for example "
            "btg train examples/small.yaml",
        ),
        (["train", "no.yaml"], "btg train: no.yaml: there is no such file"),
        (
            ["train", "bad.yaml"],
            "btg train: bad.yaml: line 2: model.layers: 'three' is not a whole number",
        ),
        (
            ["train", "bad.yaml", "--model.lyers", "3"],
            "btg train: there is no option --model.lyers; did you mean --model.layers?",
        ),
        (
            ["train", "empty.yaml"],
            "btg train: empty.yaml: output is missing: set it there, or with --output DIRECTORY",
        ),
    ],
)
def test_misuse_is_one_line(said, arguments, message):
    Path("bad.yaml").write_text("output: run\nmodel: {layers: three}\n")
    Path("empty.yaml").write_text("")
    assert said(*arguments) == (2, "", message + "\n")


@pytest.mark.parametrize("command", ["translate", "score"])
def test_the_kind_of_output_has_moved(said, model, command):
    status, _, errors = said(command, model, "source.txt", "--output", "jsonl")
    assert status == 2
    assert "use --format jsonl" in errors
    assert len(errors.splitlines()) == 1


@pytest.mark.parametrize("command", ["train", "demo"])
def test_a_directory_that_is_a_file(said, command):
    Path("config.yaml").write_text("data: {train_source: source.txt, train_target: target.txt}\n")
    config = ["config.yaml"] if command == "train" else []
    for output in ("source.txt", "source.txt/run"):
        status, _, errors = said(command, *config, "--output", output)
        assert (status, errors) == (
            1,
            f"btg {command}: --output {output}: source.txt is a file; give the name of a "
            "directory\n",
        )


# ---- quiet, and files for results --------------------------------------------------------------


def test_quiet(said, model):
    rules = ["--rule", "never=x", "--rule", "dog=cat", "--rule", "dog=cow", *SHORT]
    status, output, errors = said("translate", model, "source.txt", *rules)
    assert (status, len(errors.splitlines())) == (0, 2)
    assert said("translate", model, "source.txt", *rules, "--quiet") == (0, output, "")
    assert said("translate", model, "nowhere", "--quiet")[2] != ""


@pytest.mark.parametrize("command", PRINTING)
def test_results_in_a_file(said, model, command):
    files, settings = PRINTING[command], SETTINGS.get(command, [])
    _, expected, _ = said(command, model, *files, *settings)
    assert expected
    assert said(command, model, *files, *settings, "--output-file", "new/out.txt")[:2] == (0, "")
    assert Path("new/out.txt").read_text() == expected
    assert said(command, model, *files, *settings, "--output-file", "out.gz")[:2] == (0, "")
    assert gzip.decompress(Path("out.gz").read_bytes()).decode() == expected
    assert said(command, model, *files, *settings, "--output-file", "-")[1] == expected
    before = {path: path.read_bytes() for path in map(Path, files)}
    for path in [*files, f"../{Path.cwd().name}/{files[0]}", f"{model}/config.json"]:
        status, output, errors = said(command, model, *files, *settings, "--output-file", path)
        assert (status, output) == (1, "")
        assert "is read: choose another file for --output-file" in errors
    assert {path: path.read_bytes() for path in before} == before
    assert "is a directory" in said(command, model, *files, "--output-file", ".")[2]
    assert not list(Path().glob("**/.*"))


def test_a_file_that_is_not_finished_is_not_there(said, model):
    Path("old.txt").write_text("old\n")
    for name, left in (("old.txt", "old\n"), ("new.txt", None)):
        status, output, _ = said(
            "translate", model, *SHORT, "--output-file", name, "--chunk", 1, stdin=b"a\nb\n\xff\n"
        )
        assert (status, output) == (1, "")
        assert (Path(name).read_text() if Path(name).exists() else None) == left
    assert not list(Path().glob(".*"))


def test_a_device_stays_a_device(said, model):
    assert said("translate", model, "source.txt", *SHORT, "--output-file", os.devnull)[0] == 0
    assert Path(os.devnull).is_char_device()


def test_one_file_is_not_written_twice(said, model):
    options = ["--output-file", "x", "--unused", "./x"]
    status, _, errors = said("translate", model, "source.txt", *options)
    assert status == 1
    assert "--output-file and --unused are both" in errors
    assert "is read" in said("translate", model, "source.txt", "--unused", "source.txt")[2]


# ---- signals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_command_and_leaves_nothing_behind(model, tmp_path, number, status):
    out = tmp_path / "out.txt"
    running = process("translate", model, *SHORT, "--output-file", out, cwd=tmp_path)
    running.stdin.write(b"the dog\n")
    running.stdin.flush()
    temporary = tmp_path / f".out.txt.{running.pid}.tmp"
    for _ in range(600):  # it waits for more lines, with one in its file or on the way there
        if temporary.exists() or running.poll() is not None:
            break
        time.sleep(0.05)
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    # Where Ctrl-C hits code that is run from a string, Python ends itself by the signal: a shell
    # sees the same status.
    assert running.returncode in (status, -number), errors.decode()
    assert len(errors.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


# ---- quick to start ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        *([command, "--help"] for command in COMMANDS),
        ["translate", "M", "--mode", "ckyy"],
        ["translate", "M", "--beam-size", "0"],
        ["translate", "M", "nowhere.txt"],
        ["draw", "nowhere.jsonl", "out.svg"],
        ["score", "M", "a", "b", "--rule", "a=b"],
        ["train", "bad.yaml"],
        ["train", "bad.yaml", "--model.layers", "0"],
        ["train", "bad.yaml", "--model.layers", "1", "--optimisation.metric", "beauty"],
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_imported_before_arguments_are_checked(tmp_path, arguments):
    (tmp_path / "bad.yaml").write_text(
        "output: run\ndata: {train_source: a, train_target: b}\nmodel: {layers: three}\n"
    )
    code = (
        "import sys\nfrom btg_seq2seq.cli.main import main\n"
        "try:\n    status = main(sys.argv[1:])\nexcept SystemExit as end:\n    status = end.code\n"
        "heavy = {'torch', 'transformers', 'numba', 'numpy', 'rich'} & {*sys.modules}\n"
        "print('HEAVY', sorted(heavy), status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1].startswith("HEAVY [] "), done.stdout + done.stderr
    if "--help" not in arguments:
        assert len(done.stderr.splitlines()) == 1
