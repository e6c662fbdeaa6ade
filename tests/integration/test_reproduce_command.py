"""``btg reproduce`` as a user types it: random weights, pretrained models, several processes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from tiny_models import tiny_config as tiny_model_config
from tiny_reproduction import SETTINGS, TASK, write_data
from tiny_tokenizers import multilingual
from transformers import MBartForConditionalGeneration, MT5ForConditionalGeneration

from btg_seq2seq.cli.main import main
from btg_seq2seq.tasks.registry import TASKS, register_task
from btg_seq2seq.tasks.reproduction.settings import packaged_config
from btg_seq2seq.text import write_lines
from btg_seq2seq.translation.translator import Translator

ROOT = Path(__file__).parents[2]
# Few steps of small batches, and little else, in the settings of the package.
SHORT = {
    "steps": 4,
    "batch_size": 8,
    "batch_tokens": 64,
    "warmup": 1,
    "eval_every": 2,
    "save_every": 2,
    "log_every": 2,
    "translate_dev": 2,
    "dev_sentences": 3,
    "flat_steps": 1,
    "optimisation.steps": 2,
    "optimisation.batch_size": 8,
}


def shortened(task: str, path: Path, **changes: object) -> str:
    text = packaged_config(TASKS[task]).read_text(encoding="utf-8")
    for name, value in {**SHORT, **changes}.items():
        text = re.sub(rf"(?<![\w.]){re.escape(name)}: [^\s}},]+", f"{name}: {value}", text)
    path.write_text(text, encoding="utf-8")
    return str(path)


def made_up(task: str, directory: Path, words: str) -> str:
    """Write files of a task: sentences of some letters."""
    for file in TASKS[task].files:
        name = file if isinstance(file, str) else file.name
        count = 24 if name.startswith("train") else 4
        letters = [words[(row * 7 + len(name)) % len(words)] for row in range(count + 4)]
        write_lines(directory / name, [" ".join(letters[row : row + 4]) for row in range(count)])
    return str(directory)


@pytest.fixture
def tiny(tmp_path: Path) -> object:
    write_data(tmp_path / "data")
    (tmp_path / "tiny.yaml").write_text(SETTINGS, encoding="utf-8")
    register_task(TASK)
    yield [
        *("reproduce", "tiny", "--data", str(tmp_path / "data"), "--config"),
        *(str(tmp_path / "tiny.yaml"), "--output", str(tmp_path / "runs")),
    ]
    del TASKS["tiny"]


def test_systems_seeds_and_the_page(
    tiny: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [*tiny, "--systems", "recombined", "seq2seq", "--seeds", "1", "1"]
    assert main(arguments) == 0
    shown = capsys.readouterr().err
    assert "tiny seq2seq-1: run 1 of 2" in shown
    assert "tiny recombined-1: run 2 of 2" in shown
    results = tmp_path / "runs" / "results" / "tiny"
    assert sorted(path.name for path in results.iterdir()) == [
        "recombined-1.json",
        "seq2seq-1.json",
    ]
    result = json.loads((results / "recombined-1.json").read_text(encoding="utf-8"))
    assert {"flat", "cky", "rescored"} == result["comparisons"].keys()
    assert main([*arguments, "--quiet"]) == 0  # all is done
    assert capsys.readouterr().err == ""
    Translator.from_pretrained(tmp_path / "runs" / "tiny" / "recombined-1" / "model")


def test_mistakes_are_for_people(
    tiny: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for changed, status, message in (
        (["reproduce", "en-jp"], 1, "did you mean en-ja"),
        (["reproduce", "en-ja", "--data", str(tmp_path)], 1, "train.en, train.ja, dev.en"),
        ([*tiny, "--systems", "tought"], 1, "there is no system 'tought'"),
        ([*tiny, "--jobs", "0"], 1, "--jobs"),
        ([*tiny, "--config", str(tmp_path / "none.yaml")], 1, "there is no such file"),
        ([*tiny, "--seeds", "x"], 2, "--seeds"),
        (["reproduce"], 2, "TASK is missing"),
    ):
        assert main(changed) == status, changed
        shown = capsys.readouterr().err
        assert message in shown
        assert len(shown.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("task", ["de-en/500/mbart", "ml50/bn-en/mbart50"])
def test_multilingual_bart_as_in_the_paper(task: str, tmp_path: Path) -> None:
    """The package's settings, with a tiny random model in the format of the hub."""
    name = "mbart-50" if task.startswith("ml50") else "mbart"
    tokenizer = multilingual(name)
    config = tiny_model_config(name)
    config.vocab_size = len(tokenizer)
    config.max_position_embeddings = 64
    backbone = tmp_path / "backbone"
    torch.manual_seed(0)
    MBartForConditionalGeneration(config).save_pretrained(backbone)
    tokenizer.save_pretrained(backbone)
    settings = shortened(task, tmp_path / "short.yaml", backbone=backbone, bf16="false")
    data = made_up(task, tmp_path / "data", "ab")
    arguments = ["reproduce", task, "--data", data, "--config", settings, "--unchecked", "--quiet"]
    arguments += ["--output", str(tmp_path / "runs"), "--systems", "seq2seq", "taught"]
    assert main([*arguments, "fast-align"] if name == "mbart-50" else arguments) == 0
    result = json.loads(
        (tmp_path / "runs" / "results" / task / "taught-0.json").read_text(encoding="utf-8")
    )
    code = "de_DE" if name == "mbart" else "bn_IN"
    assert result["config"]["model"]["source_language"] == code
    assert result["unchecked"]
    assert list(result["modes"]) == ["flat", "cky", "rescored"]


def test_mt5_as_in_the_paper(mt5: object, tmp_path: Path) -> None:
    task = "ml50/mn-en/mt5"
    config = replace_vocabulary(tiny_model_config("mt5"), len(mt5))  # type: ignore[arg-type]
    backbone = tmp_path / "backbone"
    torch.manual_seed(0)
    MT5ForConditionalGeneration(config).save_pretrained(backbone)
    mt5.save_pretrained(backbone)  # type: ignore[attr-defined]
    # A vocabulary of 250,000 tokens takes its time.
    changes = {"backbone": backbone, "bf16": "false", "steps": 2, "batch_tokens": 32}
    settings = shortened(task, tmp_path / "short.yaml", **changes)
    data = made_up(task, tmp_path / "data", ["дом", "house", "сайн", "байна", "."])  # type: ignore[arg-type]
    arguments = ["reproduce", task, "--data", data, "--config", settings, "--unchecked", "--quiet"]
    arguments += ["--output", str(tmp_path / "runs"), "--systems", "taught"]
    assert main(arguments) == 0
    assert (tmp_path / "runs" / "results" / task / "taught-0.json").exists()


def replace_vocabulary(config: object, size: int) -> object:
    config.vocab_size = size  # type: ignore[attr-defined]
    return config


def test_side_by_side_stopped_and_continued(tmp_path: Path) -> None:
    """Ctrl-C reaches both processes, both save, and the same command finishes them."""
    task = "en-zh/np"
    data = made_up(task, tmp_path / "data", "ab")
    changes = {"hidden_size": 16, "layers": 1, "heads": 2, "vocabulary_size": 300}
    settings = shortened(task, tmp_path / "short.yaml", **{**changes, "steps": 60})
    command = [sys.executable, "-m", "btg_seq2seq.cli.main", "reproduce", task, "--data", data]
    command += ["--config", settings, "--unchecked", "--output", str(tmp_path / "runs")]
    command += ["--systems", "seq2seq", "--seeds", "0", "1", "--jobs", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    runs = [tmp_path / "runs" / task / f"seq2seq-{seed}" for seed in (0, 1)]
    while not all((run / "model" / "checkpoints").exists() for run in runs):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    shown = process.communicate()[1]
    assert process.returncode == 130
    assert "stopping" in shown
    logs = [Path(f"{run}.log").read_text(encoding="utf-8") for run in runs]
    finished = [(run / "trained.json").exists() for run in runs]
    assert all(
        done or "goes on from there" in log for done, log in zip(finished, logs, strict=True)
    )
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| seq2seq | flat | 0, 1 |" in (tmp_path / "runs" / "results.md").read_text()


def test_the_page_of_the_repository_is_made_of_its_results() -> None:
    from btg_seq2seq.tasks.reproduction.page import overview, page

    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert text == page(ROOT / "docs" / "results"), "run make results"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert overview(ROOT / "docs" / "results") in readme, "run make results"


def test_tasks_of_the_help_exist(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["reproduce", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    named = re.search(r"The tasks are (.*?) and so on", shown)
    assert named is not None
    names = re.findall(r"[\w-]+(?:/[\w-]+)+|(?<![\w/-])[a-z]+-[\w]+(?![\w/-])", named[1])
    assert len(names) > 10
    assert [name for name in names if name not in TASKS] == []
