"""Settings of a task's runs: one file for all systems, and what each system changes in it.

The file is one of ``btg train`` with three more entries. ``systems`` has changes for single
systems, ``pretraining`` those for learning phrase pairs before sentences, and ``dev_sentences`` is
the number of sentences to choose by, the first of the dev set:

    systems:
      recombined: {recombination.start: 1500}
    pretraining: {optimisation.steps: 1000}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from btg_seq2seq.checks import whole
from btg_seq2seq.errors import UsageError, UserError
from btg_seq2seq.evaluation import metrics  # noqa: F401  makes the names of metrics known
from btg_seq2seq.options.yaml_file import YamlFile
from btg_seq2seq.tasks.reproduction.results import differences
from btg_seq2seq.tasks.systems import PLAIN, SYSTEMS, System
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.training.settings.config import (
    REPLACED,
    TrainConfig,
    config_of,
    known_fields,
)

CONFIGS = "configs"
PRETRAINING, DEV_SENTENCES, DATA = "pretraining", "dev_sentences", "data"
COLLECTIONS = 5  # times that recombination collects derivations, unless the file says otherwise


def packaged_config(task: Task) -> Path:
    """Path of the settings that the package has for a task."""
    if task.config is None:
        raise UserError(f"{task.name} has no settings of its own: give a file with --config")
    return Path(str(files("btg_seq2seq.tasks") / CONFIGS / task.config))


class TaskSettings:
    """Training settings of every system on a task, from one file."""

    def __init__(self, path: str | Path, changes: Mapping[str, Any] | None = None) -> None:
        known = [
            *known_fields(),
            PRETRAINING,
            DEV_SENTENCES,
            *(f"systems.{name}" for name in SYSTEMS),
        ]
        try:
            self.file = YamlFile(path, known, REPLACED)
        except UsageError as error:  # for command lines only
            raise UserError(str(error)) from error
        self.systems = self._changes("systems", self.file.values.pop("systems", None) or {})
        own = {PRETRAINING: self.file.values.pop(PRETRAINING, None) or {}}
        self.pretraining = self._changes("", own)[PRETRAINING]
        self.changes = dict(changes or {})
        self.dev_sentences: int | None = self.file.values.pop(DEV_SENTENCES, None)
        if self.dev_sentences is not None:
            try:
                whole(DEV_SENTENCES, self.dev_sentences, 1)
            except UserError as error:
                raise UserError(f"{self.file.place(DEV_SENTENCES)}: {error}") from error

    def _changes(self, section: str, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        for name, changes in values.items():
            key = f"{section}.{name}" if section else name
            if changes is not None and not isinstance(changes, dict):
                raise UserError(
                    f"{self.file.place(key)}: {key} must be fields and values, such as "
                    "{optimisation.steps: 1000}"
                )
        return {name: dict(changes or {}) for name, changes in values.items()}

    def train(self, system: System, seed: int, output: Path) -> TrainConfig:
        """Settings of a system."""
        changes = {**system.changes, "seed": seed}
        if system.recombines_from is not None:
            steps = self._config({}, output).optimisation.steps
            changes["recombination.start"] = round(steps * system.recombines_from)
            rest = steps - changes["recombination.start"]
            changes["recombination.every"] = max(1, rest // COLLECTIONS)
        return self._config({**changes, **self.systems.get(system.name, {})}, output)

    def pretrain(self, system: System, seed: int, output: Path) -> TrainConfig:
        """Settings for learning the phrase pairs of a system as if they were sentences.

        There are no trees and no dev set.
        """
        changes = {**system.changes, **self.systems.get(system.name, {}), **PLAIN, "seed": seed}
        changes |= {"optimisation.metric": "loss", "optimisation.patience": None}
        return self._config({**changes, "optimisation.final": "last", **self.pretraining}, output)

    def recorded(self, system: System, seed: int) -> dict[str, Any]:
        """All settings that a result depends on, for JSON."""
        found: dict[str, Any] = {"config": recorded(self.train(system, seed, Path()))}
        if system.phrase_pairs is not None:
            found[PRETRAINING] = recorded(self.pretrain(system, seed, Path()))
        return {**found, DEV_SENTENCES: self.dev_sentences}

    def _config(self, changes: Mapping[str, Any], output: Path) -> TrainConfig:
        merged = {**self.changes, **changes}
        arguments = [f"--{name}={_written(value)}" for name, value in merged.items()]
        return config_of(self.file, [*arguments, f"--output={output}"])


def _written(value: Any) -> str:
    """Write a value as on a command line."""
    return value if isinstance(value, str) else json.dumps(value)


def recorded(config: TrainConfig) -> dict[str, Any]:
    """All settings of a run that are the same on every machine: no paths."""
    values = asdict(config)
    values.pop("output")
    values.pop("threads")
    values["data"] = {
        name: values["data"][name] for name in ("max_pairs", "max_length", "too_long")
    }
    values["model"].pop("init_from")
    values["tokenizer"].pop("path")
    result: dict[str, Any] = json.loads(json.dumps(values))
    return result


def completed(found: Mapping[str, Any]) -> dict[str, Any]:
    """Add settings that did not exist when a result was written: they have their defaults."""
    result = dict(found)
    for name, default in recorded(TrainConfig("")).items():
        if isinstance(default, dict):
            result[name] = default | result.get(name, {})
        else:
            result.setdefault(name, default)
    return result


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Describe settings, and checksums of data, that differ from those of a run or result.

    Older results have only the settings of training; what they lack is not compared.
    """
    found = differences(completed(before["config"]), now["config"])
    if PRETRAINING in before and PRETRAINING in now:
        found += differences(completed(before[PRETRAINING]), now[PRETRAINING], f"{PRETRAINING}.")
    if DEV_SENTENCES in before:
        was, is_now = ({DEV_SENTENCES: one[DEV_SENTENCES]} for one in (before, now))
        found += differences(was, is_now)
    if DATA in before:
        found += differences(before[DATA], now[DATA], "the checksum of ")
    return found
