"""The registry of tasks: every entry is complete, and names are unique."""

from dataclasses import replace
from pathlib import Path

import pytest
from checks import refused

from btg_seq2seq.evaluation.metrics import METRICS
from btg_seq2seq.tasks.registry import TASKS, register_task
from btg_seq2seq.training.settings.config import load_config

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", TASKS)
def test_every_task_can_be_trained_and_scored(name):
    task = TASKS[name]
    assert task.name == name
    assert task.description
    assert task.metric in METRICS
    assert task.config is not None
    assert load_config(ROOT / task.config).optimisation.metric == task.metric
    assert {"seq2seq", "BTG-1", "BTG-N"} == set(task.paper)


def test_a_name_is_taken_once():
    task = TASKS["svo-sov/few-shot"]
    register_task(task)
    with refused("another task", "svo-sov/few-shot"):
        register_task(replace(task, metric="bleu"))
