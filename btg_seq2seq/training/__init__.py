"""Objectives and training."""

from btg_seq2seq.training.follow_steps import FollowSteps
from btg_seq2seq.training.objective import BTGObjective
from btg_seq2seq.training.settings import ObjectiveSettings

__all__ = ["BTGObjective", "FollowSteps", "ObjectiveSettings"]
