"""The files of a training run, read for a report: whatever is there, however the run ended.

Files may be half written, damaged or made up. What cannot be read is left out and noted. Nothing is
loaded that could be executed, and no torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from btg_seq2seq.errors import UserError
from btg_seq2seq.manifest import MANIFEST_FILE
from btg_seq2seq.options.yaml_file import Loader
from btg_seq2seq.training.files.names import (
    DATA_FILE,
    DEV,
    ENVIRONMENT_FILE,
    EXAMPLES_FILE,
    METRICS_FILE,
)
from btg_seq2seq.training.settings.config import CONFIG_FILE
from btg_seq2seq.translation.translation import Translation

LARGEST_FILE = 256_000_000  # bytes
LARGEST_SETTINGS = 1_000_000
MOST_TERMS = 80
LONGEST_NAME = 60  # characters of a term
NO_TERMS = {"step", "epoch"}

Curve = list[tuple[int, float]]  # steps and values, in the order of the steps


@dataclass(frozen=True)
class Example:
    """A dev sentence as it was translated at a step."""

    step: int
    number: int
    mode: str
    reference: str
    translation: Translation


@dataclass
class RunFiles:
    """Everything that the files of a run say.

    Args:
        directory: of the run.
        name: in the report.
        train: curves by term, of the training set.
        dev: the same of the dev set.
        settings: by name, such as ``model.layers``.
        starts: the environment of each start.
        data: descriptions of the texts.
        examples: dev sentences in the order of the file.
        is_finished: the final model was written.
        problems: what could not be read, for people.
    """

    directory: Path
    name: str = ""
    train: dict[str, Curve] = field(default_factory=dict)
    dev: dict[str, Curve] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    starts: list[dict[str, Any]] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    is_finished: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def last_step(self) -> int:
        """The last step of which anything is known."""
        curves = [*self.train.values(), *self.dev.values()]
        return max((curve[-1][0] for curve in curves if curve), default=0)

    @property
    def planned_steps(self) -> int | None:
        """Steps of the settings."""
        steps = self.settings.get("optimisation.steps")
        return steps if isinstance(steps, int) and steps > 0 else None


def read_run(directory: str | Path) -> RunFiles:
    """Read a run; ``UserError`` if the directory holds none."""
    place = Path(directory)
    if not place.is_dir():
        raise UserError(f"{directory} is no directory; give the directory of a run of btg train")
    if not any((place / name).is_file() for name in (METRICS_FILE, CONFIG_FILE)):
        raise UserError(
            f"{directory} holds no training run: there is neither {METRICS_FILE} nor {CONFIG_FILE}"
        )
    run = RunFiles(place, place.resolve().name)
    run.is_finished = (place / MANIFEST_FILE).is_file()
    _read_metrics(run)
    _read_settings(run)
    run.starts = list(_objects(run, ENVIRONMENT_FILE, needed=False))
    _read_data(run)
    _read_examples(run)
    return run


def read_runs(directories: list[str]) -> list[RunFiles]:
    """Read several runs, and give each a name of its own."""
    runs = [read_run(directory) for directory in directories]
    places = [run.directory.resolve() for run in runs]
    for place in places:
        if places.count(place) > 1:
            raise UserError(f"{place} is given twice")
    for depth in range(1, max(len(place.parts) for place in places) + 1):
        names = ["/".join(place.parts[-depth:]) for place in places]
        if len(set(names)) == len(names):
            break
    for run, name in zip(runs, names, strict=True):
        run.name = name
    return runs


def _read_metrics(run: RunFiles) -> None:
    found: dict[tuple[bool, str], dict[int, float]] = {}
    skipped = set()
    for entry in _objects(run, METRICS_FILE):
        step = entry.get("step")
        if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 10**12:
            continue
        for name, value in entry.items():
            if name in NO_TERMS or isinstance(value, bool) or not isinstance(value, int | float):
                continue
            key = (name.startswith(DEV), name.removeprefix(DEV))
            if key not in found and (len(found) >= MOST_TERMS * 2 or len(name) > LONGEST_NAME):
                skipped.add(name)
            elif math.isfinite(value):
                found.setdefault(key, {})[step] = float(value)
    if skipped:
        run.problems.append(f"{METRICS_FILE}: {len(skipped)} terms more than a report shows")
    for (is_dev, name), values in found.items():
        (run.dev if is_dev else run.train)[name] = sorted(values.items())


def _read_settings(run: RunFiles) -> None:
    text = _text(run, CONFIG_FILE, LARGEST_SETTINGS)
    if text is None:
        return
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader)):
            raise yaml.YAMLError("it has aliases")
        values = yaml.load(text, Loader)
    except (yaml.YAMLError, ValueError, RecursionError):
        run.problems.append(f"{CONFIG_FILE} cannot be read")
        return
    if not isinstance(values, dict):
        run.problems.append(f"{CONFIG_FILE} holds no settings")
        return
    for section, content in values.items():
        if isinstance(content, dict):
            run.settings |= {f"{section}.{name}": value for name, value in content.items()}
        else:
            run.settings[str(section)] = content


def _read_data(run: RunFiles) -> None:
    for described in _objects(run, DATA_FILE, needed=False):
        run.data = {name: str(value) for name, value in described.items()}


def _read_examples(run: RunFiles) -> None:
    damaged = 0
    for entry in _objects(run, EXAMPLES_FILE, needed=False):
        try:
            run.examples.append(_example(entry))
        except (LookupError, TypeError, ValueError, AttributeError):  # UserError is a ValueError
            damaged += 1
    if damaged:
        run.problems.append(f"{EXAMPLES_FILE}: {damaged} examples cannot be read")


def _example(entry: Mapping[str, Any]) -> Example:
    step, number, mode = entry["step"], entry["number"], entry["mode"]
    if type(step) is not int or type(number) is not int or mode not in ("flat", "cky"):
        raise ValueError("step, number or mode is wrong")
    translation = Translation.from_json(entry)
    texts = (entry["reference"], translation.source, translation.text)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is missing")
    return Example(step, number, mode, entry["reference"], translation)


def _objects(run: RunFiles, name: str, *, needed: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines; lines that are none are counted."""
    text = _text(run, name, LARGEST_FILE, needed=needed)
    damaged = 0
    for line in (text or "").split("\n"):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            yield value
        else:
            damaged += 1
    if damaged:
        lines = "1 line" if damaged == 1 else f"{damaged} lines"
        run.problems.append(f"{name}: {lines} cannot be read")


def _text(run: RunFiles, name: str, largest: int, *, needed: bool = True) -> str | None:
    path = run.directory / name
    try:
        if not path.is_file():
            if needed:
                run.problems.append(f"there is no {name}")
            return None
        if path.stat().st_size > largest:
            run.problems.append(f"{name} is too large to be read")
            return None
        return path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        run.problems.append(f"{name} cannot be read: {error.strerror}")
        return None
