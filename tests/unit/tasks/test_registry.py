"""The registry of tasks: every entry is complete, and names are unique."""

from dataclasses import replace
from pathlib import Path

import pytest
from checks import refused

from btg_seq2seq.evaluation.metrics import METRICS
from btg_seq2seq.tasks.registry import TASKS, find_task, register_task
from btg_seq2seq.tasks.reproduction.results import differences
from btg_seq2seq.tasks.reproduction.settings import TaskSettings, packaged_config, recorded
from btg_seq2seq.tasks.systems import SYSTEMS
from btg_seq2seq.training.settings.config import load_config

ROOT = Path(__file__).parents[3]
PAPER = {"seq2seq", "trivial-align", "fast-align", "BTG-1", "BTG-N"}


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_complete(name):
    task = TASKS[name]
    assert task.name == name
    assert task.description
    assert task.metric in METRICS
    assert task.paper_table
    assert {*task.paper} <= PAPER
    assert not task.paper or {"seq2seq", "BTG-1", "BTG-N"} <= {*task.paper}
    assert not task.files or (task.origin and task.preprocessing and task.tokenize)


# Tasks that share a file differ in little.
SETTINGS = {task.config: name for name, task in TASKS.items()}


@pytest.mark.parametrize("name", SETTINGS.values())
def test_every_system_has_settings_for_every_task(name, tmp_path):
    task = TASKS[name]
    settings = TaskSettings(packaged_config(task), task.changes)
    plain = recorded(settings.train(SYSTEMS["seq2seq"], 0, tmp_path))
    for system in SYSTEMS.values():
        config = settings.train(system, 0, tmp_path)
        config.optimisation.check_metric(has_trees=False)
        assert config.learns_trees == system.has_grammar
        own = recorded(config)
        assert own["optimisation"] == plain["optimisation"]  # the same budget
        for size in ("hidden_size", "layers", "heads", "dropout", "backbone"):
            assert own["model"][size] == plain["model"][size]  # the same backbone
        if system.phrase_pairs:
            budget = settings.pretrain(system, 0, tmp_path).optimisation
            assert budget.steps > 0
            # Phrase pairs are short: a batch of 64 would be a weak baseline.
            generated = not task.files
            assert generated or budget.batch_tokens or budget.batch_size == 512
    if task.tokenize is not None:
        assert plain["optimisation"]["bleu_tokenizer"] == task.tokenize


@pytest.mark.parametrize("split", ["few-shot", "novel-position"])
def test_the_example_of_the_toy_task_has_the_same_settings(split, tmp_path):
    task = TASKS[f"svo-sov/{split}"]
    example = load_config(
        ROOT / f"examples/svo_sov/{split}.yaml", ["--recombination.exclude", "[]"]
    )
    settings = TaskSettings(packaged_config(task))
    # If this fails, copy what was changed from one file to the other.
    assert recorded(settings._config({}, tmp_path)) == recorded(example)


@pytest.mark.parametrize(
    ("preset", "name", "may_differ"),
    [
        ("tiny", "en-zh/np", {"optimisation.bf16"}),
        ("small", "en-ja", {"optimisation.parts", "tokenizer.vocabulary_size"}),
    ],
)
def test_presets_have_what_was_tuned_on_a_task(preset, name, may_differ, tmp_path):
    example = recorded(load_config(ROOT / f"examples/{preset}.yaml"))
    task = TASKS[name]
    tuned = recorded(TaskSettings(packaged_config(task), task.changes)._config({}, tmp_path))
    of_the_task = {"optimisation.metric", "optimisation.bleu_tokenizer"}
    for section in ("tokenizer", "model", "optimisation"):
        found = differences(tuned[section], example[section], f"{section}.")
        assert {line.split()[0] for line in found} <= may_differ | of_the_task


def test_a_name_is_taken_once():
    task = TASKS["svo-sov/few-shot"]
    register_task(task)
    with refused("another task", "svo-sov/few-shot"):
        register_task(replace(task, metric="bleu"))


def test_names_that_are_not_there():
    assert find_task("en-ja") is TASKS["en-ja"]
    with refused("there is no task 'en-jp'", "en-ja"):
        find_task("en-jp")
