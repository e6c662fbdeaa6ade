"""A task: its data, the metric it is scored by, and the paper's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from btg_seq2seq.errors import UserError
from btg_seq2seq.text import Bitext

Bitexts = dict[str, Bitext]  # train, dev and test


@dataclass(frozen=True)
class Task:
    """An entry of ``registry.TASKS``.

    Args:
        name: name of the task, and of the split if it has several.
        description: one line for people.
        make: returns the three sets, given a directory with the task's files and a seed; a
            generated task ignores the directory, a task with fixed data the seed.
        files: names of files that must be in the directory.
        metric: name of the metric that results are reported in, an entry of ``METRICS``.
        config: settings for ``btg train``, a file of this repository.
        paper: results of the paper in this metric, by system.
    """

    name: str
    description: str
    make: Callable[[Path, int], Bitexts]
    files: tuple[str, ...] = ()
    metric: str = "bleu"
    config: str | None = None
    paper: Mapping[str, float] = field(default_factory=dict)

    def bitexts(self, directory: str | Path = ".", seed: int = 0) -> Bitexts:
        """Read or generate the sets ``train``, ``dev`` and ``test``."""
        missing = [name for name in self.files if not (Path(directory) / name).is_file()]
        if missing:
            raise UserError(f"{self.name} needs files that {directory} lacks: {', '.join(missing)}")
        return self.make(Path(directory), seed)
