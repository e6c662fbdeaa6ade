"""The progress of a run: a bar or lines on the screen, a file of metrics, TensorBoard.

The screen shows five figures: step, loss, dev score, a tree statistic and the time left. All others
are in the file. Signals that end a run early are handled here too.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TypeVar

import torch
import torch.distributed
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from torch.utils.tensorboard import SummaryWriter
from transformers import EarlyStoppingCallback, TrainerCallback, TrainerControl, TrainerState
from transformers.integrations.integration_utils import TensorBoardCallback
from transformers.utils import logging

from btg_seq2seq.training.files.names import DEV, METRICS_FILE

SECONDS_BETWEEN_LINES = 60.0
# The tree statistic is the first of these that is known: right trees in percent, or nats.
TREE_STATISTICS = ("posterior_trees", "tree_entropy")

T = TypeVar("T")


def figures(values: Mapping[str, float], metric: str, score: float | None = None) -> str:
    """Format loss, dev score and tree statistic: ``loss 2.314  dev bleu 21.3  tree_entropy 0.5``.

    ``score`` is that of an earlier evaluation; without it, ``values`` are those of the dev set.
    """
    trees = [name for name in TREE_STATISTICS if name in values][:1]
    own = [] if score is not None else [metric] * (metric != "loss" and metric in values)
    parts = [f"{name} {values[name]:.4g}" for name in ("loss", *own) if name in values]
    if score is not None:
        parts.append(f"dev {metric} {score:.4g}")
    return "  ".join(parts + [f"{name} {values[name]:.4g}" for name in trees if name not in own])


@contextmanager
def without_bars() -> Iterator[None]:
    """Keep Hugging Face from drawing a bar for every file that it reads or writes."""
    was_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        if was_enabled:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


class ProgressReport(TrainerCallback):
    """A bar with the time left on a terminal, a line for each log elsewhere.

    ``metric`` is the dev score to show.
    """

    def __init__(self, console: Console | None = None, metric: str = "loss") -> None:
        self.metric = metric
        self.score: float | None = None  # of the last evaluation
        self.right_trees: dict[str, float] = {}
        self.console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self.bar = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            # Only this column is shortened to fit the terminal.
            TextColumn(
                "{task.fields[terms]}",
                table_column=Column(ratio=1, overflow="ellipsis", no_wrap=True),
            ),
            console=self.console,
            expand=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("training", total=None, terms="")
        self.began, self.first_step = 0.0, 0

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.console.print(line, markup=False)

    def track(self, items: Sequence[T], description: str) -> Iterator[T]:
        """Iterate with a bar, or with a line at the beginning and every minute."""
        task = self.bar.add_task(description, total=len(items), terms="")
        began = said = time.monotonic()
        if not self.console.is_terminal:
            self.say(description)
        for done, item in enumerate(items, 1):
            yield item
            self.bar.update(task, completed=done)
            now = time.monotonic()
            if not self.console.is_terminal and now - said >= SECONDS_BETWEEN_LINES:
                left = _clock((now - began) * (len(items) - done) / done)
                self.say(f"{description}: {done}/{len(items)}  left {left}")
                said = now
        self.bar.remove_task(task)

    def __enter__(self) -> ProgressReport:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def on_train_begin(self, args: Any, state: TrainerState, *_: Any, **__: Any) -> None:
        self.began, self.first_step = time.monotonic(), state.global_step
        self.bar.update(self.task, total=state.max_steps, completed=state.global_step)
        self.bar.start()

    def on_step_end(self, args: Any, state: TrainerState, *_: Any, **__: Any) -> None:
        self.bar.update(self.task, completed=state.global_step)

    def on_log(self, args: Any, state: TrainerState, *_: Any, **__: Any) -> None:
        logs = state.log_history[-1]
        step = f"step {state.global_step}/{state.max_steps}"
        if any(name.startswith(DEV) for name in logs):
            values = {name.removeprefix(DEV): value for name, value in logs.items()}
            self.score = values.get(self.metric)
            right = TREE_STATISTICS[0]
            self.right_trees = {right: values[right]} if right in values else {}
            self.say(f"{step}  dev  {figures(values, self.metric)}  left {self._time_left(state)}")
            return
        shown = figures({**logs, **self.right_trees}, self.metric, self.score)
        if self.console.is_terminal:
            self.bar.update(self.task, terms=shown)
        else:
            self.say(f"{step}  {shown}  left {self._time_left(state)}")

    def on_train_end(self, *_: Any, **__: Any) -> None:
        self.bar.stop()

    def _time_left(self, state: TrainerState) -> str:
        done = max(1, state.global_step - self.first_step)
        steps = state.max_steps - state.global_step
        return _clock((time.monotonic() - self.began) * steps / done)


def _clock(seconds: float) -> str:
    hours, minutes = divmod(round(seconds) // 60, 60)
    return f"{hours}:{minutes:02}:{round(seconds) % 60:02}"


class MetricsFile(TrainerCallback):
    """One line of JSON for each log; lines after the checkpoint of a killed run are dropped."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / METRICS_FILE

    def on_train_begin(self, args: Any, state: TrainerState, *_: Any, **__: Any) -> None:
        lines = [json.dumps(entry, sort_keys=True) + "\n" for entry in state.log_history]
        self.path.write_text("".join(lines), encoding="utf-8")

    def on_log(self, args: Any, state: TrainerState, *_: Any, **__: Any) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(state.log_history[-1], sort_keys=True) + "\n")


class AtFirstStep(TrainerCallback):
    """Calls a function once, when a checkpoint has been read and the first step begins."""

    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        if self.action is not None:
            self.action()
        self.action = None


class LogBeforeSaving(TrainerCallback):
    """Logs with every checkpoint: no mean spans one, so a resumed run logs the same."""

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        control.should_log |= control.should_save or control.should_evaluate
        return control


class EarlyStopping(EarlyStoppingCallback):
    """Hugging Face's, without a warning about a setting that is not used here."""

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        pass


class TrainingInterrupted(KeyboardInterrupt):
    """Training was stopped by a signal after it had saved a checkpoint."""

    def __init__(self, message: str, number: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.status = 128 + number  # the exit status that a shell expects


class StopOnSignal(TrainerCallback):
    """On Ctrl-C or SIGTERM: end the step, save, stop. A second Ctrl-C stops at once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.number = say, 0  # number of the signal
        self.previous: dict[int, Any] = {}

    @property
    def is_asked(self) -> bool:
        """Return whether there was a signal."""
        return self.number > 0

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is threading.main_thread():  # others cannot handle signals
            for number in (signal.SIGINT, signal.SIGTERM):
                self.previous[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None
    ) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self.is_asked:
            self.say("stopping: this step will be finished and saved (Ctrl-C again: at once)")
        self.number = max(number, self.number)

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        if args.world_size > 1:  # a signal reaches processes at different steps: they must agree
            asked = torch.tensor(self.number, device=args.device)
            torch.distributed.all_reduce(asked, torch.distributed.ReduceOp.MAX)
            self.number = int(asked)
        if self.is_asked:
            control.should_save = control.should_training_stop = True
        return control


def tensorboard(directory: Path, step: int | None) -> TrainerCallback:
    """Write curves for TensorBoard; those after the checkpoint of a killed run are dropped.

    ``step`` is that of the checkpoint; without one, everything is dropped.
    """
    purged = 0 if step is None else step + 1  # and everything after it
    writer = SummaryWriter(str(directory / "tensorboard"), purge_step=purged)
    return TensorBoardCallback(writer)  # type: ignore[no-untyped-call]
