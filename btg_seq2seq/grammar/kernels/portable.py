"""The dynamic programs in plain torch: any device, any float type, differentiable twice.

Log space throughout. The tree CRF (Algorithm 1) loops over numbers of leaves, since spans with m
leaves depend only on spans with fewer; the leaf CRF (Algorithm 3) over the nodes of its tree. All
spans and all split points of a level are one tensor operation.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from btg_seq2seq.grammar.kernels.program import VALUE, Direction, Program
from btg_seq2seq.grammar.packing import (
    EITHER,
    INVERTED,
    STRAIGHT,
    span_count,
    span_index,
    spans,
    split_counts,
    splits,
)
from btg_seq2seq.grammar.sizes import Sizes

# Planes of the left and right child of a straight and of an inverted node: the child that is first
# in the target must not be oriented like its parent.
LEFT_PLANES = [INVERTED, EITHER]
RIGHT_PLANES = [EITHER, STRAIGHT]


class Links(NamedTuple):
    """For each split: its own packed index and those of the spans it joins, ``[splits]``."""

    split: Tensor
    parent: Tensor
    left: Tensor
    right: Tensor


@cache
@torch.inference_mode(False)
def _links(length: int, prefixes_only: bool, device: torch.device) -> Links:
    start, middle, stop = splits(length).to(device).unbind(-1)
    chosen = (start == 0).nonzero()[:, 0] if prefixes_only else torch.arange(len(start)).to(device)
    start, middle, stop = start[chosen], middle[chosen], stop[chosen]
    return Links(
        chosen, span_index(start, stop), span_index(start, middle), span_index(middle, stop)
    )


class Cells(NamedTuple):
    """Log weights of cells and, in the expectation semiring, the expected value inside each."""

    log_weight: Tensor
    value: Tensor | None


def _own_scores(scores: Tensor, counts: Tensor) -> Tensor:
    """Scores with the padding, ``[batch, splits, ...]``, forbidden; at least float32."""
    own = torch.arange(scores.shape[1], device=scores.device) < counts[:, None]
    own = own.view(*own.shape, *[1] * (scores.dim() - 2))
    if scores.dtype in (torch.float16, torch.bfloat16):
        scores = scores.float()
    return scores.masked_fill(~own, -math.inf)


def _mix(scores: Tensor, values: Tensor, direction: Direction) -> Tensor:
    """The value to take the expectation of; zero if it is not finite or the split is forbidden."""
    usable = (scores > -math.inf) & values.isfinite()
    own = torch.where(usable, scores, 0.0)
    other = torch.where(usable, values.to(scores.dtype), 0.0)
    return direction.own * own + direction.other * other


def _leaf_weights(sizes: Sizes, scores: Tensor) -> Tensor:
    """Log weight of each span as a leaf, ``[batch, spans]``: 0, or minus infinity if it is none."""
    start, stop = spans(sizes.longest).to(scores.device).unbind(-1)
    is_none = stop - start > sizes.limits[:, None] if sizes.leaves is None else ~sizes.leaves
    return _nothing(scores).expand(is_none.shape).masked_fill(is_none, -math.inf)


def _nothing(scores: Tensor) -> Tensor:
    """Zeros, ``[batch, 1]``, that belong to the graph of the scores: what a lone leaf sums."""
    return scores[:, :0].flatten(1).sum(1, keepdim=True)


def _anchor(best: Tensor) -> Tensor:
    """The shift to subtract before exponentiating: no gradient, and 0 if all weights are zero."""
    best = best.detach()
    return best.masked_fill(best == -math.inf, 0.0)


def _log(total: Tensor, anchor: Tensor) -> Tensor:
    """``log(total) + anchor``; minus infinity, without a gradient, where there is no total."""
    some = total > 0
    return torch.where(some, torch.where(some, total, 1.0).log() + anchor, -math.inf)


def _reduce(terms: Cells, parents: Tensor, count: int, maximise: bool) -> Cells:
    """Sum terms ``[batch, ways, ..., splits]`` over ways and over the splits of a parent span."""
    log_weight, values = terms
    best = log_weight.detach().amax(1)
    best = best.new_full((*best.shape[:-1], count), -math.inf).scatter_reduce(
        -1, parents.expand(best.shape), best, "amax"
    )
    if maximise:
        return Cells(best, None)
    anchor = _anchor(best)
    weight = (log_weight - anchor.index_select(-1, parents)[:, None]).exp()
    total = torch.zeros_like(anchor).index_add(-1, parents, weight.sum(1))
    if values is None:
        return Cells(_log(total, anchor), None)
    value = torch.zeros_like(anchor).index_add(-1, parents, (weight * values).sum(1))
    return Cells(_log(total, anchor), value / torch.where(total > 0, total, 1.0))


def _with_either(cells: Cells, maximise: bool) -> Cells:
    """Append the plane *either* to ``[batch, 2, spans]``."""
    log_weight, values = cells
    best = log_weight.detach().amax(1, keepdim=True)
    if maximise:
        return Cells(torch.cat([log_weight, best], 1), None)
    anchor = _anchor(best)
    weight = (log_weight - anchor).exp()
    total = weight.sum(1, keepdim=True)
    either = torch.cat([log_weight, _log(total, anchor)], 1)
    if values is None:
        return Cells(either, None)
    value = (weight * values).sum(1, keepdim=True) / torch.where(total > 0, total, 1.0)
    return Cells(either, torch.cat([values, value], 1))


def tree_levels(
    scores: Tensor,
    sizes: Sizes,
    values: Tensor | None = None,
    direction: Direction = VALUE,
    maximise: bool = False,
) -> list[Cells]:
    """Inside cells ``[batch, 3, spans]`` for 1, 2, ... leaves; planes straight, inverted, either.

    Algorithm 1. With ``values``, the expectation semiring of Algorithm 6: a cell also holds the
    expected sum of values inside it. With ``maximise``, the best tree instead of the sum.
    """
    length, largest = sizes.longest, sizes.largest
    scores = _own_scores(scores, split_counts(sizes.lengths))
    if values is not None:
        values = _mix(scores, values, direction).transpose(1, 2)  # [batch, 2, splits]
    scores = scores.transpose(1, 2)  # [batch, 2, splits]
    every, prefixes = (_links(length, only, scores.device) for only in (False, True))
    leaf = _leaf_weights(sizes, scores)
    log_weight = torch.stack([leaf, leaf, leaf + math.log(2)], 1)
    value = None
    if values is not None:
        zero = (_nothing(scores) + _nothing(values)).expand_as(leaf)
        value = torch.stack([zero, zero, zero + direction.leaf], 1)
    levels = [Cells(log_weight, value)]
    for leaves in range(2, largest + 1):
        # The largest number of leaves is only ever asked for at the root.
        links = prefixes if leaves == largest else every
        left = _select([level.log_weight for level in levels], LEFT_PLANES, links.left)
        right = _select([level.log_weight for level in levels[::-1]], RIGHT_PLANES, links.right)
        # [batch, leaves - 1, 2, splits]: left has 1, 2, ... leaves, right the others
        terms = Cells(left + right + scores.index_select(-1, links.split)[:, None], None)
        if values is not None:
            inner = [level.value for level in levels if level.value is not None]
            left = _select(inner, LEFT_PLANES, links.left)
            right = _select(inner[::-1], RIGHT_PLANES, links.right)
            own = values.index_select(-1, links.split)[:, None]
            terms = Cells(terms.log_weight, left + right + own)
        cells = _reduce(terms, links.parent, span_count(length), maximise)
        levels.append(_with_either(cells, maximise))
    return levels


def _select(tables: list[Tensor], planes: list[int], index: Tensor) -> Tensor:
    return torch.stack([table[:, planes].index_select(-1, index) for table in tables], 1)


def leaf_rows(
    scores: Tensor,
    sizes: Sizes,
    leaf_splits: Tensor,
    values: Tensor | None = None,
    direction: Direction = VALUE,
    maximise: bool = False,
) -> list[Cells]:
    """Inside cells ``[batch, spans]`` along a sentence's tree: row 0 leaves, row ``p + 1`` node p.

    Algorithm 3, with one table for each node; ``leaf_splits`` is that of a ``TreeBatch``. With
    ``values``, the expectation semiring of Algorithm 5.
    """
    length, nodes = sizes.longest, leaf_splits.shape[1]
    scores = _own_scores(scores, split_counts(sizes.lengths))
    if values is not None:
        values = _mix(scores, values, direction)
    links = _links(length, False, scores.device)
    leaf = _leaf_weights(sizes, scores)
    begin, middle, end = leaf_splits.unbind(-1)  # [batch, nodes]
    position = torch.arange(nodes, device=scores.device)
    first_row = torch.where(middle - begin > 1, position + 2, 0)
    second_row = torch.where(end - middle > 1, position + middle - begin + 1, 0)
    # Children have larger numbers than their parents. A row of padding is never looked at.
    unused = Cells(leaf, None)
    if values is not None:
        unused = Cells(leaf, (_nothing(scores) + _nothing(values)).expand_as(leaf))
    rows = [unused] * (nodes + 1)
    sentences = torch.arange(len(scores), device=scores.device)
    for node in range(nodes - 1, -1, -1):
        weights = torch.stack([row.log_weight for row in rows])  # [rows, batch, spans]
        left = weights[first_row[:, node], sentences].index_select(-1, links.left)
        right = weights[second_row[:, node], sentences].index_select(-1, links.right)
        terms = Cells((left + right + scores)[:, None], None)
        if values is not None:
            inner = torch.stack([row.value for row in rows if row.value is not None])
            left = inner[first_row[:, node], sentences].index_select(-1, links.left)
            right = inner[second_row[:, node], sentences].index_select(-1, links.right)
            terms = Cells(terms.log_weight, (left + right + values)[:, None])
        rows[node + 1] = _reduce(terms, links.parent, span_count(length), maximise)
    return rows


def _by_orientation(scores: Tensor) -> Tensor:
    return scores.reshape(len(scores), scores.shape[1] // 2, 2)


class PortableTreeProgram(Program):
    """Tree CRFs of one batch; scores are ``[batch, 2 splits]``."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def log_partitions(self, scores: Tensor) -> Tensor:
        levels = tree_levels(_by_orientation(scores), self.sizes)
        roots = [self._root(cells.log_weight[:, EITHER]) for cells in levels]
        counts = torch.arange(1, len(roots) + 1, device=scores.device)
        return torch.stack(roots, 1).masked_fill(counts > self.sizes.segments[:, None], -math.inf)

    def expectation(
        self, scores: Tensor, values: Tensor, direction: Direction
    ) -> tuple[Tensor, Tensor]:
        scores, values = _by_orientation(scores), _by_orientation(values)
        levels = tree_levels(scores, self.sizes, values, direction)
        own = (self.sizes.segments - 1)[:, None]
        log_weights = torch.stack([self._root(c.log_weight[:, EITHER]) for c in levels], 1)
        means = torch.stack(
            [self._root(c.value[:, EITHER]) for c in levels if c.value is not None], 1
        )
        return log_weights.gather(1, own)[:, 0], means.gather(1, own)[:, 0]

    def _root(self, cells: Tensor) -> Tensor:
        return cells.gather(-1, self.sizes.root[:, None])[:, 0]

    @torch.no_grad()
    def log_inside(self, scores: Tensor) -> Tensor:
        levels = tree_levels(_by_orientation(scores), self.sizes)
        return torch.stack([cells.log_weight for cells in levels], 1)

    @torch.no_grad()
    def log_viterbi(self, scores: Tensor) -> Tensor:
        levels = tree_levels(_by_orientation(scores), self.sizes, maximise=True)
        return torch.stack([cells.log_weight for cells in levels], 1)


class PortableLeafProgram(Program):
    """Leaf CRFs of one batch along given trees; scores are ``[batch, splits]``."""

    def __init__(self, sizes: Sizes, leaf_splits: Tensor) -> None:
        self.sizes, self.leaf_splits = sizes, leaf_splits

    def log_partitions(self, scores: Tensor) -> Tensor:
        rows = leaf_rows(scores, self.sizes, self.leaf_splits)
        return self._root([cells.log_weight for cells in rows])[:, None]

    def expectation(
        self, scores: Tensor, values: Tensor, direction: Direction
    ) -> tuple[Tensor, Tensor]:
        rows = leaf_rows(scores, self.sizes, self.leaf_splits, values, direction)
        means = [cells.value for cells in rows if cells.value is not None]
        return self._root([cells.log_weight for cells in rows]), self._root(means)

    def _root(self, rows: list[Tensor]) -> Tensor:
        # Row 1 is the root, unless the whole tree is a leaf.
        is_leaf = self.sizes.segments == 1
        cells = torch.where(is_leaf[:, None], rows[0], rows[min(1, len(rows) - 1)])
        return cells.gather(-1, self.sizes.root[:, None])[:, 0]

    @torch.no_grad()
    def log_inside(self, scores: Tensor) -> Tensor:
        rows = leaf_rows(scores, self.sizes, self.leaf_splits)
        return torch.stack([cells.log_weight for cells in rows], 1)

    @torch.no_grad()
    def log_viterbi(self, scores: Tensor) -> Tensor:
        rows = leaf_rows(scores, self.sizes, self.leaf_splits, maximise=True)
        return torch.stack([cells.log_weight for cells in rows], 1)
