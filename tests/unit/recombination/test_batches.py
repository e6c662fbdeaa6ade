"""Recombination during training: what is replaced when, what never is, and exact resume."""

from dataclasses import replace

import pytest
import torch
from tiny_runs import tiny_bitext, tiny_config
from transformers import TrainerCallback

from btg_seq2seq.recombination import batches as recombined
from btg_seq2seq.recombination.collect import collect_derivations
from btg_seq2seq.recombination.settings import RecombinationConfig
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.run import train


class KillAt(TrainerCallback):
    """Ends the process behind a step."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            raise KilledError


class KilledError(Exception):
    pass


def config_of(directory, optimisation=(), **recombination):
    config = tiny_config(directory, steps=12, **({"batch_size": 8} | dict(optimisation)))
    settings = {"start": 5, "every": 3, "share": 0.8, "derived": 0.5} | recombination
    return replace(config, recombination=RecombinationConfig(**settings))


def run(config, excluded=(), **options):
    bitexts = Bitexts(tiny_bitext("train", 50), tiny_bitext("dev", 10), excluded)
    return train(config, bitexts=bitexts, quiet=True, **options)


def test_steps_behind_the_start_learn_from_recombined_sentences(tmp_path):
    result = run(config_of(tmp_path / "run"))
    logged = {entry["step"]: entry for entry in result.history if "loss" in entry}
    looked_for = {step for step, entry in logged.items() if "reverse" in entry}
    derived = {step for step, entry in logged.items() if "prior" in entry}
    whole = {step for step, entry in logged.items() if "phrases" not in entry}
    assert looked_for | derived | whole == set(range(1, 13))
    assert {1, 2, 3, 4, 5} <= looked_for
    assert derived
    assert whole
    assert result.recombined["made"] > 0
    assert "recombined" not in logged[5]  # there is nothing to tell yet
    assert logged[12]["recombined"] == result.recombined["made"]
    assert logged[12]["coincidences"] == result.recombined["coincidences"]


def test_trees_are_compared_once(tmp_path, monkeypatch):
    asked, collect = [], collect_derivations
    monkeypatch.setattr(
        recombined,
        "collect_derivations",
        lambda *given, **options: asked.append(options) or collect(*given, **options),
    )
    config = config_of(tmp_path / "run", compared=2)
    run(replace(config, objective=replace(config.objective, boundary_threshold=0.5)))
    assert [options["compared"] for options in asked] == [2, 0, 0]
    assert {options["boundary_threshold"] for options in asked} == {0.5}


def test_derivations_are_collected_with_the_seed_of_the_run(tmp_path, monkeypatch):
    seeds, collect = [], collect_derivations
    monkeypatch.setattr(
        recombined,
        "collect_derivations",
        lambda *given, **options: seeds.append(options["seed"]) or collect(*given, **options),
    )
    run(replace(config_of(tmp_path / "run"), seed=7))
    assert seeds == [7, 7, 7]


def test_a_killed_run_resumes_exactly(tmp_path):
    whole = run(config_of(tmp_path / "whole", compared=2))
    config = config_of(tmp_path / "run", compared=2)
    with pytest.raises(KilledError):
        run(config, callbacks=[KillAt(10)])
    resumed = run(config, resume=True)
    assert resumed.history == whole.history
    assert resumed.recombined == whole.recombined
    weights = resumed.model.state_dict()
    assert all(torch.equal(weights[name], w) for name, w in whole.model.state_dict().items())


def test_what_is_excluded_is_never_made(tmp_path, monkeypatch):
    """Every sentence that a first run makes is excluded from a second one."""
    made = []
    collate = recombined.Collator.__call__

    def noting(self, examples):
        made.extend(tuple(example["input_ids"]) for example in examples)
        return collate(self, examples)

    monkeypatch.setattr(recombined.Collator, "__call__", noting)
    # Sentences of many steps are made at once and sorted by length: only large batches are sure to
    # meet one that was thrown away.
    size = {"batch_size": 40}
    first = run(config_of(tmp_path / "a", size, share=1.0))
    known = [*tiny_bitext("train", 50).source, *tiny_bitext("dev", 10).source]
    sources = {tuple(ids) for ids in first.tokenizer(known)["input_ids"]}
    new = [ids for ids in made if ids not in sources]
    words = [first.tokenizer.decode(ids, skip_special_tokens=True) for ids in dict.fromkeys(new)]
    assert words
    made.clear()
    config = config_of(tmp_path / "b", size, share=1.0)
    second = run(config, excluded=words)
    assert second.recombined["coincidences"] > 0
    again = run(config, excluded=words, resume=True)  # all steps are done
    assert again.recombined == second.recombined
    assert not set(made) & {tuple(ids) for ids in second.tokenizer(words)["input_ids"]}


def test_batches_of_tokens_are_recombined(tmp_path, monkeypatch, capsys):
    """As large as the batches that they replace; coincidences are told."""
    sizes = []
    collate = recombined.Collator.__call__

    def noting(self, examples):
        batch = collate(self, examples)
        if "segmentation" in examples[0]:  # recombined
            sizes.append(max(batch["input_ids"].numel(), batch["labels"].numel()))
        return batch

    monkeypatch.setattr(recombined.Collator, "__call__", noting)
    size = {"batch_size": None, "batch_tokens": 80, "eval_every": 100, "save_every": 100}
    config = config_of(tmp_path / "run", size, share=1.0, derived=0.0, start=6)
    bitexts = Bitexts(tiny_bitext("train", 50), tiny_bitext("dev", 10))
    train(config, bitexts=bitexts)
    assert len(sizes) == 6
    assert max(sizes) < 110  # a sentence more, and padding
    assert "coincided with excluded ones" in capsys.readouterr().err


def test_batches_that_could_be_too_small_are_refused_at_once(tmp_path):
    longest = 1 + max(len(line.split()) for line in tiny_bitext("train", 50).source)
    size = {"batch_size": None, "batch_tokens": longest}
    with pytest.raises(ValueError, match=rf"batch_tokens={longest} is too small to recombine"):
        run(config_of(tmp_path / "run", size))


def test_settings_are_checked():
    for wrong in ({"share": 1.5}, {"derived": -1}, {"start": -1}, {"every": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            RecombinationConfig(**wrong)
