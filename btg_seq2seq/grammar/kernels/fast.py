"""The fast path: compiled CPU kernels behind autograd.

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

from btg_seq2seq.grammar.kernels import fast_leaf, fast_tree
from btg_seq2seq.grammar.kernels.compiled import over_batch
from btg_seq2seq.grammar.kernels.packs import PACK
from btg_seq2seq.grammar.kernels.portable import PortableLeafProgram, PortableTreeProgram
from btg_seq2seq.grammar.kernels.program import Direction, Program
from btg_seq2seq.grammar.packing import span_count, spans, split_counts
from btg_seq2seq.grammar.sizes import Sizes

# Scores are shifted so that the weights of one tree multiply to e^300 at most: e^400 is left for
# the number of trees. A product that underflows was below e^-708, and later factors raise it by
# less than e^300; so a sum loses nothing if it lies within e^550 of the most it could have been.
_BUDGET = 300.0
_SAFE = 550.0

_NOWHERE = Direction(0.0, 0.0, 0.0)
Array = NDArray[Any]


class FastProgram(Program):
    """What the tree CRF and the leaf CRF have in common.

    ``powers[b, column]`` is the number of weights that each derivation of a column multiplies,
    ``own_column[b]`` the column of the sentence's own number of leaves, ``used[b, column]`` says
    which columns are possible at all.
    """

    no_tables: Array

    def __init__(self, sizes: Sizes, powers: Tensor, own_column: Tensor, used: Tensor) -> None:
        self.sizes, self.powers, self.own_column, self.used = sizes, powers, own_column, used
        columns = [sizes.lengths, sizes.segments, sizes.limits]
        self.sentences = torch.stack(columns, 1).numpy()  # [batch, 3]

    @abstractmethod
    def portable(self, sentences: Tensor) -> Program:
        """The portable program of some of the sentences."""

    @abstractmethod
    def score_counts(self) -> Tensor:
        """Scores of each sentence, without its padding: ``[batch]``."""

    @abstractmethod
    def run_inside(
        self, shifts: Array, potentials: Any, direction: Direction, roots: Array, tables: Array
    ) -> None:
        """Run the inside kernel over the batch."""

    @abstractmethod
    def run_outside(
        self,
        shifts: Array,
        potentials: Any,
        direction: Direction,
        seeds: Array,
        factors: Array,
        gradients: Any,
    ) -> None:
        """Run the inside and the outside kernel over the batch."""

    def largest(self, scores: Tensor) -> Tensor:
        """Largest score of each sentence; 0 where it has none or all are forbidden: ``[batch]``."""
        counts = self.score_counts()
        if scores.shape[1] == 0:
            return torch.zeros(len(scores), dtype=torch.float64)
        if bool((counts < scores.shape[1]).any()):
            own = torch.arange(scores.shape[1]) < counts[:, None]
            scores = torch.where(own, scores, -torch.inf)
        best = scores.amax(1).double()
        return best.masked_fill(best == -torch.inf, 0.0)

    def inside(
        self,
        scores: Tensor,
        others: tuple[Tensor, ...],
        direction: Direction,
        tables: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Shifts, ``[batch]``, and roots, ``[batch, parts, columns]``; ``tables`` get all cells."""
        shifts = self.largest(scores) - _BUDGET / (self.sizes.segments - 1).clamp(min=1)
        roots = np.zeros((len(scores), 1 + len(others), self.powers.shape[1]))
        potentials = tuple(part.detach().numpy() for part in (scores, *others))
        cells = self.no_tables if tables is None else tables.numpy()
        self.run_inside(shifts.numpy(), potentials, direction, roots, cells)
        return shifts, torch.from_numpy(roots)

    def unsafe(self, scores: Tensor, log_partitions: Tensor, used: Tensor) -> Tensor:
        """Sentences whose sums are too far below what they could be, ``[unsafe]``."""
        bound = self.powers * self.largest(scores.detach())[:, None]  # [batch, columns]
        lost = ~(bound - log_partitions.detach() <= _SAFE)  # also where it is infinite or NaN
        return (lost & used).any(1).nonzero()[:, 0]

    def log_partitions(self, scores: Tensor) -> Tensor:
        result: Tensor = _LogPartitions.apply(scores.contiguous(), self)
        unsafe = self.unsafe(scores, result, self.used)
        if len(unsafe):
            exact = self.portable(unsafe).log_partitions(_prefix(scores, unsafe, self))
            exact = torch.nn.functional.pad(
                exact, (0, result.shape[1] - exact.shape[1]), value=-torch.inf
            )
            result = result.index_copy(0, unsafe, exact.double())
        return result

    def expectation(
        self, scores: Tensor, values: Tensor, direction: Direction
    ) -> tuple[Tensor, Tensor]:
        values = values.to(scores.dtype).contiguous()
        log_partition, mean = _Expectation.apply(scores.contiguous(), values, self, direction)
        columns = torch.arange(self.powers.shape[1]) == self.own_column[:, None]
        unsafe = self.unsafe(scores, log_partition[:, None], columns)
        if len(unsafe):
            exact, exact_mean = self.portable(unsafe).expectation(
                _prefix(scores, unsafe, self), _prefix(values, unsafe, self), direction
            )
            log_partition = log_partition.index_copy(0, unsafe, exact.double())
            mean = mean.index_copy(0, unsafe, exact_mean.double())
        return log_partition, mean


def _prefix(scores: Tensor, sentences: Tensor, program: FastProgram) -> Tensor:
    """Rows of some sentences, cut to the longest of them, in float64."""
    width = int(program.score_counts()[sentences].max())
    return scores[sentences, :width].double()


class _LogPartitions(torch.autograd.Function):
    """``log Z`` of every column; its gradient, the marginals, by the outside pass."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, program: FastProgram) -> Tensor:
        shifts, roots = program.inside(scores, (), _NOWHERE)
        ctx.save_for_backward(scores, shifts, roots)
        ctx.program = program
        return roots[:, 0].log() + program.powers * shifts[:, None]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        scores, shifts, roots = ctx.saved_tensors
        seeds = torch.where((gradient != 0) & (roots[:, 0] > 0), gradient / roots[:, 0], 0.0)
        factors = torch.tensor([1.0, 0.0, 0.0]).double().expand(len(scores), 3)
        result = torch.zeros_like(scores)
        ctx.program.run_outside(
            shifts.numpy(),
            (scores.detach().numpy(),),
            _NOWHERE,
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
        shifts, roots = program.inside(scores, (values,), direction)
        own = program.own_column[:, None, None].expand(-1, 2, 1)
        root, tangent = roots.gather(2, own).unbind(1)  # [batch, 1]
        ctx.save_for_backward(scores, values, shifts, root, tangent)
        ctx.program, ctx.direction = program, direction
        log_partition = root.log() + program.powers.gather(1, own[:, 0]) * shifts[:, None]
        return log_partition[:, 0], (tangent / root)[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_log_partition: Tensor, of_mean: Tensor) -> tuple[Tensor | None, ...]:
        scores, values, shifts, root, tangent = ctx.saved_tensors
        program, direction = ctx.program, ctx.direction
        seeds = torch.zeros(len(scores), 2, program.powers.shape[1], dtype=torch.float64)
        wanted = (of_log_partition != 0) | (of_mean != 0)
        seed = torch.stack([1 / root, -tangent / root**2], 1) * wanted[:, None, None]
        own = program.own_column[:, None, None].expand(-1, 2, 1)
        seeds.scatter_(2, own, seed.nan_to_num(0.0, 0.0, 0.0))
        factors = torch.stack(
            [of_log_partition + direction.own * of_mean, of_mean, direction.other * of_mean], 1
        )
        gradients = [torch.zeros_like(scores)]
        if ctx.needs_input_grad[1] and direction.other != 0:
            gradients.append(torch.zeros_like(values))
        program.run_outside(
            shifts.numpy(),
            (scores.detach().numpy(), values.detach().numpy()),
            direction,
            seeds.numpy(),
            factors.numpy(),
            tuple(part.numpy() for part in gradients),
        )
        for part in gradients:
            part[~wanted] = 0.0
        return gradients[0], gradients[1] if len(gradients) == 2 else None, None, None


class FastTreeProgram(FastProgram):
    """Tree CRFs of one batch; scores are ``[batch, 2 splits]``."""

    no_tables = np.zeros((0, 0, 0, 0))

    def __init__(self, sizes: Sizes) -> None:
        leaves = torch.arange(1, sizes.largest + 1)
        used = (leaves <= sizes.segments[:, None]) & (
            leaves * sizes.limits[:, None] >= sizes.lengths[:, None]
        )
        powers = (leaves - 1).double().expand(len(sizes.lengths), -1)
        super().__init__(sizes, powers, sizes.segments - 1, used)
        # Sentences of like length share a pack.
        self.order = sizes.lengths.argsort(stable=True).numpy()
        self.packs = -(-len(self.order) // PACK)
        self.work = PACK * sizes.longest**3 * max(1, sizes.largest - 2) ** 2 // 12

    def portable(self, sentences: Tensor) -> Program:
        return PortableTreeProgram(self.sizes[sentences])

    def score_counts(self) -> Tensor:
        return 2 * split_counts(self.sizes.lengths)

    def run_inside(
        self, shifts: Array, potentials: Any, direction: Direction, roots: Array, tables: Array
    ) -> None:
        arguments = (self.order, self.sentences, shifts, potentials, tuple(direction), roots, tables)
        over_batch(fast_tree.inside, self.packs, self.work, *arguments)

    def run_outside(
        self,
        shifts: Array,
        potentials: Any,
        direction: Direction,
        seeds: Array,
        factors: Array,
        gradients: Any,
    ) -> None:
        arguments = (self.order, self.sentences, shifts, potentials, tuple(direction))
        work = 4 * self.work
        over_batch(fast_tree.outside, self.packs, work, *arguments, seeds, factors, gradients)

    @torch.no_grad()
    def log_inside(self, scores: Tensor) -> Tensor:
        shape = (len(scores), self.sizes.largest, 3, span_count(self.sizes.longest))
        tables = torch.zeros(shape, dtype=torch.float64)
        shifts, _ = self.inside(scores.contiguous(), (), _NOWHERE, tables)
        result = tables.log_() + (self.powers * shifts[:, None])[..., None, None]
        bound = (self.powers * self.largest(scores)[:, None])[..., None, None]
        lost = ~(bound - result <= _SAFE) & self._reachable()[:, :, None]
        unsafe = lost.flatten(1).any(1).nonzero()[:, 0]
        if len(unsafe):
            exact = self.portable(unsafe).log_inside(_prefix(scores, unsafe, self))
            result[unsafe] = -torch.inf
            result[unsafe[:, None], : exact.shape[1], :, : exact.shape[3]] = exact
        return result

    def _reachable(self) -> Tensor:
        """Cells that a tree of the sentence may use, ``[batch, leaves, spans]``."""
        start, stop = spans(self.sizes.longest).unbind(-1)
        lengths, limits = self.sizes.lengths[:, None], self.sizes.limits[:, None]  # [batch, 1]
        around = -(-start // limits) - (-(lengths - stop) // limits)
        most = torch.minimum(self.sizes.segments[:, None] - around, stop - start)
        least = -(-(stop - start) // limits)
        leaves = torch.arange(1, self.sizes.largest + 1)[:, None]
        inside = (stop <= lengths)[:, None]
        return inside & (leaves <= most[:, None]) & (leaves >= least[:, None])

    @torch.no_grad()
    def log_viterbi(self, scores: Tensor) -> Tensor:
        shape = (len(scores), self.sizes.largest, 3, span_count(self.sizes.longest))
        tables = torch.full(shape, -torch.inf, dtype=torch.float64)
        shifts = np.zeros(len(scores))
        arguments = (self.order, self.sentences, shifts, scores.contiguous().numpy())
        over_batch(fast_tree.viterbi, self.packs, self.work, *arguments, tables.numpy())
        return tables


class FastLeafProgram(FastProgram):
    """Leaf CRFs of one batch along given trees; scores are ``[batch, splits]``."""

    no_tables = np.zeros((0, 0, 0))

    def __init__(self, sizes: Sizes, leaf_splits: Tensor) -> None:
        powers = (sizes.segments - 1).double()[:, None]
        used = torch.ones(len(sizes.lengths), 1, dtype=torch.bool)
        super().__init__(sizes, powers, torch.zeros_like(sizes.segments), used)
        self.leaf_splits = leaf_splits.contiguous()
        self.work = 8 * sizes.longest**2 * sizes.largest

    def portable(self, sentences: Tensor) -> Program:
        nodes = int(self.sizes.segments[sentences].max()) - 1
        return PortableLeafProgram(self.sizes[sentences], self.leaf_splits[sentences, :nodes])

    def score_counts(self) -> Tensor:
        return split_counts(self.sizes.lengths)

    def run_inside(
        self, shifts: Array, potentials: Any, direction: Direction, roots: Array, tables: Array
    ) -> None:
        arguments = (self.sentences, self.leaf_splits.numpy(), shifts, potentials)
        batch = len(self.sentences)
        over_batch(
            fast_leaf.inside, batch, self.work, *arguments, tuple(direction), roots, tables
        )

    def run_outside(
        self,
        shifts: Array,
        potentials: Any,
        direction: Direction,
        seeds: Array,
        factors: Array,
        gradients: Any,
    ) -> None:
        arguments = (self.sentences, self.leaf_splits.numpy(), shifts, potentials)
        arguments += (tuple(direction), seeds, factors, gradients)
        over_batch(fast_leaf.outside, len(self.sentences), 3 * self.work, *arguments)

    @torch.no_grad()
    def log_inside(self, scores: Tensor) -> Tensor:
        shape = (len(scores), self.sizes.largest, span_count(self.sizes.longest))
        tables = torch.zeros(shape, dtype=torch.float64)
        shifts, roots = self.inside(scores.contiguous(), (), _NOWHERE, tables)
        rows = torch.zeros_like(tables[:, :, :1])
        nodes = self.leaf_splits[..., 2] - self.leaf_splits[..., 0]  # leaves below each node
        rows[:, 1:, 0] = (nodes - 1).clamp(min=0)
        result = tables.log_() + rows * shifts[:, None, None]
        log_partitions = roots[:, 0].log() + self.powers * shifts[:, None]
        unsafe = self.unsafe(scores, log_partitions, self.used)
        if len(unsafe):
            exact = self.portable(unsafe).log_inside(_prefix(scores, unsafe, self))
            result[unsafe] = -torch.inf
            result[unsafe[:, None], : exact.shape[1], : exact.shape[2]] = exact
        return result

    @torch.no_grad()
    def log_viterbi(self, scores: Tensor) -> Tensor:
        shape = (len(scores), self.sizes.largest, span_count(self.sizes.longest))
        tables = torch.full(shape, -torch.inf, dtype=torch.float64)
        arguments = (self.sentences, self.leaf_splits.numpy(), scores.contiguous().numpy())
        over_batch(fast_leaf.viterbi, len(scores), self.work, *arguments, tables.numpy())
        return tables
