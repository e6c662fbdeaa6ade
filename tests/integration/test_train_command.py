"""``btg train`` as a user types it: files in, a model that translates out."""

import json
import os
import signal
from pathlib import Path

import pytest
from tiny_runs import tiny_bitexts
from transformers import TrainerCallback

from btg_seq2seq.cli.main import main
from btg_seq2seq.evaluation import dev_metrics
from btg_seq2seq.text import write_lines
from btg_seq2seq.training import run as training_run
from btg_seq2seq.training.run import train as run
from btg_seq2seq.training.settings.config import load_config
from btg_seq2seq.translation.translator import Translator

ROOT = Path(__file__).parents[2]
CONFIG = """
data:
  train_source: {directory}/train.source.gz
  train_target: {directory}/train.target
  dev_source: {directory}/dev.source.gz
  dev_target: {directory}/dev.target
tokenizer: {{kind: word}}
model: {{hidden_size: 16, layers: 1, heads: 2, scorer_width: 8, max_segments: 3}}
objective: {{uniform_steps: 0}}
optimisation: {{steps: 4, batch_tokens: 100, eval_every: 2, log_every: 1}}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    bitexts = tiny_bitexts()
    for name, bitext in (("train", bitexts.train), ("dev", bitexts.dev)):
        assert bitext is not None
        write_lines(tmp_path / f"{name}.source.gz", bitext.source)
        write_lines(tmp_path / f"{name}.target", bitext.target)
    (tmp_path / "config.yaml").write_text(CONFIG.format(directory=tmp_path))
    return str(tmp_path / "config.yaml")


def test_from_files_to_a_model(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "run"
    arguments = ["--output", str(output), "--optimisation.metric", "chrf"]
    assert main(["train", config, *arguments, "--objective.samples=2"]) == 0
    said = capsys.readouterr()
    assert f"model: {output}" in said.out
    assert f"btg translate {output}" in said.out
    assert "50 of 50 pairs" in said.err
    assert "of the parsers" in said.err
    assert "step 4/4" in said.err
    effective = load_config(output / "config.yaml")
    assert effective.objective.samples == 2
    assert effective.model.hidden_size == 16
    lines = (output / "metrics.jsonl").read_text().splitlines()
    measured = [json.loads(line) for line in lines if "eval_loss" in line]
    assert [entry["step"] for entry in measured] == [2, 4]
    assert {"eval_bleu", "eval_chrf", "eval_exact_match"} <= measured[0].keys()
    assert len(Translator.from_pretrained(output).translate(["a b c"], mode="flat")) == 1

    # What was run can be run again, and is not by mistake.
    assert main(["train", str(output / "config.yaml")]) == 1
    assert "--resume" in capsys.readouterr().err
    assert main(["train", str(output / "config.yaml"), "--resume"]) == 0
    assert "all steps were done before" in capsys.readouterr().err


class Interrupt(TrainerCallback):  # type: ignore[no-untyped-call, unused-ignore]
    number = signal.SIGINT

    def on_step_begin(self, args, state, control, **kwargs):  # type: ignore[no-untyped-def]
        if state.global_step == 2:
            os.kill(os.getpid(), self.number)


def test_what_will_not_be_done_is_said(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--output", str(tmp_path / "run"), "--optimisation.steps", "1"]
    arguments += ["--model.max_grammar_length", "3", "--recombination.start", "1"]
    assert main(["train", config, *arguments]) == 0
    said = capsys.readouterr().err
    assert "more than max_grammar_length=3 words on a side and train flat" in said
    assert "recombination.start is 1, but there are 1 steps" in said


def test_parsers_that_learn_too_early_are_told_of(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--output", str(tmp_path / "run"), "--optimisation.steps", "1"]
    arguments += ["--objective.teacher", "none"]
    for steps in ("0", "1"):
        more = ["--objective.flat_steps", steps, "--overwrite"]
        assert main(["train", config, *arguments, *more]) == 0
        said = capsys.readouterr().err
        assert ("the parsers learn from the first step" in said) == (steps == "0")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--objective.uniform_steps", "4"], "the parsers wait for 4 steps"),
        (["--objective.flat_weight", "1"], ""),
    ],
)
def test_parsers_that_never_learn_are_told_of(
    config: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    output = str(tmp_path / "run")
    assert main(["train", *arguments, "--output", output, config]) == 0  # CONFIG in the end
    assert said in capsys.readouterr().err
    source = str(tmp_path / "dev.source.gz")
    assert main(["translate", output, source, "--beam_size", "1"]) == 0
    assert "learned nothing" not in capsys.readouterr().err
    assert main(["translate", output, source, "--beam_size", "1", "--mode", "cky"]) == 0
    assert "have learned nothing" in capsys.readouterr().err


def test_a_model_of_a_run_that_is_unfinished(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old").mkdir()
    load_config(config, ["--output", "old"]).save(tmp_path / "old")
    old = str(tmp_path / "old")
    assert main(["train", config, "--model.init_from", old, "--output", "new"]) == 1
    assert "tokenizer.kind" in capsys.readouterr().err
    options = ["--tokenizer.kind", "null", "--output", str(tmp_path / "new")]
    assert main(["train", config, "--model.init_from", old, *options]) == 1
    assert "old holds no model: " in (errors := capsys.readouterr().err)
    assert "the run is unfinished" in errors


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_says_how_to_go_on(
    config: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    status: int,
) -> None:
    monkeypatch.setattr(Interrupt, "number", number)
    monkeypatch.setattr(
        training_run,
        "train",
        lambda *given, **options: run(*given, **options, callbacks=[Interrupt()]),
    )
    command = ["train", config, "--output", str(tmp_path / "run"), "--objective.flat_weight", "1"]
    assert main(command) == status
    said = capsys.readouterr().err
    assert "this step will be finished and saved" in said
    assert "step-3" in said
    assert "--resume" in said
    monkeypatch.undo()
    assert main(["train", "--resume", *command[1:]]) == 0
    assert "resuming from" in capsys.readouterr().err


def test_quiet_training_says_nothing(
    config: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--quiet", "--output", str(tmp_path / "run"), "--objective.flat-weight", "1"]
    assert main(["train", *arguments, config]) == 0
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--data.train_source", "nowhere"], 1, "nowhere: there is no such file"),
        (["--data.dev_target", "{directory}/train.target"], 1, "line by line"),
        (["--optimisation.batch_tokens", "1"], 1, "batch_tokens=1 is too small"),
        (["--optimisation.metric", "beauty"], 1, "beauty, which not every evaluation"),
        (["--optimisation.metric", "prior"], 1, "choose one of loss, flat, exact_match, bleu"),
        (
            ["--optimisation.metric", "chrf", "--optimisation.translate_dev", "0"],
            1,
            "optimisation.translate_dev",
        ),
        (["--optimisation.metric", "prior_trees"], 1, "needs data.dev_trees"),
        (["--optimisation.step", "1"], 2, "--optimisation.step"),
        (["--resume", "--overwrite"], 2, "not allowed with"),
    ],
)
def test_what_goes_wrong_is_said(
    config: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    message: str,
) -> None:
    given = [argument.format(directory=tmp_path) for argument in arguments]
    try:
        code = main(["train", config, "--output", str(tmp_path / "run"), *given])
    except SystemExit as stopped:  # the parser's own way
        code = int(str(stopped.code))
    assert code == status
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.yaml")), ids=lambda p: p.stem)
def test_examples_are_valid(path: Path) -> None:
    load_config(path)


def test_trees_of_the_dev_set_are_measured(tmp_path: Path) -> None:
    from tiny_runs import task, tiny_config

    from btg_seq2seq.tasks.svo_sov_files import bitext_of
    from btg_seq2seq.training.data import Bitexts

    items = task()["dev"][:10]
    dev = bitext_of(items)
    config = tiny_config(tmp_path / "run", flat=True, steps=1)
    metrics = dev_metrics.DevMetrics(sentences=0)
    bitexts = Bitexts(tiny_bitexts().train, dev)
    measured = run(config, bitexts=bitexts, metrics=metrics, quiet=True).metrics
    assert 0 <= measured["prior_trees"] <= 100
    assert 0 <= measured["posterior_trees"] <= 100
    assert "bleu" not in measured
