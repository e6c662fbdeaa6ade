"""The seam between autograd and the compiled CPU kernels.

Values come from an inside pass; gradients from a second inside pass and the outside pass, so that
nothing but the scores is kept in between. Where linear space could lose accuracy, because all trees
lie far below what the best scores could add up to, the portable path computes the sentence.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd.function import once_differentiable

from btg_seq2seq.grammar.kernels.program import Direction, Program
from btg_seq2seq.grammar.sizes import Sizes

# Scores are shifted so that the weights of one tree multiply to e^300 at most: e^400 is left for
# the number of trees. A product that underflows was below e^-708, and later factors raise it by
# less than e^300; so a sum loses nothing if it lies within e^550 of the most it could have been.
BUDGET = 300.0
SAFE = 550.0

NOWHERE = Direction(0.0, 0.0, 0.0)
Array = NDArray[Any]


class FastProgram(Program):
    """Common base of the tree CRF and the leaf CRF.

    ``largest[b]`` is the sentence's largest score, ``powers[b, column]`` the number of weights
    that each derivation of a column multiplies, ``own_column[b]`` the column of the sentence's own
    number of leaves; ``used[b, column]`` says which columns are possible at all.
    """

    no_tables: Array

    def __init__(
        self, sizes: Sizes, largest: Tensor, powers: Tensor, own_column: Tensor, used: Tensor
    ) -> None:
        self.sizes, self.powers, self.own_column, self.used = sizes, powers, own_column, used
        columns = [sizes.lengths, sizes.segments, sizes.limits]
        self.sentences = torch.stack(columns, 1).numpy()  # [batch, 3]
        self.shifts = largest - BUDGET / max(1, sizes.largest - 1)  # [batch]
        self.bounds = powers * largest[:, None]  # [batch, columns]

    @abstractmethod
    def portable(self, sentences: Tensor) -> Program:
        """The portable program of some of the sentences."""

    @abstractmethod
    def score_counts(self) -> Tensor:
        """Scores of each sentence, without its padding: ``[batch]``."""

    @abstractmethod
    def run_inside(
        self, potentials: Any, direction: Direction, roots: Array, tables: Array
    ) -> None:
        """Run the inside kernel over the batch."""

    @abstractmethod
    def run_outside(
        self, potentials: Any, direction: Direction, seeds: Array, factors: Array, gradients: Any
    ) -> None:
        """Run the inside and the outside kernel over the batch."""

    def inside(
        self,
        scores: Tensor,
        others: tuple[Tensor, ...],
        direction: Direction,
        tables: Tensor | None = None,
    ) -> Tensor:
        """Root weights, ``[batch, parts, columns]``; ``tables`` receive every cell's."""
        roots = np.zeros((len(scores), 1 + len(others), self.powers.shape[1]))
        potentials = tuple(part.detach().numpy() for part in (scores, *others))
        cells = self.no_tables if tables is None else tables.numpy()
        self.run_inside(potentials, direction, roots, cells)
        return torch.from_numpy(roots)

    def unsafe(self, log_partitions: Tensor, used: Tensor) -> Tensor:
        """Indices of the sentences whose sums are too far below what they could have been."""
        lost = ~(self.bounds - log_partitions.detach() <= SAFE)  # also where infinite or NaN
        return (lost & used).any(1).nonzero()[:, 0]

    def log_partitions(self, scores: Tensor) -> Tensor:
        result: Tensor = _LogPartitions.apply(  # type: ignore[no-untyped-call]
            scores.contiguous(), self
        )
        unsafe = self.unsafe(result, self.used)
        if len(unsafe):
            exact = self.portable(unsafe).log_partitions(own_rows(scores, unsafe, self))
            exact = torch.nn.functional.pad(
                exact, (0, result.shape[1] - exact.shape[1]), value=-torch.inf
            )
            result = result.index_copy(0, unsafe, exact.double())
        return result

    def expectation(
        self, scores: Tensor, values: Tensor, direction: Direction
    ) -> tuple[Tensor, Tensor]:
        values = values.to(scores.dtype).contiguous()
        log_partition, mean = _Expectation.apply(  # type: ignore[no-untyped-call]
            scores.contiguous(), values, self, direction
        )
        columns = torch.arange(self.powers.shape[1]) == self.own_column[:, None]
        unsafe = self.unsafe(log_partition[:, None], columns)
        if len(unsafe):
            exact, exact_mean = self.portable(unsafe).expectation(
                own_rows(scores, unsafe, self), own_rows(values, unsafe, self), direction
            )
            log_partition = log_partition.index_copy(0, unsafe, exact.double())
            mean = mean.index_copy(0, unsafe, exact_mean.double())
        return log_partition, mean


def own_rows(scores: Tensor, sentences: Tensor, program: FastProgram) -> Tensor:
    """Rows of some sentences, cut to the longest of them, in float64."""
    width = int(program.score_counts()[sentences].max())
    return scores[sentences, :width].double()


class _LogPartitions(torch.autograd.Function):
    """``log Z`` of every column; its gradient, the marginals, by the outside pass."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, program: FastProgram) -> Tensor:
        roots = program.inside(scores, (), NOWHERE)
        ctx.save_for_backward(scores, roots)
        ctx.program = program
        return roots[:, 0].log() + program.powers * program.shifts[:, None]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        scores, roots = ctx.saved_tensors
        seeds = torch.where((gradient != 0) & (roots[:, 0] > 0), gradient / roots[:, 0], 0.0)
        factors = torch.tensor([1.0, 0.0, 0.0]).double().expand(len(scores), 3)
        result = torch.zeros_like(scores)
        ctx.program.run_outside(
            (scores.detach().numpy(),),
            NOWHERE,
            seeds[:, None].numpy(),
            factors.numpy(),
            (result.numpy(),),
        )
        result[(gradient == 0).all(1)] = 0.0
        return result, None


class _Expectation(torch.autograd.Function):
    """``log Z`` and an expectation; their gradients by the outside pass over dual numbers.

    The expectation is the derivative of log Z in a direction, so its gradient is the derivative of
    the marginals in that direction: the CRF's Hessian times the direction.
    """

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, values: Tensor, program: FastProgram, direction: Direction
    ) -> tuple[Tensor, Tensor]:
        roots = program.inside(scores, (values,), direction)
        own = program.own_column[:, None, None].expand(-1, 2, 1)
        root, tangent = roots.gather(2, own).unbind(1)  # [batch, 1]
        ctx.save_for_backward(scores, values, root, tangent)
        ctx.program, ctx.direction = program, direction
        log_partition = root.log() + program.powers.gather(1, own[:, 0]) * program.shifts[:, None]
        return log_partition[:, 0], (tangent / root)[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_log_partition: Tensor, of_mean: Tensor) -> tuple[Tensor | None, ...]:
        scores, values, root, tangent = ctx.saved_tensors
        program, direction = ctx.program, ctx.direction
        seeds = torch.zeros(len(scores), 2, program.powers.shape[1], dtype=torch.float64)
        wanted = (of_log_partition != 0) | (of_mean != 0)
        seed = torch.stack([1 / root, -(tangent / root) / root], 1) * wanted[:, None, None]
        own = program.own_column[:, None, None].expand(-1, 2, 1)
        seeds.scatter_(2, own, seed.nan_to_num(0.0, 0.0, 0.0))
        factors = torch.stack(
            [of_log_partition + direction.own * of_mean, of_mean, direction.other * of_mean], 1
        )
        gradients = [torch.zeros_like(scores)]
        if ctx.needs_input_grad[1] and direction.other != 0:
            gradients.append(torch.zeros_like(values))
        program.run_outside(
            (scores.detach().numpy(), values.detach().numpy()),
            direction,
            seeds.numpy(),
            factors.numpy(),
            tuple(part.numpy() for part in gradients),
        )
        for part in gradients:
            part[~wanted] = 0.0
        return gradients[0], gradients[1] if len(gradients) == 2 else None, None, None
