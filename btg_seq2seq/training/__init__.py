"""Objectives and training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btg_seq2seq.lazy import lazy_names

if TYPE_CHECKING:
    from btg_seq2seq.training.loop.follow_steps import FollowSteps
    from btg_seq2seq.training.objective.objective import BTGObjective
    from btg_seq2seq.training.settings.objective import ObjectiveSettings

__all__ = ["BTGObjective", "FollowSteps", "ObjectiveSettings"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BTGObjective": "objective.objective",
        "FollowSteps": "loop.follow_steps",
        "ObjectiveSettings": "settings.objective",
    },
)
