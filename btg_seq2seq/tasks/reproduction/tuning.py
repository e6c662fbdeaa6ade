"""Decoding settings of a run, chosen on the dev set by ``btg tune`` and kept beside the model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from btg_seq2seq.derivations.lexical.teacher import Track, untracked
from btg_seq2seq.evaluation.metrics import METRICS, MetricOptions
from btg_seq2seq.tasks.task import Task
from btg_seq2seq.text import Bitext
from btg_seq2seq.translation.translator import TranslationMode, Translator
from btg_seq2seq.tuning.model_files import attach_tables, estimate_tables, save_tuned
from btg_seq2seq.tuning.tune import tune

MODES: tuple[TranslationMode, ...] = ("flat", "cky", "rescored")


def modes_of(has_grammar: bool) -> Sequence[TranslationMode]:
    """Return the modes that a system is tested in."""
    return MODES if has_grammar else MODES[:1]


def add_tables(translator: Translator, model: Path, sentences: Bitext, track: Track) -> None:
    """Give every system the word-translation tables of the training text, for lexical features."""
    if translator.tables is None:
        source, target = sentences.source, sentences.target
        translator.tables = estimate_tables(translator, source, target, track)
        attach_tables(model, translator.tables)


def tune_mode(
    translator: Translator,
    model: Path,
    dev: Bitext,
    mode: TranslationMode,
    task: Task,
    say: Callable[[str], None] = lambda line: None,
    track: Track = untracked,
) -> None:
    """Choose the settings of a mode, unless that was done before, and save them with the model."""
    if mode in translator.tuned.modes:
        return
    say(f"tuning {mode} on {len(dev)} dev sentences")
    result = tune(
        translator,
        dev.source,
        dev.target,
        modes=[mode],
        metric=task.metric,
        options=MetricOptions(task.tokenize),
        track=track,
    )
    save_tuned(model, result.tuned)
    found = result.modes[-1]
    title = METRICS[task.metric].title
    say(f"dev, {mode}: {title} {found.before:.2f}, tuned {found.after:.2f}")


def tuned_values(translator: Translator, mode: TranslationMode, task: Task) -> dict[str, Any]:
    """Describe what was chosen for a mode, and its dev score, as JSON."""
    content = json.loads(translator.tuned.to_text())
    report = content["reports"][mode]
    return {
        "settings": content["modes"][mode],
        "dev": {task.metric: report["after"]},
        "dev_untuned": {task.metric: report["before"]},
    }
