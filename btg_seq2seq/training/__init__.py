"""Objectives and training; importing it gives ``BTGSeq2Seq`` its default objective."""

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training.follow_steps import FollowSteps
from btg_seq2seq.training.objective import BTGObjective
from btg_seq2seq.training.settings import ObjectiveSettings

BTGSeq2Seq.objective = BTGObjective()

__all__ = ["BTGObjective", "FollowSteps", "ObjectiveSettings"]
