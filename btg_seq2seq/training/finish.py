"""The end of a run: checkpoints are chosen or averaged, and the final model is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from btg_seq2seq.derivations.lexical.saved_tables import save_tables
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.files.checkpoints import average, put_weights
from btg_seq2seq.training.files.directory import put_model
from btg_seq2seq.training.loop.arguments import wait
from btg_seq2seq.training.loop.follow_parsers import note_learned
from btg_seq2seq.training.loop.trainer import BTGTrainer
from btg_seq2seq.training.report import describe_result
from btg_seq2seq.training.settings.config import TrainConfig
from btg_seq2seq.training.teacher import word_tables


@dataclass(frozen=True)
class TrainResult:
    """A finished run: its model, and everything that was measured."""

    directory: Path
    model: BTGSeq2Seq
    tokenizer: PreTrainedTokenizerBase
    steps: int
    averaged_steps: list[int]  # of the checkpoints whose mean the model is; often one
    metrics: dict[str, float]  # of the final model on the dev set
    history: list[dict[str, float]]  # everything that was logged
    recombined: dict[str, int] | None = None  # sentences made, and coincidences with excluded ones


def _save(trainer: BTGTrainer, config: TrainConfig, directory: str) -> None:
    """Write the model and, if it had a lexical teacher, the teacher's word-translation tables."""
    trainer.save_model(directory, _internal_call=True)
    if config.objective.has_teacher and config.learns_trees:
        model = trainer.accelerator.unwrap_model(trainer.model, keep_fp32_wrapper=False)
        data: Any = trainer.train_dataset
        save_tables(word_tables(model, trainer.tokenizer, data), directory)


def finish(trainer: BTGTrainer, config: TrainConfig, say: Callable[[str], None]) -> TrainResult:
    """Choose or average checkpoints, measure the result and write it as the final model."""
    directory = Path(config.output)
    count, checkpoints = trainer.optimisation.average_checkpoints, trainer.checkpoints
    best: int | None = trainer.state.best_global_step
    takes_best = count == 1 and trainer.optimisation.final == "best"
    steps = [best] if takes_best and best is not None else checkpoints.averaged(count)
    put_weights(trainer.model, average([checkpoints.path(step) for step in steps]))
    note_learned(trainer.model.config, config.objective, max(steps))
    metrics = {} if trainer.dev_data is None else trainer.measure()
    if trainer.args.should_save:
        put_model(directory, partial(_save, trainer, config))
    wait(trainer.args)
    tries = trainer.recombined.tries if trainer.recombined else None
    for line in describe_result(steps, metrics, config.optimisation.metric, tries):
        say(line)
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
