"""A training run from its settings to a finished model: called by ``btg train`` and the demo.

Reads the data, builds tokenizer, model and trainer, trains, and writes the final model to the
directory of the settings. A run that ended early is resumed from its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainerState, set_seed

from btg_seq2seq.errors import UserError
from btg_seq2seq.opening import read_json
from btg_seq2seq.recombination.collect import Track, untracked
from btg_seq2seq.training.bfloat16 import warn_if_slow
from btg_seq2seq.training.build_trainer import build_trainer
from btg_seq2seq.training.data import Bitexts
from btg_seq2seq.training.files.checkpoints import Checkpoints, readable
from btg_seq2seq.training.files.directory import check_directory, prepare_directory
from btg_seq2seq.training.files.environment import environment, write_environment
from btg_seq2seq.training.files.lock import locked
from btg_seq2seq.training.finish import TrainResult, finish
from btg_seq2seq.training.loop.arguments import check_processes, training_arguments, wait
from btg_seq2seq.training.loop.follow_parsers import FollowParsers
from btg_seq2seq.training.loop.progress import (
    AtFirstStep,
    EarlyStopping,
    LogBeforeSaving,
    MetricsFile,
    ProgressReport,
    StopOnSignal,
    TrainingInterrupted,
    tensorboard,
    without_bars,
)
from btg_seq2seq.training.loop.show_examples import Examples, ShowExamples
from btg_seq2seq.training.loop.trainer import STATE_FILE, BTGTrainer, Metrics
from btg_seq2seq.training.settings.config import TrainConfig
from btg_seq2seq.training.settings.measures import measured_by_training

__all__ = ["TrainResult", "train"]


def train(
    config: TrainConfig,
    *,
    bitexts: Bitexts | None = None,
    metrics: Metrics | None = None,
    examples: Examples | None = None,
    callbacks: Iterable[TrainerCallback] = (),
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
) -> TrainResult:
    """Train a model.

    Args:
        config: the settings.
        bitexts: data in memory; by default, the files of the settings are read.
        metrics: measures the model on the dev set, beside its loss: ``DevMetrics`` of
            ``btg_seq2seq.evaluation.dev_metrics``, or your own.
        examples: translates dev sentences to be shown and saved at each evaluation:
            ``DevExamples`` of ``btg_seq2seq.evaluation.dev_examples``, or your own.
        callbacks: more callbacks of Hugging Face's trainer.
        resume: continue the run in the directory, if there is one.
        overwrite: remove the run in the directory.
        quiet: show no progress and no report.
    """
    _check_metric(config, metrics)
    directory = Path(config.output)
    bitexts = Bitexts.from_files(config.data) if bitexts is None else bitexts
    if config.recombination.start is not None:
        bitexts = bitexts.excluding(config.recombination.exclude)
    arguments = training_arguments(config, bitexts.dev is not None)
    is_main = arguments.process_index == 0
    with ExitStack() as stack:
        stack.enter_context(without_bars())
        progress = None
        if is_main and not quiet:
            progress = stack.enter_context(ProgressReport(metric=config.optimisation.metric))
        say: Callable[[str], None] = progress.say if progress else lambda line: None
        track: Track = progress.track if progress else untracked
        if is_main:
            stack.enter_context(locked(directory, say))
            check_directory(directory, config, bitexts, resume, overwrite)
        wait(arguments)  # until the first process has checked the files that all will read
        last = Checkpoints(directory).verify_last() if resume and not overwrite else None
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        if progress is not None and arguments.bf16 and arguments.device.type == "cpu":
            warn_if_slow(say)
        # Probabilities that sharpen to almost nothing would make every step several times slower.
        torch.set_flush_denormal(True)
        stack.callback(torch.set_flush_denormal, False)  # it is a state of the whole thread

        if last is not None:
            check_processes(last, arguments)
        trainer = build_trainer(config, arguments, bitexts, metrics, last, say, track)
        trainer.get_train_dataloader()  # raises an error if batches are too small
        wait(arguments)
        state = None if last is None else _load_state(last)

        def begin() -> None:
            prepare_directory(directory, config, bitexts, overwrite)
            trainer.add_callback(tensorboard(directory, state.global_step if state else None))
            described = environment(arguments.device, arguments.world_size)
            write_environment(directory, state.global_step if state else 0, described)

        # Not earlier: settings that do not work, or a checkpoint that cannot be read, must not
        # cost the old run.
        if is_main and state is None:
            begin()
        elif is_main:
            trainer.add_callback(AtFirstStep(begin))
        wait(arguments)
        stop = StopOnSignal(say)
        for callback in [stop, FollowParsers(), LogBeforeSaving(), *callbacks]:
            trainer.add_callback(callback)
        if config.optimisation.patience is not None:
            trainer.add_callback(EarlyStopping(config.optimisation.patience))
        if is_main:
            trainer.add_callback(MetricsFile(directory))
        if progress is not None:
            trainer.add_callback(progress)
        if is_main and examples is not None and trainer.dev is not None:
            dev, tokenizer = trainer.dev, trainer.tokenizer
            trainer.add_callback(ShowExamples(examples, tokenizer, dev, say, directory))

        if state is not None and _is_complete(state, config):
            say(f"all steps were done before, up to step {state.global_step}")
            trainer.state = state
            if trainer.recombined is not None and last is not None:
                trainer.recombined.load(last)
        else:
            if last is not None:
                say(f"resuming from {last}")
            elif resume:
                say(f"there is nothing to resume in {directory}: a new run begins")
            _train(trainer, config, stop, last)
        return finish(trainer, config, say)


def _check_metric(config: TrainConfig, metrics: Metrics | None) -> None:
    metric = config.optimisation.metric
    if metrics is None and not measured_by_training(metric):
        raise UserError(
            f"optimisation.metric is {metric}, which the trainer does not measure itself: give "
            "train() metrics=btg_seq2seq.evaluation.dev_metrics.DevMetrics(sentences), or choose "
            "loss"
        )


def _train(trainer: BTGTrainer, config: TrainConfig, stop: StopOnSignal, last: Path | None) -> None:
    """Train until the end, or until a signal arrives."""
    set_seed(config.seed + trainer.args.process_index)  # dropout differs between processes
    with stop:
        trainer.train(resume_from_checkpoint=None if last is None else str(last))
    if stop.is_asked and not _is_complete(trainer.state, config):
        raise TrainingInterrupted(
            f"stopped at step {trainer.state.global_step}; saved in {trainer.checkpoints.last}; "
            "the same command with --resume goes on from there",
            stop.number,
        )


def _load_state(checkpoint: Path) -> TrainerState:
    """Read the state of a run when it wrote a checkpoint."""
    path = checkpoint / STATE_FILE
    read_json(path)  # raises an error unless it is an object
    with readable(path):
        state: TrainerState = TrainerState.load_from_json(str(path))
    return state


def _is_complete(state: TrainerState, config: TrainConfig) -> bool:
    """Return whether only the final model is left to be written."""
    callbacks: Any = state.stateful_callbacks
    stopping = callbacks.get(EarlyStopping.__name__)
    patience = config.optimisation.patience
    waited = stopping["attributes"]["early_stopping_patience_counter"] if stopping else 0
    is_stopped = patience is not None and waited >= patience
    return state.global_step >= config.optimisation.steps or is_stopped
