"""CPU time of a run, added up over the pieces in which it was done."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from btg_seq2seq.errors import UserError
from btg_seq2seq.opening import read_json
from btg_seq2seq.text import write_lines


class Stopwatch:
    """CPU seconds by stage, all threads together, kept in a file.

    Work that an interruption has lost, after the last checkpoint, is not counted: the figures are
    those of a run without interruptions, plus the time to start again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seconds: dict[str, float] = {}
        if path.exists():
            values = read_json(path)
            if not all(isinstance(value, int | float) for value in values.values()):
                raise UserError(f"{path}: it should have CPU seconds by stage; remove the run")
            self.seconds = {stage: float(value) for stage, value in values.items()}

    @contextmanager
    def stage(self, name: str) -> Iterator[Lap]:
        """Measure a stage, which may have begun in an earlier process."""
        lap = Lap(self, name)
        yield lap
        lap.save()

    def save(self) -> None:
        """Write the file."""
        write_lines(self.path, [json.dumps(self.seconds)])


class Lap(TrainerCallback):
    """A stage that is being measured; as a trainer's callback it saves with every checkpoint."""

    def __init__(self, watch: Stopwatch, stage: str) -> None:
        self.watch, self.stage = watch, stage
        self.before = watch.seconds.get(stage, 0.0)
        self.began = time.process_time()

    def save(self) -> None:
        """Add the time until now to what earlier processes have used."""
        self.watch.seconds[self.stage] = self.before + time.process_time() - self.began
        self.watch.save()

    def on_save(self, *_: Any, **__: Any) -> None:
        self.save()
