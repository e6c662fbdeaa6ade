"""The interface that both paths through the dynamic programs implement."""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import Tensor


class Direction(NamedTuple):
    """The value to take an expectation of, for each split: ``own * score + other * value``.

    A leaf that is second in the target, or the whole tree, adds ``leaf``. What is not finite, or
    belongs to a forbidden split, counts as 0.
    """

    own: float
    other: float
    leaf: float


VALUE = Direction(own=0.0, other=1.0, leaf=0.0)
LOG_WEIGHT = Direction(own=1.0, other=0.0, leaf=math.log(2))
DIFFERENCE = Direction(own=1.0, other=-1.0, leaf=0.0)


class Program(ABC):
    """The dynamic programs of one batch; scores are flat, ``[batch, scores]``.

    *Columns* are what a program sums at the root: a tree CRF has one for each number of leaves, a
    leaf CRF a single one. Padding may hold anything.
    """

    @abstractmethod
    def log_partitions(self, scores: Tensor) -> Tensor:
        """Log of the summed weights, ``[batch, columns]``, differentiable."""

    @abstractmethod
    def expectation(
        self, scores: Tensor, values: Tensor, direction: Direction
    ) -> tuple[Tensor, Tensor]:
        """Log partition and expectation, both ``[batch]``, differentiable in scores and values."""

    @abstractmethod
    def log_inside(self, scores: Tensor) -> Tensor:
        """Log inside weight of every cell; without a gradient."""

    @abstractmethod
    def log_viterbi(self, scores: Tensor) -> Tensor:
        """Log weight of the best derivation of every cell; without a gradient."""
