"""A task: its data, the metric it is scored by, and the paper's results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from btg_seq2seq.tasks.data_files import DataFile, check_files
from btg_seq2seq.text import Bitext

Bitexts = dict[str, Bitext]  # train, dev and test, and perhaps further test sets


class Judgement(Protocol):
    """A verdict on every line of a test set, and percentages made of them."""

    @property
    def right(self) -> list[bool]:
        """One verdict per line."""

    @property
    def values(self) -> dict[str, float]:
        """Percentages by name; the first is that of the lines that are right."""


Judge = Callable[[Sequence[str]], Judgement]
"""Judges the translations of a test set."""


@dataclass(frozen=True)
class Task:
    """An entry of ``registry.TASKS``.

    Args:
        name: name of the task, and of the split if it has several.
        description: one line for people.
        make: returns the three sets, given a directory with the task's files and a seed; a
            generated task ignores the directory, a task with fixed data the seed.
        files: files that must be in the directory, with line counts and checksums where they are
            fixed.
        metric: name of the metric that results are reported in, an entry of ``METRICS``.
        config: settings for ``btg reproduce``, a file in ``tasks/configs``.
        changes: settings that differ from the file's, where tasks share one.
        paper: results of the paper in this metric, by system.
        paper_table: the table of the paper that has them, and what differs there.
        tokenize: sacreBLEU's tokenizer for BLEU; ``None`` chooses it by the references' script.
        origin: where to get the data, in one line.
        preprocessing: what was done, or must be done, to the texts.
        reported_in: page of ``docs`` with results that were not measured by ``btg reproduce``.
        judges: for further test sets, functions from the directory to a judge of translations.
    """

    name: str
    description: str
    make: Callable[[Path, int], Bitexts]
    files: tuple[DataFile | str, ...] = ()
    metric: str = "bleu"
    config: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    paper: Mapping[str, float] = field(default_factory=dict)
    paper_table: str = ""
    tokenize: str | None = None
    origin: str = ""
    preprocessing: str = "none"
    reported_in: str = ""
    judges: Mapping[str, Callable[[Path], Judge]] = field(default_factory=dict)

    def bitexts(
        self, directory: str | Path = ".", seed: int = 0, *, unchecked: bool = False
    ) -> Bitexts:
        """Read or generate the sets ``train``, ``dev`` and ``test``.

        ``unchecked`` accepts files with other line counts and checksums, but no missing ones.
        """
        self.check(directory, unchecked=unchecked)
        return self.make(Path(directory), seed)

    def check(self, directory: str | Path, *, unchecked: bool = False) -> None:
        """Refuse a directory whose files are not those of the task, with everything amiss."""
        check_files(self.name, Path(directory), self.files, self.origin, unchecked)
