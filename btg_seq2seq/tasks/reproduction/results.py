"""Results of runs as JSON: one file per task, system and seed, complete or not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from btg_seq2seq.errors import UserError
from btg_seq2seq.opening import read_json
from btg_seq2seq.tasks.systems import System
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.text import write_lines

FORMAT = 1
NEEDED = ("task", "system", "seed", "steps", "parameters", "cpu_seconds", "config", "modes")


@dataclass(frozen=True)
class Job:
    """A run to do."""

    task: Task
    system: System
    seed: int

    @property
    def name(self) -> str:
        """Name of its files."""
        return f"{self.system.name}-{self.seed}"

    def __str__(self) -> str:
        return f"{self.task.name} {self.name}"

    def directory(self, output: Path) -> Path:
        """Directory of the run."""
        return output / self.task.name / self.name

    def result(self, results: Path) -> Path:
        """File of the result."""
        return results / self.task.name / f"{self.name}.json"


def write_result(path: Path, result: dict[str, Any]) -> None:
    """Write a result."""
    text = json.dumps({"format": FORMAT, **result}, indent=1, ensure_ascii=False)
    write_lines(path, text.split("\n"))


def read_result(path: Path) -> dict[str, Any]:
    """Read a result; refuse a file that is none."""
    result = read_json(path)
    missing = [name for name in NEEDED if name not in result]
    if missing or result.get("format") != FORMAT:
        raise UserError(
            f"{path} is no result of btg reproduce: "
            + (f"it lacks {', '.join(missing)}" if missing else f"its format is not {FORMAT}")
        )
    return result


def read_results(directory: Path, task: Task) -> Iterator[dict[str, Any]]:
    """Read all results of a task, ordered by name."""
    for path in sorted((directory / task.name).glob("*.json")):
        yield read_result(path)


def differences(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """Describe settings that differ: ``"optimisation.steps was 10, is now 20"``."""
    found = []
    for name in sorted(before.keys() | now.keys()):
        was, is_now = before.get(name), now.get(name)
        if isinstance(was, dict) and isinstance(is_now, dict):
            found += differences(was, is_now, f"{prefix}{name}.")
        elif was != is_now:
            found.append(f"{prefix}{name} was {was}, is now {is_now}")
    return found
