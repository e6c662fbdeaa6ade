"""The demonstration without its trainings: its settings, and what it refuses to replace."""

from dataclasses import replace

from checks import refused

from btg_seq2seq.tasks import demo
from btg_seq2seq.training.settings.config import DataConfig


def test_the_task_is_as_small_as_it_is_said_to_be():
    assert (demo.TASK.train_size, demo.TASK.dev_size, demo.TASK.test_size) == (600, 100, 200)
    assert demo.TASK.phrase_lengths == (1, 4)
    assert demo.TASK.vocabulary_size == 100


def test_the_plain_model_differs_in_what_it_learns_from_only(tmp_path):
    config = demo.settings(tmp_path / "btg", 5)
    plain = demo.plain(config, tmp_path / "seq2seq")
    assert plain.objective.flat_weight == 1.0
    assert plain.recombination.start is None
    assert (plain.model, plain.optimisation, plain.seed) == (config.model, config.optimisation, 5)


def test_other_runs_are_not_replaced(tmp_path):
    config = demo.settings(tmp_path / "btg", 0)
    replace(config, data=DataConfig("a", "b")).save(tmp_path / "btg")
    with refused("btg", "not the demonstration's", "--output"):
        demo.run(tmp_path, 0)
