"""Decoding settings, chosen on the dev set: the one place where a system is tuned."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from btg_seq2seq.evaluation.metrics import METRICS, MetricOptions
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.text import Bitext
from btg_seq2seq.translation.translator import Translator

Mode = Literal["flat", "cky"]
# Plain probabilities prefer short translations; which ranking is better depends on the model.
CANDIDATES: tuple[dict[str, Any], ...] = ({"length_normalised": False}, {"length_normalised": True})


@dataclass(frozen=True)
class Tuned:
    """Settings of a mode, with their score on the dev set in the task's metric."""

    settings: dict[str, Any]
    score: float


def tune(
    translator: Translator,
    dev: Bitext,
    mode: Mode,
    task: Task,
    say: Callable[[str], None] = lambda line: None,
) -> Tuned:
    """Choose the settings of a mode that translate the dev set best; the first of equal ones."""
    found: list[Tuned] = []
    for candidate in CANDIDATES:
        translations = translator.translate(dev.source, mode, **candidate)
        score = score_of(task, [one.text for one in translations], dev.target)
        say(f"dev, {mode}, {_shown(candidate)}: {METRICS[task.metric].title} {score:.2f}")
        found.append(Tuned(candidate, score))
    sign = 1 if METRICS[task.metric].greater_is_better else -1
    return max(found, key=lambda one: sign * one.score)


def score_of(task: Task, translations: Sequence[str], references: Sequence[str]) -> float:
    """Score translations in the metric of a task."""
    options = MetricOptions(task.tokenize)
    return METRICS[task.metric].compute(translations, references, options).value


def _shown(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name} {json.dumps(value)}" for name, value in settings.items())
