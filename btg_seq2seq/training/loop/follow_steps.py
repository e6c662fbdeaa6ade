"""A callback that sets the step of a model's objective, for trainers of transformers."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.objective import BTGObjective


class FollowSteps(TrainerCallback):
    """Advances phases and schedules of the objective with the steps of a trainer.

    ``Seq2SeqTrainer(model, ..., callbacks=[FollowSteps()])``. ``BTGTrainer`` does not need it.
    """

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._set_step(kwargs["model"], state.global_step)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._set_step(kwargs["model"], None)

    def _set_step(self, model: BTGSeq2Seq, step: int | None) -> None:
        if isinstance(model.objective, BTGObjective):
            model.objective.step = step
