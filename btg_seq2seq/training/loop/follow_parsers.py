"""Notes in the configuration of a model about what it has learned so far."""

from __future__ import annotations

from typing import Any

from transformers import PreTrainedConfig, TrainerCallback, TrainerState

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.objective.objective import BTGObjective
from btg_seq2seq.training.objective.phases import learns_reverse, parsers_have_learned
from btg_seq2seq.training.settings.objective import ObjectiveSettings


def note_learned(config: PreTrainedConfig, settings: ObjectiveSettings, steps: int) -> None:
    """Note whether the parsers and the reverse direction have learned anything by now."""
    config.parsers_learned = parsers_have_learned(settings, steps, config.max_segments)
    config.reverse_learned = config.parsers_learned and learns_reverse(settings)


class FollowParsers(TrainerCallback):
    """Notes what has been learned after each step.

    Evaluations and checkpoints of the step see it: before the parsers learn, trees are random.
    """

    def on_step_end(self, args: Any, state: TrainerState, *_: Any, **given: Any) -> None:
        model: BTGSeq2Seq = given["model"]
        if isinstance(model.objective, BTGObjective):
            note_learned(model.config, model.objective.settings, state.global_step)
