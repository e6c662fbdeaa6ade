"""Terms of the loss of a batch: those of an estimator, sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True)
class Terms:
    """Loss of sentences cut into phrases, and its parts; every tensor is ``[batch]``."""

    loss: Tensor  # with gradients
    segments: Tensor  # phrases per sentence; a sentence with 1 is learned whole instead
    logged: Mapping[str, Tensor] = field(default_factory=dict)  # by name; gradients are dropped

    def means(self, counted: Tensor) -> dict[str, Tensor]:
        """Means over the counted sentences, ``[batch]``, of the loss and all logged terms."""
        named = {"cut_loss": self.loss, **self.logged}
        return {name: torch.mean(term.detach()[counted]) for name, term in named.items()}
