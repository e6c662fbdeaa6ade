"""Dropout that draws a quarter of the random numbers.

On processors for which torch has no vectorised generator, drawing a number for every activation
takes a fifth of the step of a small model. Here one draw of 64 bits decides about four of them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

LEVELS = 2**16  # of 16 bits: shares are rounded to multiples of 1 / LEVELS
DRAWS_PER_NUMBER = 4
SMALLEST = -(2**63)  # of all 64-bit numbers


def kept(count: int, dropped_levels: int) -> Tensor:
    """Draw which of ``count`` values stay, each by 16 bits of torch's generator: ``[count]``."""
    numbers = torch.empty(-(-count // DRAWS_PER_NUMBER), dtype=torch.int64)
    bits = numbers.random_(SMALLEST, None).view(torch.int16)[:count]
    return bits >= dropped_levels - LEVELS // 2


class CPUDropout(nn.Dropout):
    """``nn.Dropout`` for activations on the CPU; elsewhere it is torch's own."""

    def forward(self, activations: Tensor) -> Tensor:
        dropped = round(self.p * LEVELS)
        if not (self.training and activations.device.type == "cpu" and 0 < dropped < LEVELS):
            return super().forward(activations)
        mask = kept(activations.numel(), dropped).view(activations.shape)
        # The share as it was rounded, so that the mean stays exact.
        return activations * mask.to(activations.dtype).mul_(LEVELS / (LEVELS - dropped))


def use_cpu_dropout(model: nn.Module) -> None:
    """Exchange all dropout modules of a model."""
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, CPUDropout(child.p).train(child.training))
