"""Settings of a run as Hugging Face's trainer names them."""

import pytest
from tiny_runs import tiny_config

from btg_seq2seq.errors import UserError
from btg_seq2seq.training.loop.arguments import check_processes, training_arguments


def test_settings_are_passed_on(tmp_path):
    config = tiny_config(tmp_path, metric="bleu", accumulate=3, schedule="cosine", clip=0.5)
    config.seed = 5
    arguments = training_arguments(config, has_dev=True)
    assert (arguments.seed, arguments.max_steps) == (5, config.optimisation.steps)
    assert arguments.gradient_accumulation_steps == 3
    assert arguments.lr_scheduler_type == "cosine"
    assert arguments.max_grad_norm == 0.5
    assert (arguments.eval_strategy, arguments.eval_steps) == ("steps", 4)
    assert (arguments.metric_for_best_model, arguments.greater_is_better) == ("bleu", True)


def test_without_a_dev_set_nothing_is_best(tmp_path):
    arguments = training_arguments(tiny_config(tmp_path), has_dev=False)
    assert arguments.eval_strategy == "no"
    assert arguments.metric_for_best_model is None


def test_another_number_of_processes_cannot_resume(tmp_path):
    arguments = training_arguments(tiny_config(tmp_path / "run"), has_dev=False)
    (tmp_path / "rng_state.pth").touch()
    check_processes(tmp_path, arguments)
    (tmp_path / "rng_state.pth").unlink()
    for rank in range(2):
        (tmp_path / f"rng_state_{rank}.pth").touch()
    with pytest.raises(UserError, match="written by 2 processes"):
        check_processes(tmp_path, arguments)
