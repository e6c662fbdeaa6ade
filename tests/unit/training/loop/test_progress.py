"""What a run shows: a bar on a terminal, lines elsewhere."""

from io import StringIO

import pytest
from rich.console import Console
from transformers import TrainerState

from btg_seq2seq.training.loop import progress
from btg_seq2seq.training.loop.progress import ProgressReport, figures


def report(is_terminal, metric="loss"):
    output = StringIO()
    console = Console(file=output, force_terminal=is_terminal, width=120, highlight=False)
    return ProgressReport(console, metric), output


@pytest.mark.parametrize("is_terminal", [True, False])
def test_steps_are_counted_and_the_time_that_is_left(is_terminal):
    shown, output = report(is_terminal, "chrf")
    state = TrainerState(global_step=0, max_steps=8)
    with shown:
        shown.on_train_begin(None, state)
        for state.global_step in (1, 2):
            shown.on_step_end(None, state)
        state.log_history = [{"eval_loss": 2.5, "eval_chrf": 31.0, "eval_bleu": 9.0}]
        shown.on_log(None, state)
        state.log_history = [{"loss": 1.25, "flat": 0.5, "tree_entropy": 0.75, "epoch": 1.0}]
        shown.on_log(None, state)
        shown.bar.refresh()
        shown.on_train_end(None, state)
    text = output.getvalue()
    assert "step 2/8  dev  loss 2.5  chrf 31  left" in text
    assert "loss 1.25  dev chrf 31  tree_entropy 0.75" in text
    assert "flat" not in text
    assert "bleu" not in text
    assert "left" in text
    assert "2/8" in text
    assert "epoch" not in text


@pytest.mark.parametrize("is_terminal", [True, False])
def test_long_work_within_a_step_is_shown(is_terminal, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    shown, output = report(is_terminal)
    with shown:
        shown.on_train_begin(None, TrainerState(global_step=3, max_steps=8))
        seen = []
        for item in shown.track([5, 6, 7], "looking"):
            seen.append(item)
            shown.bar.refresh()
    assert seen == [5, 6, 7]
    assert "looking" in output.getvalue()
    assert "2/3" in output.getvalue()
    assert len(shown.bar.tasks) == 1


@pytest.mark.parametrize(
    ("values", "metric", "score", "shown"),
    [
        ({"loss": 2.0, "flat": 1.0}, "loss", None, "loss 2"),
        ({"loss": 2.0, "flat": 1.0}, "flat", None, "loss 2  flat 1"),
        ({"loss": 2.0, "flat": 1.0}, "loss", 1.5, "loss 2  dev loss 1.5"),
        (
            {"loss": 2.0, "tree_entropy": 0.25, "posterior_trees": 40.0, "bleu": 7.0},
            "bleu",
            None,
            "loss 2  bleu 7  posterior_trees 40",
        ),
        (
            {"loss": 2.0, "posterior_trees": 40.0},
            "posterior_trees",
            None,
            "loss 2  posterior_trees 40",
        ),
    ],
)
def test_figures(values, metric, score, shown):
    assert figures(values, metric, score) == shown
