"""What a run shows: a bar on a terminal, lines elsewhere."""

from io import StringIO

import pytest
from rich.console import Console
from transformers import TrainerState

from btg_seq2seq.training import progress
from btg_seq2seq.training.progress import ProgressReport


def report(is_terminal):
    output = StringIO()
    console = Console(file=output, force_terminal=is_terminal, width=120, highlight=False)
    return ProgressReport(console), output


@pytest.mark.parametrize("is_terminal", [True, False])
def test_steps_are_counted_and_the_time_that_is_left(is_terminal):
    shown, output = report(is_terminal)
    state = TrainerState(global_step=0, max_steps=8)
    with shown:
        shown.on_train_begin(None, state)
        for state.global_step in (1, 2):
            shown.on_step_end(None, state)
        state.log_history = [{"loss": 1.25, "flat": 0.5, "epoch": 1.0}]
        shown.on_log(None, state)
        state.log_history = [{"eval_loss": 2.5}]
        shown.on_log(None, state)
        shown.on_train_end(None, state)
    text = output.getvalue()
    assert "loss 1.25" in text
    assert "step 2  dev  loss 2.5" in text
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
