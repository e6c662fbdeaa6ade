"""A fault campaign: every file of a model and of a checkpoint, damaged in every way.

Whatever is in a directory, ``btg`` says in one line what is wrong, runs nothing, and changes
nothing. ``make fuzz`` runs more rounds of the random faults, with other seeds.
"""

import hashlib
import json
import os
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tiny_runs import tiny_bitexts, tiny_config
from transformers import T5Config

from btg_seq2seq import BTGSeq2Seq, Translator
from btg_seq2seq.cli.main import main
from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import MANIFEST_FILE, write_manifest
from btg_seq2seq.model.decoding_settings import IN_CONFIG
from btg_seq2seq.recombination.batches import RecombinationConfig
from btg_seq2seq.text import load_tokenizer, train_tokenizer, write_lines
from btg_seq2seq.training.files.lock import locked
from btg_seq2seq.training.run import train

ROUNDS = int(os.environ.get("BTG_FUZZ_ROUNDS", "3"))  # of random faults
SEED = int(os.environ.get("BTG_FUZZ_SEED", "0"))
CANARY = "executed"

Fault = Callable[[Path, random.Random], None]


class Payload:
    """Runs a command when it is unpickled."""

    def __reduce__(self):
        return os.system, (f"touch {CANARY}",)


# ---- damage: the manifest is as it was ------------------------------------------------------


def missing(path: Path, _: random.Random) -> None:
    path.unlink()


def empty(path: Path, _: random.Random) -> None:
    path.write_bytes(b"")


def truncated(path: Path, draw: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: draw.randrange(1, len(content))])


def flipped(path: Path, draw: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def replaced_by_directory(path: Path, _: random.Random) -> None:
    path.unlink()
    path.mkdir()


DAMAGE = [missing, empty, truncated, flipped, replaced_by_directory]

# ---- hostility: the manifest is made to fit -------------------------------------------------


def pickled(path: Path, _: random.Random) -> None:
    path.write_bytes(pickle.dumps(Payload()))


def pickled_by_torch(path: Path, _: random.Random) -> None:
    torch.save({"payload": Payload()}, path)


def list_of_nothing(path: Path, _: random.Random) -> None:
    path.write_text("[]")


def nested(path: Path, _: random.Random) -> None:
    path.write_text('{"a":' * 100_000)


def of_code(path: Path, _: random.Random) -> None:
    (path.parent / "evil.py").write_text(f"import os\nos.system('touch {CANARY}')\n")
    auto_map = dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForSeq2SeqLM"), "evil.Evil")
    fields = {"auto_map": {**auto_map, "AutoTokenizer": ["evil.Evil", "evil.Evil"]}}
    content = json.loads(path.read_text()) if path.suffix == ".json" else {}
    path.write_text(json.dumps((content if isinstance(content, dict) else {}) | fields))


def of_huge_header(path: Path, _: random.Random) -> None:
    path.write_bytes((2**60).to_bytes(8, "little") + b"{}")


def of_another_tokenizer(path: Path, _: random.Random) -> None:
    other = path.parent.parent / "other"
    words = " ".join(f"word{number}" for number in range(1000))
    train_tokenizer("word", [words]).save_pretrained(other)
    shutil.copy(other / "tokenizer.json", path)


HOSTILITY: dict[str, list[Fault]] = {
    ".json": [list_of_nothing, nested, pickled, of_code, truncated, empty],
    ".safetensors": [pickled, pickled_by_torch, of_huge_header, truncated, empty],
    ".pt": [pickled, pickled_by_torch, list_of_nothing, truncated, empty],
    ".pth": [pickled, pickled_by_torch, list_of_nothing, truncated, empty],
}


def cases(directory: Path) -> list[tuple[str, Fault, bool]]:
    """Every file with every fault that it can have, and whether the manifest is made to fit."""
    found: list[tuple[str, Fault, bool]] = []
    for path in sorted(directory.iterdir()):
        if path.is_file() and not path.name.startswith("."):
            found += [(path.name, fault, False) for fault in DAMAGE]
            found += [(path.name, flipped, False)] * ROUNDS
            if path.name != MANIFEST_FILE:
                found += [(path.name, fault, True) for fault in HOSTILITY[path.suffix]]
    found += [("tokenizer.json", of_another_tokenizer, fits) for fits in (False, True)]
    return found


def snapshot(directory: Path) -> dict[str, str]:
    """What is in a directory, apart from the traces of a lock."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in directory.rglob("*")
        if path.is_file() and not path.name.startswith(".lock")
    }


def check_refused(
    command: list[str], directory: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command fails in one line that names the place; nothing ran, nothing changed."""
    before = snapshot(directory)
    capfd.readouterr()
    status = main(command)
    said = capfd.readouterr()
    assert status in (1, 2), name
    lines = said.err.splitlines()
    assert len(lines) == 1, (name, said.err)
    assert lines[0].startswith(f"btg {command[0]}: "), said.err
    assert str(directory) in lines[0] or directory.name in lines[0]
    assert said.out == ""
    assert not Path(CANARY).exists(), name
    assert snapshot(directory) == before, name


def test_every_fault_of_a_model(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input").write_text("y\nthe dog saw\n" * 3)
    draw = random.Random(SEED)
    original = Path(model)
    write_manifest(original)  # the tokenizer's files too, as in a run
    count = 0
    for name, fault, is_coherent in cases(original):
        directory = tmp_path / "damaged"
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(original, directory)
        fault(directory / name, draw)
        if is_coherent:
            write_manifest(directory)
        elif (name, fault) == (MANIFEST_FILE, flipped) and is_harmless(directory, original):
            continue
        command = ["translate", str(directory), "input", "--beam_size", "1"]
        check_refused(command, directory, f"{name} {fault.__name__}", capfd)
        count += 1
    assert count > 50


def is_harmless(directory: Path, original: Path) -> bool:
    """Whether a flipped bit of a manifest left its checksums as they were."""
    try:
        files = [json.loads((each / MANIFEST_FILE).read_bytes()) for each in (directory, original)]
    except ValueError:
        return False
    return bool(files[0].get("files") == files[1]["files"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three steps, with everything that a checkpoint can hold."""
    directory = tmp_path_factory.mktemp("faults")
    bitexts = tiny_bitexts()
    assert bitexts.dev is not None
    config = tiny_config(directory / "run", steps=3, eval_every=3, save_every=3)
    config.recombination = RecombinationConfig(start=2, every=2)
    for name, bitext in (("train", bitexts.train), ("dev", bitexts.dev)):
        for side in ("source", "target"):
            write_lines(directory / f"{name}.{side}", getattr(bitext, side))
            setattr(config.data, f"{name}_{side}", str(directory / f"{name}.{side}"))
    config.save(directory)
    train(config, quiet=True)
    return directory


def test_every_fault_of_a_checkpoint(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(SEED)
    original = run / "run"
    inside = Path("checkpoints") / "step-3"
    directory = tmp_path / "damaged"
    command = ["train", str(run / "config.yaml"), "--output", str(directory), "--resume"]
    command += ["--optimisation.steps", "4", "--optimisation.translate_dev", "0", "--quiet"]
    count = 0
    for name, fault, is_coherent in cases(original / inside):
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(original, directory)
        fault(directory / inside / name, draw)
        if is_coherent:
            write_manifest(directory / inside)
        elif (name, fault) == (MANIFEST_FILE, flipped) and is_harmless(
            directory / inside, original / inside
        ):
            continue
        check_refused(command, directory, f"{name} {fault.__name__}", capfd)
        count += 1
    assert count > 80


def test_every_fault_of_a_run(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its settings and the checksums of its texts; curves and metrics decide nothing."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(SEED)
    directory = tmp_path / "damaged"
    command = ["train", str(run / "config.yaml"), "--output", str(directory), "--resume"]
    command += ["--optimisation.steps", "4", "--optimisation.translate_dev", "0", "--quiet"]
    for name in ("config.yaml", "data.json"):
        for fault in (missing, empty, replaced_by_directory, list_of_nothing, nested, pickled):
            shutil.rmtree(directory, ignore_errors=True)
            shutil.copytree(run / "run", directory)
            fault(directory / name, draw)
            check_refused(command, directory, f"{name} {fault.__name__}", capfd)


@pytest.fixture
def hostile(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model directory with code of its own, and input that says yes to every question."""
    monkeypatch.chdir(tmp_path)
    for side in ("source", "target"):
        (tmp_path / side).write_text("y\nyes\n1\n" * 5)
    directory = tmp_path / "hostile"
    shutil.copytree(model, directory)
    for name in ("tokenizer_config.json", "config.json"):
        of_code(directory / name, random.Random(0))
    write_manifest(directory)
    return str(directory)


SIZES = ["--model.hidden_size", "16", "--model.layers", "1", "--model.heads", "2"]
DATA = ["--data.train_source", "source", "--data.train_target", "target"]


@pytest.mark.parametrize(
    "command",
    [
        ["translate", "{}", "source"],
        ["score", "{}", "source", "target"],
        ["align", "{}", "source", "target"],
        ["evaluate", "{}", "source", "target"],
        ["phrase-table", "{}", "source"],
        ["augment", "{}", "source", "target", "--output_source", "a", "--output_target", "b"],
        ["train", "empty.yaml", *DATA, "--output", "run", "--model.backbone", "{}"],
        ["train", "empty.yaml", *DATA, "--output", "run", "--model.init_from", "{}"],
        ["train", "empty.yaml", *DATA, *SIZES, "--output", "run", "--tokenizer.path", "{}"],
    ],
    ids=lambda command: " ".join(command[:1] + command[-2:-1]),
)
def test_every_way_in_is_closed_to_code(
    hostile: str,
    command: list[str],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("empty.yaml").write_text("{}\n")
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # what Hugging Face would ask
    status = main([argument.format(hostile) for argument in command])
    said = capfd.readouterr().err
    assert status == 1
    assert len(said.splitlines()) == 1
    assert "asks for code to be run (auto_map)" in said
    assert not Path(CANARY).exists()
    assert not Path("run").exists()


def test_the_python_api_is_closed_to_code(hostile: str) -> None:
    for load in (
        Translator.from_pretrained,
        BTGSeq2Seq.from_pretrained,
        BTGSeq2Seq.from_backbone,
        load_tokenizer,
    ):
        with pytest.raises(UserError, match="asks for code to be run"):
            load(hostile)
    assert not Path(CANARY).exists()


def test_a_model_of_another_kind(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("source").write_text("a\n")
    T5Config().save_pretrained("plain")
    assert main(["translate", "plain", "source"]) == 1
    assert capfd.readouterr().err == (
        "btg translate: plain holds a model of kind t5, not one that btg train wrote; to train one "
        "around it, give it as model.backbone\n"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_segments", "four"),
        ("max_segments", 0),
        ("max_segments", True),
        ("max_phrase_length", -1),
        ("flat_weight", "much"),
        ("flat_weight", 2),
        ("segment_rate", [0.5]),
        ("phrase_encoding", "neither"),
        ("share_scorers", "no"),
        ("prefix", 3),
        ("suffix", ["</s>"]),
        ("scorer_width", 7),
        ("backbone", None),
        ("backbone", []),
        ("backbone", {}),
        ("backbone", {"model_type": "t5", "d_model": "wide"}),
        ("backbone", {"model_type": "bert"}),
        ("backbone", {"model_type": "nothing"}),
    ],
)
def test_settings_of_a_model_that_make_no_sense(
    model: str, tmp_path: Path, field: str, value: object, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "model"
    shutil.copytree(model, directory)
    config = directory / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {field: value}))
    if field in IN_CONFIG:  # a model of before there was a decoding.json
        (directory / "decoding.json").unlink()
    write_manifest(directory)
    (tmp_path / "source").write_text("the dog\n")
    check_refused(["translate", str(directory), str(tmp_path / "source")], directory, field, capfd)


def test_an_old_model_without_a_manifest_is_read(model: str, tmp_path: Path) -> None:
    directory = tmp_path / "model"
    shutil.copytree(model, directory)
    config = directory / "config.json"
    (directory / MANIFEST_FILE).unlink()
    with pytest.raises(UserError, match=r"manifest.json: there is no such file"):
        Translator.from_pretrained(directory)
    Translator.from_pretrained(directory, verify=False)
    content = json.loads(config.read_text())
    del content["written_by"]
    config.write_text(json.dumps(content))
    Translator.from_pretrained(directory)


def test_a_second_run_in_a_directory(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = snapshot(run / "run")
    with locked(run / "run", print):
        for option in ([], ["--resume"], ["--overwrite"]):
            capfd.readouterr()
            assert main(["train", str(run / "run" / "config.yaml"), *option]) == 1
            said = capfd.readouterr().err
            assert f"is in use by process {os.getpid()} on " in said
            assert len(said.splitlines()) == 1
    assert snapshot(run / "run") == before
