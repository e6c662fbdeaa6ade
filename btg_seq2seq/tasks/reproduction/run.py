"""One run: a system learns a task, is tuned on dev, and only then translates the test sets.

Every stage leaves its result in the directory of the run, so the same command goes on after an
interruption: training from its last checkpoint, translation from its last slice.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import btg_seq2seq.tasks.reproduction.settings as task_settings
from btg_seq2seq.derivations.lexical.teacher import Track, untracked
from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.dev_examples import DevExamples
from btg_seq2seq.evaluation.dev_metrics import DevMetrics
from btg_seq2seq.evaluation.metrics import MetricOptions, text_scores
from btg_seq2seq.opening import read_json
from btg_seq2seq.tasks.reproduction.comparing import TRANSLATIONS, translation_file
from btg_seq2seq.tasks.reproduction.pretraining import TOKENIZER, continued, pretrain
from btg_seq2seq.tasks.reproduction.results import Job, read_result, write_result
from btg_seq2seq.tasks.reproduction.stopwatch import Stopwatch
from btg_seq2seq.tasks.reproduction.translating import translated
from btg_seq2seq.tasks.reproduction.tuning import (
    MODES,
    add_tables,
    modes_of,
    tune_mode,
    tuned_values,
)
from btg_seq2seq.tasks.task import Bitexts
from btg_seq2seq.text import write_lines
from btg_seq2seq.training.data import Bitexts as TrainingBitexts
from btg_seq2seq.training.data import checksum, first_pairs
from btg_seq2seq.training.files.environment import timing_facts
from btg_seq2seq.training.files.lock import locked
from btg_seq2seq.training.run import train
from btg_seq2seq.training.settings.config import TrainConfig
from btg_seq2seq.translation.translator import TranslationMode, Translator

MODEL, TIMES = "model", "cpu.json"
BEGUN, PRETRAINED, TRAINED = "settings.json", "pretrained.json", "trained.json"
OWN = (
    *(BEGUN, PRETRAINED, TRAINED, TIMES),
    *(TOKENIZER, MODEL, task_settings.PRETRAINING, TRANSLATIONS),
)
REMOVED = ".removed"  # parts of a run that is being removed; while it exists, the rest must go too


@dataclass(frozen=True)
class Place:
    """Inputs and outputs of all runs of a command.

    ``modes`` are those that systems with a grammar are tuned for and tested in.
    """

    data: Path
    output: Path
    results: Path
    settings: task_settings.TaskSettings
    unchecked: bool = False
    quiet: bool = False
    say: Callable[[str], None] = lambda line: None
    track: Track = untracked
    modes: Collection[TranslationMode] = MODES


def is_done(job: Job, place: Place) -> bool:
    """Tell whether there is a result in all modes; refuse one of other settings."""
    path = job.result(place.results)
    if not path.exists():
        return False
    result = read_result(path)
    _refuse_changes(path, "result", result, _described(job, place, _sets(job, place)))
    return all(mode in result["modes"] for mode in _modes(job, place))


def _modes(job: Job, place: Place) -> list[TranslationMode]:
    return [mode for mode in modes_of(job.system.has_grammar) if mode in place.modes]


def _sets(job: Job, place: Place) -> Bitexts:
    return job.task.bitexts(place.data, job.seed, unchecked=place.unchecked)


def _described(job: Job, place: Place, sets: Bitexts) -> dict[str, Any]:
    """All that a result depends on: the settings of a run, and the texts of all sets."""
    sums = {name: checksum([*pairs.source, *pairs.target]) for name, pairs in sets.items()}
    return {**place.settings.recorded(job.system, job.seed), task_settings.DATA: sums}


def _refuse_changes(path: Path, kind: str, before: dict[str, Any], now: dict[str, Any]) -> None:
    changed = task_settings.changed_settings(before, now)
    if changed:
        raise UserError(
            f"{path} is a {kind} with other settings or data ({'; '.join(changed)}): go back to "
            "them, choose another --output, or replace it with --overwrite"
        )


def remove(job: Job, place: Place) -> None:
    """Remove a run and its result, so that it starts again."""
    directory = job.directory(place.output)
    with locked(directory, place.say):
        job.result(place.results).unlink(missing_ok=True)
        _clear(directory)


def run(job: Job, place: Place) -> None:
    """Do what is missing of a run, and write its result."""
    directory = job.directory(place.output)
    with locked(directory, place.say):
        if (directory / REMOVED).exists():
            _clear(directory)
        sets = _sets(job, place)
        settings = _described(job, place, sets)
        _begin(directory, settings)
        sets["dev"] = first_pairs(sets["dev"], place.settings.dev_sentences or len(sets["dev"]))
        watch = Stopwatch(directory / TIMES)
        config = place.settings.train(job.system, job.seed, directory / MODEL)
        if not (directory / TRAINED).exists():
            trained = {**settings, **_trained(job, place, config, sets, watch)}
            write_lines(directory / TRAINED, [json.dumps(trained)])
        trained = read_json(directory / TRAINED)
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        modes = _tuned(job, place, sets, watch)
        write_result(job.result(place.results), _result(job, place, sets, trained, modes, watch))


def _begin(directory: Path, settings: dict[str, Any]) -> None:
    """Write the settings of a run; refuse to go on with others than those that it began with."""
    for path in (directory / BEGUN, directory / TRAINED):  # older runs have the second alone
        if path.exists():
            _refuse_changes(directory, "run", read_json(path), settings)
    write_lines(directory / BEGUN, [json.dumps(settings)])


def _trained(
    job: Job, place: Place, config: TrainConfig, sets: Bitexts, watch: Stopwatch
) -> dict[str, Any]:
    """Train the model of a run, or go on."""
    facts: dict[str, Any] = {"pretraining_steps": 0, **timing_facts(config.threads)}
    method = job.system.phrase_pairs
    if method is not None:
        directory = job.directory(place.output) / task_settings.PRETRAINING
        before = place.settings.pretrain(job.system, job.seed, directory)
        done = job.directory(place.output) / PRETRAINED
        if not done.exists():
            count = pretrain(
                before,
                method,
                sets["train"],
                watch,
                quiet=place.quiet,
                say=place.say,
            )
            write_lines(done, [json.dumps({"phrase_pairs": count})])
        facts |= read_json(done)
        facts["pretraining_steps"] = before.optimisation.steps
        config = continued(config, directory)
    # Recombination must not make a sentence of any set that is chosen by or tested on.
    held_out = [text for name, pairs in sets.items() if name != "train" for text in pairs.source]
    optimisation = config.optimisation
    with watch.stage("training") as lap:
        result = train(
            config,
            bitexts=TrainingBitexts(sets["train"], sets["dev"], held_out),
            metrics=DevMetrics(optimisation.translate_dev, optimisation.bleu_tokenizer),
            examples=DevExamples(),
            callbacks=[lap],
            resume=True,
            quiet=place.quiet,
        )
    model = result.model
    facts |= {"steps": result.steps, "kept_steps": result.averaged_steps}
    facts["parameters"] = {
        "model": sum(each.numel() for each in model.parameters()),
        "seq2seq": sum(each.numel() for each in model.backbone.parameters()),
    }
    return facts


def _tuned(job: Job, place: Place, sets: Bitexts, watch: Stopwatch) -> dict[str, Any]:
    """Tune every mode on the dev set; then, and only then, translate and score the test sets."""
    model = job.directory(place.output) / MODEL
    translator = Translator.from_pretrained(model, device=_device())
    result = job.result(place.results)
    before = read_result(result)["modes"] if result.exists() else ()
    wanted = {*_modes(job, place), *before}
    modes = [mode for mode in modes_of(job.system.has_grammar) if mode in wanted]
    with watch.stage("tables"):
        add_tables(translator, model, sets["train"], place.track)
    for mode in modes:
        with watch.stage(f"tuning {mode}"):
            dev = sets["dev"]
            tune_mode(translator, model, dev, mode, job.task, place.say, place.track)
    return {
        mode: {
            **tuned_values(translator, mode, job.task),
            "sets": _tested(job, place, translator, sets, mode, watch),
        }
        for mode in modes
    }


def _tested(
    job: Job,
    place: Place,
    translator: Translator,
    sets: Bitexts,
    mode: TranslationMode,
    watch: Stopwatch,
) -> dict[str, dict[str, Any]]:
    """Translate and score all test sets."""
    found: dict[str, dict[str, Any]] = {}
    for name, pairs in test_sets(sets).items():
        path = translation_file(job.directory(place.output), name, mode)
        with watch.stage(f"translating {mode}") as lap:
            texts = translated(translator, pairs.source, mode, path, place.say, lap.save)
        scores = text_scores(texts, pairs.target, MetricOptions(job.task.tokenize))
        values = {metric: score.value for metric, score in scores.items()}
        if name in job.task.judges:
            values |= job.task.judges[name](place.data)(texts).values
        signatures = {metric: one.signature for metric, one in scores.items() if one.signature}
        found[name] = {"scores": values, "signatures": signatures}
    return found


def test_sets(sets: Bitexts) -> Bitexts:
    """Return all sets except those that are learned from or tuned on."""
    return {name: pairs for name, pairs in sets.items() if name not in ("train", "dev")}


def _result(
    job: Job,
    place: Place,
    sets: Bitexts,
    trained: dict[str, Any],
    modes: dict[str, Any],
    watch: Stopwatch,
) -> dict[str, Any]:
    from btg_seq2seq import __version__

    seconds = {stage: round(value, 1) for stage, value in watch.seconds.items()}
    return {
        "task": job.task.name,
        "system": job.system.name,
        "seed": job.seed,
        "version": __version__,
        "torch": torch.__version__.partition("+")[0],
        "unchecked": place.unchecked,
        "sentences": {name: len(pairs) for name, pairs in sets.items()},
        **trained,
        "cpu_seconds": seconds,
        "modes": modes,
    }


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _clear(directory: Path) -> None:
    """Remove all that a run has made, and nothing else that is in its directory.

    Files are moved aside first. When this is interrupted, what was moved shows that the rest
    belongs to the removed run, too.
    """
    removed = directory / REMOVED
    removed.mkdir(exist_ok=True)
    for name in OWN:
        path = directory / name
        if path.exists() or path.is_symlink():
            _delete(removed / name)
            path.rename(removed / name)
    for path in removed.iterdir():
        _delete(path)
    removed.rmdir()


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
