"""Runs that are killed, interrupted, resumed or restarted: nothing is lost or mixed up."""

import json
import os
import signal
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from tiny_runs import tiny_bitext, tiny_bitexts, tiny_config
from transformers import TrainerCallback

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.text import load_tokenizer
from btg_seq2seq.training import run as run_module
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.files.checkpoints import Checkpoints, average
from btg_seq2seq.training.loop.progress import TrainingInterrupted
from btg_seq2seq.training.loop.weight_average import WEIGHTS_FILE
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.config import DecodingConfig, TokenizerConfig


class KilledError(Exception):
    pass


class AtStep(TrainerCallback):
    """Does something when a step has ended, before its checkpoint."""

    def __init__(self, step, action):
        self.step, self.action = step, action

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            self.action()


def kill():
    raise KilledError


def run(config, bitexts=None, **options):
    return train(config, bitexts=bitexts or tiny_bitexts(), quiet=True, **options)


def assert_same_run(run, other):
    assert run.history == other.history
    assert run.metrics == other.metrics
    assert run.averaged_steps == other.averaged_steps
    weights, others = run.model.state_dict(), other.model.state_dict()
    assert weights.keys() == others.keys()
    for name, weight in weights.items():
        assert torch.equal(weight, others[name]), name


SETTINGS = {
    "accumulate": 2,
    "parts": 2,
    "average_checkpoints": 2,
    "patience": 9,
    "schedule": "cosine",
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run in one piece; with dropout, accumulation, and epochs of four updates."""
    return run(tiny_config(tmp_path_factory.mktemp("whole"), **SETTINGS))


def test_a_run_learns_and_its_model_loads(whole):
    losses = [entry["loss"] for entry in whole.history if "loss" in entry]
    assert len(losses) == 12
    assert losses[-1] < losses[0]
    assert whole.averaged_steps == [9, 12]
    loaded = BTGSeq2Seq.from_pretrained(whole.directory)
    for name, weight in loaded.state_dict().items():
        assert torch.equal(weight, whole.model.state_dict()[name])
    text = tiny_bitext("dev", 1).source[0]
    assert load_tokenizer(whole.directory)(text) == whole.tokenizer(text)


def test_the_smallest_numbers_are_there_again_after_a_run(whole):
    assert torch.tensor(1e-310, dtype=torch.float64) / 2 > 0


def test_every_term_is_logged(whole):
    trained = next(entry for entry in whole.history if "loss" in entry)
    measured = next(entry for entry in whole.history if "eval_loss" in entry)
    for name in ("loss", "flat", "cut_loss", "phrases", "reverse", "parsing"):
        assert name in trained
        assert f"eval_{name}" in measured
    lines = (whole.directory / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == whole.history
    assert list((whole.directory / "tensorboard").iterdir())


def test_a_killed_run_resumes_exactly(whole, tmp_path):
    config = tiny_config(tmp_path / "run", **SETTINGS)
    with pytest.raises(KilledError):
        run(config, callbacks=[AtStep(7, kill)])
    torch.manual_seed(7)  # nothing may depend on what the process has drawn before
    assert_same_run(whole, run(config, resume=True))
    written = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert written == (whole.directory / "metrics.jsonl").read_text()


def test_a_killed_run_in_bfloat16_resumes_exactly(tmp_path):
    settings = {"bf16": True, "steps": 5, "parts": 2}
    config = tiny_config(tmp_path / "run", **settings)
    with pytest.raises(KilledError):
        run(config, callbacks=[AtStep(4, kill)])
    torch.manual_seed(7)
    whole = run(tiny_config(tmp_path / "whole", **settings))
    assert_same_run(whole, run(config, resume=True))


def test_a_killed_run_with_every_regularisation_resumes_exactly(tmp_path):
    """Averaged weights and those in training, sampled tokens of an epoch, dropped words."""

    def config(name):
        made = tiny_config(
            tmp_path / name, flat=True, ema=0.8, label_smoothing=0.1, eval_every=4, save_every=3
        )
        made.tokenizer = TokenizerConfig("bpe", 320, bpe_dropout=0.3)
        made.model = replace(made.model, word_dropout=0.1, attention_dropout=0.2)
        return made

    with pytest.raises(KilledError):
        run(config("run"), callbacks=[AtStep(11, kill)])  # in the middle of the second epoch
    torch.manual_seed(7)
    whole, resumed = run(config("whole")), run(config("run"), resume=True)
    assert_same_run(whole, resumed)
    directory = Checkpoints(tmp_path / "run").last
    averages = load_file(directory / "model.safetensors")
    weights = load_file(directory / WEIGHTS_FILE)
    assert weights.keys() == averages.keys() - {"unit_table"}
    assert any(not torch.equal(weights[name], averages[name]) for name in weights)


def test_the_average_of_the_weights_is_evaluated_and_saved(tmp_path):
    result = run(tiny_config(tmp_path, flat=True, ema=0.8, final="last"))
    measured = [entry for entry in result.history if "eval_loss" in entry]
    assert measured[-1]["eval_loss"] == result.metrics["loss"]


def test_an_interrupted_run_is_saved_and_resumes(whole, tmp_path):
    """From the end of an epoch, as it happens."""
    config = tiny_config(tmp_path / "run", **SETTINGS)
    interrupt = AtStep(7, lambda: os.kill(os.getpid(), signal.SIGINT))
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(TrainingInterrupted, match=r"step 8.*step-8.*--resume"):
        run(config, callbacks=[interrupt])
    assert signal.getsignal(signal.SIGINT) is handler
    assert_same_run(whole, run(config, resume=True))


def test_a_finished_run_can_be_finished_again(whole):
    config = tiny_config(whole.directory, **SETTINGS)
    assert_same_run(whole, run(config, resume=True))


def test_half_a_checkpoint_is_never_seen(tmp_path, monkeypatch):
    config = tiny_config(tmp_path / "run", flat=True)
    save = BTGSeq2Seq.save_pretrained
    saved = []

    def killed_while_saving(self, directory, **options):
        save(self, directory, **options)
        saved.append(directory)
        if len(saved) == 3:
            raise KilledError

    monkeypatch.setattr(BTGSeq2Seq, "save_pretrained", killed_while_saving)
    with pytest.raises(KilledError):
        run(config)
    monkeypatch.undo()
    checkpoints = Checkpoints(tmp_path / "run")
    assert saved[-1] not in map(str, map(checkpoints.path, checkpoints.steps))
    for step in checkpoints.steps:
        BTGSeq2Seq.from_pretrained(checkpoints.path(step))
    result = run(config, resume=True)
    assert result.steps == 12
    assert not list((tmp_path / "run").rglob(".unfinished*"))


def test_a_run_that_failed_before_it_began_is_in_nobodys_way(tmp_path):
    with pytest.raises(ValueError, match="too small"):
        run(tiny_config(tmp_path / "run", flat=True, batch_size=None, batch_tokens=1))
    assert run(tiny_config(tmp_path / "run", flat=True, steps=1)).steps == 1


def test_a_directory_that_is_taken(tmp_path):
    config = tiny_config(tmp_path / "run", flat=True, steps=1)
    run(config)
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"holds a run already.*--resume.*--overwrite"):
        run(config)
    config.seed = 1
    with pytest.raises(ValueError, match="seed was 0, is now 1"):
        run(config, resume=True)
    run(config, overwrite=True)
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    (tmp_path / "run" / "config.yaml").unlink()
    with pytest.raises(ValueError, match="holds a model"):
        run(config, resume=True)


def contents(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_run_makes_way_only_for_one_that_works(tmp_path):
    directory = tmp_path / "run"
    config = tiny_config(directory, flat=True, steps=1)
    run(config)
    before = contents(directory)
    wrong = tiny_config(directory, flat=True, steps=1)
    wrong.tokenizer.kind, wrong.model.backbone = None, str(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="nowhere"):
        run(wrong, overwrite=True)
    assert contents(directory) == before
    with pytest.raises(ValueError, match="too small"):
        run(tiny_config(directory, batch_size=None, batch_tokens=1), overwrite=True)
    assert contents(directory) == before


@pytest.mark.parametrize("part", [".", "checkpoints/step-1"])
def test_a_run_does_not_remove_what_it_begins_with(tmp_path, part):
    directory = tmp_path / "run"
    run(tiny_config(directory, flat=True, steps=1))
    before = contents(directory)
    for section, name in (("model", "init_from"), ("model", "backbone"), ("tokenizer", "path")):
        config = tiny_config(directory, flat=True, steps=1)
        config.tokenizer.kind = None
        setattr(getattr(config, section), name, str(directory / part))
        with pytest.raises(ValueError, match=rf"{section}\.{name} is .*--overwrite would remove"):
            run(config, overwrite=True)
    assert contents(directory) == before


def test_only_what_a_run_writes_makes_way(tmp_path):
    directory = tmp_path / "run"
    run(tiny_config(directory, flat=True, steps=1))
    written = {path.name for path in directory.iterdir()}
    foreign = ["tokenizer_notes.txt", "tokenizer", "other.safetensors", "a.index.json"]
    for name in foreign:
        (directory / name).write_text("mine")
    config = tiny_config(directory)
    run_module.prepare_directory(directory, config, tiny_bitexts(), overwrite=True)
    left = {path.name for path in directory.iterdir()}
    assert left == {*foreign, "config.yaml", "data.json"}
    assert {"config.yaml", "data.json"} <= written


def test_other_texts_cannot_be_gone_on_with(tmp_path):
    config = tiny_config(tmp_path / "run", flat=True, steps=2)
    bitexts = tiny_bitexts()
    run(config)
    longer = Bitexts(tiny_bitext("train", 51), bitexts.dev)
    with pytest.raises(
        ValueError, match=r"cannot resume: the train text .*was 50 pairs.*is now 51 pairs"
    ):
        run(config, longer, resume=True)
    corrected = tiny_bitext("dev", 10)
    corrected.target[3] += " ."
    with pytest.raises(ValueError, match="cannot resume: the dev text"):
        run(config, Bitexts(bitexts.train, corrected), resume=True)


def test_other_derivations_and_exclusions_are_other_texts():
    train = tiny_bitext("train", 5)
    plain, gold = Bitexts(train), Bitexts(replace(train, trees=["[0:1 1:2]"] * 5))
    other = Bitexts(replace(train, trees=["<0:1 1:2>"] * 5))
    assert len({bitexts.checksums["train"] for bitexts in (plain, gold, other)}) == 3
    sums = [
        Bitexts(train, excluded=lines).checksums.get("excluded") for lines in ([], ["a"], ["b"])
    ]
    assert sums[0] is None
    assert len(set(sums)) == 3


def test_excluded_files_may_not_change_either(tmp_path):
    config = tiny_config(tmp_path / "run", steps=2)
    held_out = tmp_path / "held.out"
    held_out.write_text("s1 s2\n", encoding="utf-8")
    config.recombination = RecombinationConfig(start=1, exclude=[str(held_out)])
    run(config)
    for changed in ("s1 s3\n", ""):
        held_out.write_text(changed, encoding="utf-8")
        with pytest.raises(ValueError, match="cannot resume: the excluded text"):
            run(config, resume=True)


def test_settings_that_may_change_are_obeyed_when_a_run_goes_on(tmp_path):
    """Logs come with checkpoints too."""
    options = {"log_every": 5, "eval_every": 4, "save_every": 4, "average_checkpoints": 4}
    with pytest.raises(KilledError):
        run(tiny_config(tmp_path, flat=True, **options), callbacks=[AtStep(5, kill)])
    changed = {"log_every": 3, "eval_every": 2, "save_every": 2, "steps": 10}
    config = tiny_config(tmp_path, flat=True, **(options | changed))
    config.decoding = DecodingConfig(flat_weight=0.25)
    result = run(config, resume=True)
    logged = [entry["step"] for entry in result.history if "loss" in entry]
    evaluated = [entry["step"] for entry in result.history if "eval_loss" in entry]
    assert logged[:2] == [4, 6]
    assert logged[-2:] == [9, 10]
    assert evaluated == [4, 6, 8, 10]
    assert Checkpoints(tmp_path).steps == [4, 6, 8, 10]
    assert BTGSeq2Seq.from_pretrained(tmp_path).decoding.flat_weight == 0.25


def test_a_changed_patience_is_obeyed_when_a_run_goes_on(tmp_path):
    options = {"eval_every": 1, "save_every": 1, "metric": "bleu", "steps": 9}
    measures = iter([0.5, *[0.1] * 20])

    def metrics(*_):
        return {"bleu": next(measures)}

    config = tiny_config(tmp_path, flat=True, **options, patience=8)
    with pytest.raises(KilledError):
        run(config, metrics=metrics, callbacks=[AtStep(3, kill)])
    config.optimisation.patience = 4
    assert run(config, metrics=metrics, resume=True).steps == 5
    config.optimisation.patience = 6  # a run that has stopped goes on
    assert run(config, metrics=metrics, resume=True).steps == 7


def test_the_number_of_steps_of_a_schedule_that_ends_cannot_change(tmp_path):
    config = tiny_config(tmp_path, flat=True, steps=2, schedule="linear")
    run(config)
    config.optimisation.steps = 3
    with pytest.raises(ValueError, match=r"optimisation\.steps was 2, is now 3.*linear schedule"):
        run(config, resume=True)


def test_the_average_is_the_mean(whole):
    paths = [Checkpoints(whole.directory).path(step) for step in whole.averaged_steps]
    states = [BTGSeq2Seq.from_pretrained(path).state_dict() for path in paths]
    for name, weight in average(paths).items():
        mean = sum(state[name].double() for state in states) / 2
        torch.testing.assert_close(weight, mean.to(weight.dtype))
