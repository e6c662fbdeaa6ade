"""Settings of systems: one file, with what each system and each task changes."""

import json

from checks import refused
from tiny_reproduction import SETTINGS

from btg_seq2seq.tasks.registry import TASKS
from btg_seq2seq.tasks.reproduction.settings import (
    TaskSettings,
    changed_settings,
    completed,
    packaged_config,
    recorded,
)
from btg_seq2seq.tasks.systems import SYSTEMS
from btg_seq2seq.training.settings.config import TrainConfig


def settings(tmp_path, more="", changes=None):
    path = tmp_path / "task.yaml"
    path.write_text(SETTINGS + more, encoding="utf-8")
    return TaskSettings(path, changes)


def test_systems_change_the_file_and_the_file_changes_systems(tmp_path):
    found = settings(tmp_path, "systems: {taught: {objective.taught_steps: 5}}", {"seed": 9})
    plain, taught = (found.train(SYSTEMS[name], 3, tmp_path) for name in ("seq2seq", "taught"))
    assert (plain.objective.flat_weight, taught.objective.flat_weight) == (1.0, 0.5)
    assert (plain.objective.taught_steps, taught.objective.taught_steps) == (None, 5)
    assert plain.seed == taught.seed == 3
    assert found.dev_sentences == 4
    recombined = found.train(SYSTEMS["recombined"], 0, tmp_path).recombination
    assert (recombined.start, recombined.every) == (3, 1)


def test_pretraining_has_steps_of_its_own_and_no_dev_set(tmp_path):
    found = settings(tmp_path).pretrain(SYSTEMS["fast-align"], 0, tmp_path)
    assert found.optimisation.steps == 3
    assert (found.optimisation.metric, found.optimisation.final) == ("loss", "last")
    assert not found.learns_trees


def test_task_changes(tmp_path):
    found = settings(tmp_path, changes={"model.max_segments": 2})
    assert found.train(SYSTEMS["taught"], 0, tmp_path).model.max_segments == 2


def test_what_is_recorded_has_no_paths(tmp_path):
    values = recorded(settings(tmp_path).train(SYSTEMS["seq2seq"], 0, tmp_path))
    assert str(tmp_path) not in str(values)
    assert values["optimisation"]["steps"] == 6


def test_settings_that_are_newer_than_a_result_have_their_defaults(tmp_path):
    now = recorded(settings(tmp_path).train(SYSTEMS["recombined"], 0, tmp_path))
    before = json.loads(json.dumps(now))
    del before["recombination"]["found_by"], before["decoding"], before["objective"]["samples"]
    found = completed(before)
    assert found["recombination"]["found_by"] == "model"
    assert found["decoding"] == recorded(TrainConfig(""))["decoding"]
    assert (found["optimisation"], found["seed"]) == (now["optimisation"], now["seed"])


def test_changes_of_everything_that_a_result_depends_on(tmp_path):
    before = settings(tmp_path).recorded(SYSTEMS["fast-align"], 0)
    other = SETTINGS.replace("steps: 3", "steps: 2").replace("dev_sentences: 4", "")
    (tmp_path / "task.yaml").write_text(other, encoding="utf-8")
    now = TaskSettings(tmp_path / "task.yaml").recorded(SYSTEMS["fast-align"], 0)
    assert changed_settings(before, before) == []
    assert changed_settings(before, now) == [
        "pretraining.optimisation.steps was 3, is now 2",
        "dev_sentences was 4, is now None",
    ]
    assert changed_settings({"config": before["config"]}, now) == []
    before, now = before | {"data": {"test": "a"}}, before | {"data": {"test": "b"}}
    assert changed_settings(before, now) == ["the checksum of test was a, is now b"]
    assert "pretraining" not in settings(tmp_path).recorded(SYSTEMS["taught"], 0)


def test_mistakes_have_a_place(tmp_path):
    with refused("task.yaml: line", "there is no field systems.tought"):
        settings(tmp_path, "systems: {tought: {}}")
    with refused("line", "systems.taught must be fields"):
        settings(tmp_path, "systems: {taught: 3}")
    path = tmp_path / "other.yaml"
    path.write_text("dev_sentences: 0", encoding="utf-8")
    with refused("other.yaml: line 1: dev_sentences"):
        TaskSettings(path)
    broken = settings(tmp_path, "systems: {taught: {objective.taut: 3}}")
    with refused("objective.taut"):
        broken.train(SYSTEMS["taught"], 0, tmp_path)


def test_the_package_has_the_files():
    assert packaged_config(TASKS["en-ja"]).is_file()
