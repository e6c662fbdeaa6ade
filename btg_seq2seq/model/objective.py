"""The objective of a model: the interface, and the default one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from torch import Tensor

from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.model.reading import BTGSeq2SeqOutput, Reading

if TYPE_CHECKING:
    from btg_seq2seq.model.transducer import BTGSeq2Seq


class Objective(Protocol):
    """Computes the loss of a batch."""

    @property
    def learns_reversed(self) -> bool:
        """Gradient of the posterior through the reversed pass."""

    def needs_trees(self, model: BTGSeq2Seq) -> bool:
        """Return whether the parsers must run at the current step."""

    def __call__(
        self,
        model: BTGSeq2Seq,
        reading: Reading,
        index: Tensor | None = None,
        trees: Sequence[Tree | str] | None = None,
        segmentations: Sequence[Segmentation] | None = None,
        proposal_log_probs: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
    ) -> BTGSeq2SeqOutput:
        """Compute the loss; the arguments are those of ``BTGSeq2Seq.forward``."""


def default_objective() -> Objective:
    """Create the objective of a new model: a ``BTGObjective`` with default settings."""
    # Imported by name, because the layer of training is above that of models.
    objective: Objective = import_module("btg_seq2seq.training.objective.objective").BTGObjective()
    return objective
