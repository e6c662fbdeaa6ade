"""The fast path: which compiled kernel runs with which arguments, for trees and for leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from btg_seq2seq.grammar.kernels import leaf_kernels, tree_kernels
from btg_seq2seq.grammar.kernels.autograd import NOWHERE, SAFE, Array, FastProgram, own_rows
from btg_seq2seq.grammar.kernels.compiled import over_batch
from btg_seq2seq.grammar.kernels.packs import PACK
from btg_seq2seq.grammar.kernels.portable import PortableLeafProgram, PortableTreeProgram
from btg_seq2seq.grammar.kernels.program import Direction, Program
from btg_seq2seq.grammar.packing import span_count, split_counts
from btg_seq2seq.grammar.sizes import Sizes


class FastTreeProgram(FastProgram):
    """Tree CRFs of one batch; scores are ``[batch, 2 splits]``."""

    no_tables = np.zeros((0, 0, 0, 0))

    def __init__(self, sizes: Sizes, largest: Tensor) -> None:
        leaves = torch.arange(1, sizes.largest + 1)
        powers = (leaves - 1).double().expand(len(sizes.lengths), -1)
        super().__init__(sizes, largest, powers, sizes.segments - 1, sizes.possible)
        # Sentences of similar length share a pack.
        order = sizes.lengths.argsort(stable=True).numpy()
        self.packs = -(-len(order) // PACK)
        self.work = PACK * sizes.longest**3 * max(1, sizes.largest - 2) ** 2 // 12
        allowed = np.zeros((0, 0), bool) if sizes.leaves is None else sizes.leaves.numpy()
        self.fixed = (order, self.sentences, allowed)

    def portable(self, sentences: Tensor) -> Program:
        return PortableTreeProgram(self.sizes[sentences])

    def score_counts(self) -> Tensor:
        return 2 * split_counts(self.sizes.lengths)

    def run_inside(
        self, potentials: Any, direction: Direction, roots: Array, tables: Array
    ) -> None:
        arguments = (*self.fixed, self.shifts.numpy(), potentials, tuple(direction), roots, tables)
        over_batch(tree_kernels.inside, self.packs, self.work, *arguments)

    def run_outside(
        self, potentials: Any, direction: Direction, seeds: Array, factors: Array, gradients: Any
    ) -> None:
        arguments = (*self.fixed, self.shifts.numpy(), potentials, tuple(direction))
        work = 4 * self.work
        over_batch(tree_kernels.outside, self.packs, work, *arguments, seeds, factors, gradients)

    @torch.no_grad()
    def log_inside(self, scores: Tensor) -> Tensor:
        tables = self._new_tables(0.0)
        self.inside(scores.contiguous(), (), NOWHERE, tables)
        result = tables.log_() + (self.powers * self.shifts[:, None])[..., None, None]
        lost = ~(self.bounds[..., None, None] - result <= SAFE) & self.sizes.reachable[:, :, None]
        unsafe = lost.flatten(1).any(1).nonzero()[:, 0]
        if len(unsafe):
            exact = self.portable(unsafe).log_inside(own_rows(scores, unsafe, self))
            result[unsafe] = -torch.inf
            result[unsafe, : exact.shape[1], :, : exact.shape[3]] = exact
        return result

    def _new_tables(self, value: float) -> Tensor:
        batch, spans = len(self.sentences), span_count(self.sizes.longest)
        return torch.full((batch, self.sizes.largest, 3, spans), value, dtype=torch.float64)

    @torch.no_grad()
    def log_viterbi(self, scores: Tensor) -> Tensor:
        tables = self._new_tables(-torch.inf)
        arguments = (*self.fixed, scores.contiguous().numpy(), tables.numpy())
        over_batch(tree_kernels.viterbi, self.packs, self.work, *arguments)
        return tables


class FastLeafProgram(FastProgram):
    """Leaf CRFs of one batch along given trees; scores are ``[batch, splits]``."""

    no_tables = np.zeros((0, 0, 0))

    def __init__(self, sizes: Sizes, largest: Tensor, leaf_splits: Tensor) -> None:
        powers = (sizes.segments - 1).double()[:, None]
        used = torch.ones(len(sizes.lengths), 1, dtype=torch.bool)
        super().__init__(sizes, largest, powers, torch.zeros_like(sizes.segments), used)
        self.leaf_splits = leaf_splits.contiguous()
        self.batch = len(sizes.lengths)
        self.work = 8 * sizes.longest**2 * sizes.largest
        self.fixed = (self.sentences, self.leaf_splits.numpy())

    def portable(self, sentences: Tensor) -> Program:
        nodes = int(self.sizes.segments[sentences].max()) - 1
        return PortableLeafProgram(self.sizes[sentences], self.leaf_splits[sentences, :nodes])

    def score_counts(self) -> Tensor:
        return split_counts(self.sizes.lengths)

    def run_inside(
        self, potentials: Any, direction: Direction, roots: Array, tables: Array
    ) -> None:
        arguments = (*self.fixed, self.shifts.numpy(), potentials, tuple(direction), roots, tables)
        over_batch(leaf_kernels.inside, self.batch, self.work, *arguments)

    def run_outside(
        self, potentials: Any, direction: Direction, seeds: Array, factors: Array, gradients: Any
    ) -> None:
        arguments = (*self.fixed, self.shifts.numpy(), potentials, tuple(direction))
        work = 3 * self.work
        over_batch(leaf_kernels.outside, self.batch, work, *arguments, seeds, factors, gradients)

    @torch.no_grad()
    def log_inside(self, scores: Tensor) -> Tensor:
        tables = self._new_tables(0.0)
        roots = self.inside(scores.contiguous(), (), NOWHERE, tables)
        leaves = self.leaf_splits[..., 2] - self.leaf_splits[..., 0]  # [batch, nodes]
        powers = torch.zeros_like(tables[:, :, 0])
        powers[:, 1:] = (leaves - 1).clamp(min=0)
        result = tables.log_() + (powers * self.shifts[:, None])[..., None]
        unsafe = self.unsafe(roots[:, 0].log() + self.powers * self.shifts[:, None], self.used)
        if len(unsafe):
            exact = self.portable(unsafe).log_inside(own_rows(scores, unsafe, self))
            result[unsafe] = -torch.inf
            result[unsafe, : exact.shape[1], : exact.shape[2]] = exact
        return result

    def _new_tables(self, value: float) -> Tensor:
        shape = (self.batch, self.sizes.largest, span_count(self.sizes.longest))
        return torch.full(shape, value, dtype=torch.float64)

    @torch.no_grad()
    def log_viterbi(self, scores: Tensor) -> Tensor:
        tables = self._new_tables(-torch.inf)
        arguments = (*self.fixed, scores.contiguous().numpy(), tables.numpy())
        over_batch(leaf_kernels.viterbi, self.batch, self.work, *arguments)
        return tables
