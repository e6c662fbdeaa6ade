"""Random numbers that depend on the sentence, not on its batch.

A counter-based generator (the finaliser of splitmix64): the numbers of a sentence are a function of
the seed, the step and the place of the sentence in its file. So a run that is resumed, or shared
between processes, draws the same numbers as an uninterrupted run of one process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, as a signed number
_FACTORS = ((30, -4658895280553007687), (27, -7723592293110705685))


@dataclass(frozen=True)
class Noise:
    """The random numbers of a batch in one step; each use must have its own ``draw`` number."""

    keys: Tensor  # [batch]

    @classmethod
    def of(cls, index: Tensor, seed: int, step: int) -> Noise:
        """Make the numbers of sentences with these places in their file."""
        return cls(_mix(_mix(_mix(index.new_tensor(seed)) + step) + index))

    @classmethod
    def fresh(cls, batch: int, device: torch.device) -> Noise:
        """Make numbers with torch's own generator, for sentences without a place in a file."""
        return cls(torch.randint(2**62, (batch,), device=device))

    def __getitem__(self, rows: Tensor) -> Noise:
        return Noise(self.keys[rows])

    def repeat(self, times: int) -> Noise:
        """Repeat each sentence ``times`` times in a row, each time with different numbers."""
        copies = torch.arange(times, device=self.keys.device)
        return replace(self, keys=_mix(self.keys[:, None] + _mix(copies + 1)).flatten())

    def uniforms(self, draw: int, count: int) -> Tensor:
        """Return numbers in [0, 1), ``[batch, count]``; the same for the same ``draw``."""
        places = torch.arange(count, device=self.keys.device)
        mixed = _mix(_mix(self.keys + _mix(places.new_tensor(draw)))[:, None] + places)
        return (mixed >> 11 & (2**53 - 1)).double() * 2.0**-53


def _mix(numbers: Tensor) -> Tensor:
    """Scramble 64-bit integers; products wrap around."""
    numbers = numbers + _GOLDEN
    for shift, factor in _FACTORS:
        numbers = (numbers ^ _shift_right(numbers, shift)) * factor
    return numbers ^ _shift_right(numbers, 31)


def _shift_right(numbers: Tensor, places: int) -> Tensor:
    """Shift as if the numbers were unsigned."""
    shifted: Tensor = numbers >> places & (2 ** (64 - places) - 1)
    return shifted
