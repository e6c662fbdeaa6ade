"""A callback that notes in a model whether its parsers have learned anything yet."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainerState

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.objective import BTGObjective
from btg_seq2seq.training.objective.phases import parsers_have_learned


class FollowParsers(TrainerCallback):
    """Sets ``parsers_learned`` of the configuration after each step.

    Evaluations and checkpoints of the step see it: before the parsers learn, trees are random.
    """

    def on_step_end(self, args: Any, state: TrainerState, *_: Any, **given: Any) -> None:
        model: BTGSeq2Seq = given["model"]
        if isinstance(model.objective, BTGObjective):
            model.config.parsers_learned = parsers_have_learned(
                model.objective.settings, state.global_step, model.config.max_segments
            )
