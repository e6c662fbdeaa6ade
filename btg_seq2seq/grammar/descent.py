"""From tables of inside weights to trees and segmentations: Algorithms 2 and 4.

One step for each node of a tree, top down, for the whole batch at once. A step recomputes the
weights of the ways to split the cell it stands in and takes one in proportion to its weight; over a
Viterbi table, the largest. A sample spends one random number a choice, whatever the padding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from btg_seq2seq.grammar.batch import SegmentationBatch, TreeBatch
from btg_seq2seq.grammar.packing import EITHER, INVERTED, STRAIGHT, span_index, split_index
from btg_seq2seq.grammar.sizes import Sizes


class Chooser:
    """Picks one way of several, by log weight: the best, or a sample.

    A sample needs ``uniforms``, ``[batch, choices]`` numbers in [0, 1): one column a choice.
    """

    def __init__(self, uniforms: Tensor | None = None) -> None:
        self.columns = None if uniforms is None else iter(uniforms.unbind(1))

    def __call__(self, log_weights: Tensor) -> Tensor:
        """Index of the way chosen in each row of ``[batch, ways]``."""
        if self.columns is None:
            return log_weights.argmax(1)
        weights = (log_weights.double() - log_weights.amax(1, keepdim=True)).exp()
        sums = weights.cumsum(1)
        # The first sum that exceeds the threshold: never that of a way without weight.
        return (sums > next(self.columns)[:, None] * sums[:, -1:]).double().argmax(1)


def descend_tree(log_cells: Tensor, scores: Tensor, sizes: Sizes, choose: Chooser) -> TreeBatch:
    """One tree a sentence from ``[batch, leaves, 3, spans]`` and scores ``[batch, splits, 2]``."""
    batch, largest = log_cells.shape[:2]
    nodes, device = largest - 1, log_cells.device
    sentences = torch.arange(batch, device=device)
    # The cell in which each node stands: start, stop, leaves, rank of its first leaf, plane. What
    # turns out to be a leaf is written to a last row that is not read.
    cells = torch.zeros(batch, nodes + 1, 5, dtype=torch.long, device=device)
    whole = [torch.zeros_like(sizes.lengths), sizes.lengths, sizes.segments]
    cells[:, 0] = torch.stack([*whole, whole[0], torch.full_like(sizes.lengths, EITHER)], 1)
    splits = torch.zeros(batch, nodes, 3, dtype=torch.long, device=device)
    leaf_splits, inverted = torch.zeros_like(splits), torch.zeros_like(splits[..., 0]).bool()

    def weight(leaves: Tensor, plane: Tensor, start: Tensor, stop: Tensor) -> Tensor:
        rows = sentences.view(-1, *[1] * (stop.dim() - 1))
        return log_cells[rows, leaves - 1, plane, span_index(start, stop)]

    for node in range(nodes):
        start, stop, leaves, leaf, plane = cells[:, node].unbind(-1)
        is_node = leaves > 1
        # Leaves and padding take part with a harmless cell.
        start, stop = torch.where(is_node, start, 0), torch.where(is_node, stop, 2)
        leaves = torch.where(is_node, leaves, 2)
        both = torch.stack(
            [
                weight(leaves, torch.full_like(plane, orientation), start, stop)
                for orientation in (STRAIGHT, INVERTED)
            ],
            1,
        )
        orientation = torch.where(plane == EITHER, choose(both), plane)
        is_inverted = orientation == INVERTED
        # Every way to split: left part with 1, 2, ... leaves, at every fencepost.
        left_leaves = torch.arange(1, largest, device=device)[:, None]  # [largest - 1, 1]
        middle = start[:, None, None] + torch.arange(1, sizes.longest, device=device)
        right_leaves = leaves[:, None, None] - left_leaves
        possible = (right_leaves >= 1) & (middle < stop[:, None, None])
        middle = torch.where(possible, middle, start[:, None, None] + 1)
        right_leaves = right_leaves.clamp(min=1).expand_as(possible)
        left_leaves = left_leaves.expand_as(possible)
        first, last = start[:, None, None], stop[:, None, None]
        left_plane = torch.where(is_inverted, EITHER, INVERTED)[:, None, None]
        right_plane = torch.where(is_inverted, STRAIGHT, EITHER)[:, None, None]
        rows = sentences[:, None, None]
        log_weights = (
            weight(left_leaves, left_plane, first, middle)
            + weight(right_leaves, right_plane, middle, last)
            + scores[rows, split_index(first, middle, last), orientation[:, None, None]]
        ).masked_fill(~possible, -torch.inf)
        way = choose(log_weights.flatten(1))[:, None]
        middle = middle.flatten(1).gather(1, way)[:, 0]
        left = left_leaves.flatten(1).gather(1, way)[:, 0]
        first_leaves = torch.where(is_inverted, leaves - left, left)
        splits[:, node] = torch.stack([start, middle, stop], 1) * is_node[:, None]
        leaf_splits[:, node] = (
            torch.stack([leaf, leaf + first_leaves, leaf + leaves], 1) * is_node[:, None]
        )
        inverted[:, node] = is_inverted & is_node
        # The part that is first in the target follows its parent, the other follows that one.
        left_cell = [start, middle, left]
        right_cell = [middle, stop, leaves - left]
        parts = (
            (right_cell, left_cell, node + 1, leaf, 1 - orientation),
            (left_cell, right_cell, node + first_leaves, leaf + first_leaves, EITHER),
        )
        for if_inverted, if_straight, place, rank, label in parts:
            cell = torch.where(
                is_inverted[:, None], torch.stack(if_inverted, 1), torch.stack(if_straight, 1)
            )
            label = torch.as_tensor(label, device=device).expand(batch)
            row = torch.where(is_node & (cell[:, 2] > 1), place, nodes)
            cells[sentences, row] = torch.cat([cell, rank[:, None], label[:, None]], 1)
    return TreeBatch(splits, leaf_splits, inverted, sizes.segments, sizes.lengths)


def descend_leaves(
    log_cells: Tensor, scores: Tensor, sizes: Sizes, leaf_splits: Tensor, choose: Chooser
) -> SegmentationBatch:
    """One segmentation a sentence from ``[batch, rows, spans]`` and scores ``[batch, splits]``.

    Row 0 of the table is for leaves, row ``p + 1`` for node p.
    """
    batch, nodes = leaf_splits.shape[:2]
    sentences = torch.arange(batch, device=scores.device)
    fenceposts = sizes.lengths[:, None].repeat(1, nodes + 2)  # the end, until something is known
    fenceposts[:, 0] = 0
    for node in range(nodes):
        begin, between, end = leaf_splits[:, node].unbind(-1)
        is_node = end > begin
        start, stop = fenceposts[sentences, begin][:, None], fenceposts[sentences, end][:, None]
        middle = start + torch.arange(1, sizes.longest, device=scores.device)
        possible = (middle < stop) & is_node[:, None]
        middle = torch.where(possible, middle, 1)
        start, stop = torch.where(possible, start, 0), torch.where(possible, stop, 2)
        first = torch.where(between - begin > 1, node + 2, 0)[:, None]
        second = torch.where(end - between > 1, node + between - begin + 1, 0)[:, None]
        rows = sentences[:, None]
        log_weights = (
            log_cells[rows, first, span_index(start, middle)]
            + log_cells[rows, second, span_index(middle, stop)]
            + scores[rows, split_index(start, middle, stop)]
        ).masked_fill(~possible, -torch.inf)
        chosen = middle.gather(1, choose(log_weights)[:, None])[:, 0]
        # Padding writes to the last column, which no sentence with this many leaves reads.
        place = torch.where(is_node, between, nodes + 1)
        fenceposts[sentences, place] = torch.where(is_node, chosen, fenceposts[sentences, place])
    return SegmentationBatch(fenceposts[:, : nodes + 2], sizes.segments)
