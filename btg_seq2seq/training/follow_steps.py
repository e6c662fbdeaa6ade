"""For trainers that are not ours: tells the objective of a model at which step training is."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.objective import BTGObjective


class FollowSteps(TrainerCallback):
    """A callback of Hugging Face's trainer: phases and schedules of the objective advance with it.

    ``Seq2SeqTrainer(model, ..., callbacks=[FollowSteps()])``; ``BTGTrainer`` does without.
    """

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._tell(kwargs["model"], state.global_step)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._tell(kwargs["model"], None)

    def _tell(self, model: BTGSeq2Seq, step: int | None) -> None:
        if isinstance(model.objective, BTGObjective):
            model.objective.step = step
