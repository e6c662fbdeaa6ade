"""A training run from its settings to a finished model: what ``btg train`` and the demo call.

Reads the data, makes tokenizer and model, trains, and writes the final model where the settings
say. A run that ended early, however it did, is resumed from its last checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list  # type: ignore[import-untyped]
from transformers import (
    PreTrainedTokenizerBase,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
    set_seed,
)

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.opening import read_json
from btg_seq2seq.recombination.batches import RecombinedBatches
from btg_seq2seq.recombination.collect import Track, untracked
from btg_seq2seq.recombination.recombine import HeldOut
from btg_seq2seq.recombination.slots import continuing_tokens
from btg_seq2seq.text import EncodedBitext, load_tokenizer
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.gold_trees import gold_trees
from btg_seq2seq.training.build import build_model, describe
from btg_seq2seq.training.checkpoints import Checkpoints, average, put_weights
from btg_seq2seq.training.data import (
    Bitexts,
    build_tokenizer,
    encode,
    encoded_pairs,
    length_limit,
    set_languages,
    too_long_for_the_grammar,
)
from btg_seq2seq.training.directory import check_directory, prepare_directory, put_model
from btg_seq2seq.training.lock import locked
from btg_seq2seq.training.objective.objective import BTGObjective
from btg_seq2seq.training.objective.phases import (
    Phase,
    first_taught_step,
    parsers_are_taught,
    phase_at,
)
from btg_seq2seq.training.progress import (
    AtFirstStep,
    EarlyStopping,
    LogBeforeSaving,
    MetricsFile,
    ProgressReport,
    StopOnSignal,
    TrainingInterrupted,
    described,
    tensorboard,
    without_bars,
)
from btg_seq2seq.training.settings.config import TrainConfig
from btg_seq2seq.training.settings.optimisation import TRANSLATIONS, TREES
from btg_seq2seq.training.trainer import (
    STATE_FILE,
    BTGTrainer,
    Metrics,
    check_processes,
    readable,
    training_arguments,
)


@dataclass(frozen=True)
class TrainResult:
    """A finished run: where its model is, and what it has come to."""

    directory: Path
    model: BTGSeq2Seq
    tokenizer: PreTrainedTokenizerBase
    steps: int
    averaged_steps: list[int]  # of the checkpoints that the model is the mean of; often one
    metrics: dict[str, float]  # of the final model on the dev set
    history: list[dict[str, float]]  # everything that was logged
    recombined: dict[str, int] | None = None  # sentences made, and coincidences with excluded ones


def train(
    config: TrainConfig,
    *,
    bitexts: Bitexts | None = None,
    metrics: Metrics | None = None,
    callbacks: Iterable[TrainerCallback] = (),
    resume: bool = False,
    overwrite: bool = False,
    quiet: bool = False,
) -> TrainResult:
    """Train a model.

    Args:
        config: the settings.
        bitexts: data that is in memory already; else the files of the settings are read.
        metrics: measures the model on the dev set, beside its loss: ``DevMetrics`` of
            ``btg_seq2seq.evaluation.dev_metrics``, or your own.
        callbacks: more callbacks of Hugging Face's trainer.
        resume: continue the run that the directory holds, if it holds one.
        overwrite: remove the run that the directory holds.
        quiet: no progress, no report.
    """
    metric = config.optimisation.metric
    if metrics is None and metric in (*TRANSLATIONS, *TREES):
        raise UserError(
            f"optimisation.metric is {metric}, which somebody must measure: give train() "
            "metrics=btg_seq2seq.evaluation.dev_metrics.DevMetrics(sentences), or choose loss"
        )
    directory = Path(config.output)
    bitexts = Bitexts.from_files(config.data) if bitexts is None else bitexts
    if config.recombination.start is not None:
        bitexts = bitexts.excluding(config.recombination.exclude)
    arguments = training_arguments(config, bitexts.dev is not None)
    is_main = arguments.process_index == 0
    with ExitStack() as stack:
        stack.enter_context(without_bars())
        progress = stack.enter_context(ProgressReport()) if is_main and not quiet else None
        say: Callable[[str], None] = progress.say if progress else lambda line: None
        track: Track = progress.track if progress else untracked
        if is_main:
            stack.enter_context(locked(directory, say))
            check_directory(directory, config, bitexts, resume, overwrite)
        wait(arguments)  # until the first process has checked what all will read
        last = Checkpoints(directory).verify_last() if resume and not overwrite else None
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        # Probabilities that sharpen to almost nothing would make every step several times slower.
        torch.set_flush_denormal(True)
        stack.callback(torch.set_flush_denormal, False)  # it is a state of the whole thread

        if last is not None:
            check_processes(last, arguments)
        trainer = build_trainer(config, arguments, bitexts, metrics, last, say, track)
        trainer.get_train_dataloader()  # refuses batches that are too small
        wait(arguments)
        state = None if last is None else load_state(last)

        def begin() -> None:
            prepare_directory(directory, config, bitexts, overwrite)
            trainer.add_callback(tensorboard(directory, state.global_step if state else None))

        # Not earlier: settings that do not work, or a checkpoint that cannot be read, must not
        # cost the old run.
        if is_main and state is None:
            begin()
        elif is_main:
            trainer.add_callback(AtFirstStep(begin))
        wait(arguments)
        stop = StopOnSignal(say)
        for callback in [stop, LogBeforeSaving(), *callbacks]:
            trainer.add_callback(callback)
        if config.optimisation.patience is not None:
            trainer.add_callback(EarlyStopping(config.optimisation.patience))
        if is_main:
            trainer.add_callback(MetricsFile(directory))
        if progress is not None:
            trainer.add_callback(progress)

        if state is not None and is_complete(state, config):
            say(f"all steps were done before, up to step {state.global_step}")
            trainer.state = state
            if trainer.recombined is not None and last is not None:
                trainer.recombined.load(last)
        else:
            if last is not None:
                say(f"resuming from {last}")
            elif resume:
                say(f"there is nothing to resume in {directory}: a new run begins")
            set_seed(config.seed + arguments.process_index)  # dropout differs between processes
            with stop:
                trainer.train(resume_from_checkpoint=None if last is None else str(last))
            if stop.is_asked and not is_complete(trainer.state, config):
                reached, saved = trainer.state.global_step, trainer.checkpoints.last
                message = f"stopped at step {reached}; saved in {saved}; the same command with "
                raise TrainingInterrupted(message + "--resume goes on from there", stop.number)
        return finish(trainer, config, say)


def load_state(checkpoint: Path) -> TrainerState:
    """Where a run stood when it wrote a checkpoint."""
    path = checkpoint / STATE_FILE
    read_json(path)  # refuses what is no object
    with readable(path):
        state: TrainerState = TrainerState.load_from_json(str(path))
    return state


def wait(arguments: TrainingArguments) -> None:
    """Let the processes of a run catch up with each other."""
    if arguments.world_size > 1:
        torch.distributed.barrier()


def is_complete(state: TrainerState, config: TrainConfig) -> bool:
    """Whether a run had nothing left to do but to write its model."""
    callbacks: Any = state.stateful_callbacks
    stopping = callbacks.get(EarlyStopping.__name__)
    patience = config.optimisation.patience
    waited = stopping["attributes"]["early_stopping_patience_counter"] if stopping else 0
    is_stopped = patience is not None and waited >= patience
    return state.global_step >= config.optimisation.steps or is_stopped


def build_trainer(
    config: TrainConfig,
    arguments: Seq2SeqTrainingArguments,
    bitexts: Bitexts,
    metrics: Metrics | None,
    last: Path | None,
    say: Callable[[str], None],
    track: Track,
) -> BTGTrainer:
    """Tokenizer, model, data and trainer; says what they are."""
    needs_gold = config.objective.description.needs_gold
    if needs_gold != (bitexts.train.segmentations is not None):
        estimator = config.objective.estimator
        raise UserError(
            f"the estimator {estimator} learns from given derivations: set data.train_trees and "
            "data.train_segmentations"
            if needs_gold
            else f"the estimator {estimator} does not learn from data.train_trees and "
            "data.train_segmentations: remove them, or choose another objective.estimator"
        )
    if config.optimisation.patience is not None and bitexts.dev is None:
        raise UserError(
            "optimisation.patience needs a dev set: give data.dev_source and data.dev_target, or "
            "set it to null"
        )
    set_seed(config.seed)
    if last is None:
        is_first = arguments.process_index == 0  # trained in each process, it could differ a bit
        tokenizer = build_tokenizer(config, bitexts.train) if is_first else None
        tokenizer = broadcast_object_list([tokenizer])[0]
        model = build_model(config.model, tokenizer)
    else:  # what the model was built from is needed no more
        tokenizer = load_tokenizer(last)
        set_languages(tokenizer, config.model.source_language, config.model.target_language)
        model = BTGSeq2Seq.from_pretrained(last, verify=False)  # all of it was verified
        model.backbone.check_tokenizer(tokenizer, last)
    frames = Frames.of(tokenizer)
    model.objective = BTGObjective(config.objective, config.seed)
    model.decoding = config.decoding.settings
    longest = model.backbone.family.longest(model.backbone.model.config)
    limit, on_too_long = length_limit(config.data, longest)
    data = encode(bitexts.train, tokenizer, frames, limit, on_too_long)
    dev, dev_data = bitexts.dev, None
    if dev is not None:
        if dev.trees is not None and dev.segmentations is None:
            gold_trees(tokenizer, dev)  # refuses now what an evaluation would refuse later
        dev_data = encode(dev, tokenizer, frames, longest, "skip")
        dev = encoded_pairs(dev, dev_data)

    say(f"model: {describe(model, config.model)}; tokenizer: {len(tokenizer):,} tokens")
    if config.model.unused:
        say(f"not used, since the model has its own: {', '.join(config.model.unused)}")
    say(f"train: {data.summary()}")
    say(f"dev: {dev_data.summary() if dev_data else 'nothing, so there is no best checkpoint'}")
    flat = too_long_for_the_grammar(data, frames, config.model.max_grammar_length)
    if flat:
        say(
            f"{flat} training pairs have more than max_grammar_length="
            f"{config.model.max_grammar_length} tokens on a side and train flat, without trees"
        )
    is_first = phase_at(config.objective, 0, config.model.max_segments) is Phase.PARSED
    if is_first and not (needs_gold or config.model.pretrained):
        say(
            "the parsers learn from the first step, when phrases mean nothing yet, and may settle "
            "on wrong trees: objective.uniform_steps or objective.flat_steps let them wait"
        )
    start, steps = config.recombination.start, config.optimisation.steps
    untaught = first_taught_step(config.objective)
    if untaught >= steps and config.learns_trees:
        say(
            f"the parsers wait for {untaught} steps (objective.flat_steps and uniform_steps), but "
            f"there are only {steps}: they learn nothing, and only flat translations make sense"
        )
    if start is not None and start >= steps:
        say(f"recombination.start is {start}, but there are {steps} steps: nothing is recombined")
    say(f"output: {config.output}")
    return BTGTrainer(
        model,
        arguments,
        config.optimisation,
        tokenizer,
        data,
        dev_data=dev_data,
        dev=dev,
        metrics=metrics,
        recombined=recombined_batches(config, arguments, tokenizer, bitexts, data, track),
    )


def recombined_batches(
    config: TrainConfig,
    arguments: Seq2SeqTrainingArguments,
    tokenizer: PreTrainedTokenizerBase,
    bitexts: Bitexts,
    data: EncodedBitext,
    track: Track,
) -> RecombinedBatches | None:
    """What recombines sentences in training, if the settings ask for it."""
    if config.recombination.start is None:
        return None
    held_out = [*bitexts.excluded, *(bitexts.dev.source if bitexts.dev else [])]
    return RecombinedBatches(
        config.recombination,
        data,
        HeldOut(held_out, tokenizer),
        continuing_tokens(tokenizer),
        tokenizer.pad_token_id,
        config.seed,
        config.optimisation.batch,
        config.objective.boundary_threshold,
        arguments.gradient_accumulation_steps,
        arguments.world_size,
        arguments.process_index,
        track,
    )


def finish(trainer: BTGTrainer, config: TrainConfig, say: Callable[[str], None]) -> TrainResult:
    """Choose or average checkpoints, measure the result and write it as the final model."""
    directory = Path(config.output)
    count, checkpoints = trainer.optimisation.average_checkpoints, trainer.checkpoints
    best: int | None = trainer.state.best_global_step
    takes_best = count == 1 and trainer.optimisation.final == "best"
    steps = [best] if takes_best and best is not None else checkpoints.averaged(count)
    put_weights(trainer.model, average([checkpoints.path(step) for step in steps]))
    trainer.model.config.parsers_learned = parsers_are_taught(
        config.objective, max(steps), config.model.max_segments
    )
    metrics = {} if trainer.dev_data is None else trainer.measure()
    if trainer.args.should_save:
        put_model(directory, partial(trainer.save_model, _internal_call=True))
    wait(trainer.args)
    chosen = (
        f"the mean of steps {', '.join(map(str, steps))}" if len(steps) > 1 else f"step {steps[0]}"
    )
    say(f"the final model is {chosen}" + (f"  dev  {described(metrics)}" if metrics else ""))
    tries = trainer.recombined.tries if trainer.recombined else None
    if tries is not None:
        say(
            f"recombined sentences: {tries.made:,}, of which {tries.coincidences:,} coincided with "
            "excluded ones and were thrown away"
        )
    model = trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
    return TrainResult(
        directory,
        model.train(False),
        trainer.tokenizer,
        int(trainer.state.global_step),
        steps,
        metrics,
        list(trainer.state.log_history),
        None if tries is None else tries._asdict(),
    )
