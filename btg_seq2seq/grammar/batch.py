"""Trees and segmentations of a whole batch: tensors inside for speed, plain objects outside.

Training reads the tensors; people index the batch and get a ``Tree`` or a list of phrases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import overload

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.grammar.tree import Leaf, Node, Span, Tree

Segmentation = list[Span]


@dataclass(frozen=True, eq=False)
class TreeBatch(Sequence[Tree]):
    """One tree a sentence.

    Internal nodes stand in preorder, the part that is first in the target before the other. So the
    parts of node ``p`` are node ``p + 1`` and node ``p + first_segments[p]``, unless they are
    leaves. A node has two splits: one of its source span, and one of its leaves, which are counted
    in target order. Rows are padded with zeros.
    """

    splits: Tensor  # [batch, nodes, 3]: source fenceposts start, split, stop
    leaf_splits: Tensor  # [batch, nodes, 3]: first leaf, first leaf of the second part, end
    inverted: Tensor  # [batch, nodes] bool
    segments: Tensor  # [batch]: leaves of the tree
    lengths: Tensor  # [batch]: length of the source sentence

    @classmethod
    def from_trees(cls, trees: Iterable[Tree]) -> TreeBatch:
        """Pack trees that start at fencepost 0."""
        trees = list(trees)
        if not trees:
            raise ValueError("a batch of trees needs at least one tree")
        for sentence, tree in enumerate(trees):
            if tree.start != 0:
                raise ValueError(f"sentence {sentence}: the tree {tree} does not start at 0")
        rows = [torch.tensor(list(_node_rows(tree, 0))).reshape(-1, 7).long() for tree in trees]
        table = pad_sequence(rows, batch_first=True)  # [batch, nodes, 7]
        return cls(
            splits=table[..., :3].contiguous(),
            leaf_splits=table[..., 3:6].contiguous(),
            inverted=table[..., 6].bool(),
            segments=torch.tensor([tree.segments for tree in trees]),
            lengths=torch.tensor([tree.stop for tree in trees]),
        )

    def to(self, device: torch.device | str) -> TreeBatch:
        """The same trees with their tensors on ``device``."""
        return TreeBatch(
            self.splits.to(device),
            self.leaf_splits.to(device),
            self.inverted.to(device),
            self.segments.to(device),
            self.lengths.to(device),
        )

    @property
    def is_node(self) -> Tensor:
        """Mask of the entries that are nodes and not padding: ``[batch, nodes]``."""
        return self.first_segments > 0

    @property
    def first_segments(self) -> Tensor:
        """Leaves of the part that is first in the target: ``[batch, nodes]``."""
        return self.leaf_splits[..., 1] - self.leaf_splits[..., 0]

    @property
    def second_segments(self) -> Tensor:
        """Leaves of the part that is second in the target: ``[batch, nodes]``."""
        return self.leaf_splits[..., 2] - self.leaf_splits[..., 1]

    @property
    def second_leaves(self) -> Tensor:
        """Leaves that are second in target order, plus one where the tree is a leaf: ``[batch]``.

        Each carries the factor 2 of Algorithm 1: such a leaf may have either label.
        """
        return (self.second_segments == 1).sum(-1) + (self.segments == 1)

    @cached_property
    def phrases(self) -> Tensor:
        """Source phrases in target order, padded with zeros: ``[batch, segments, 2]``."""
        batch, nodes = self.inverted.shape
        start, split, stop = self.splits.unbind(-1)
        left, right = torch.stack([start, split], -1), torch.stack([split, stop], -1)
        inverted = self.inverted[..., None]
        parts = torch.cat(
            [torch.where(inverted, right, left), torch.where(inverted, left, right)], 1
        )
        ranks = torch.cat([self.leaf_splits[..., 0], self.leaf_splits[..., 1]], 1)
        is_leaf = torch.cat([self.first_segments, self.second_segments], 1) == 1  # [batch, 2 nodes]
        # What is not a leaf goes to a row of its own behind the table.
        ranks = torch.where(is_leaf, ranks, nodes + 1)[..., None].expand(-1, -1, 2)
        table = self.splits.new_zeros(batch, nodes + 2, 2).scatter(1, ranks, parts)
        table[:, 0, 1] = torch.where(self.segments == 1, self.lengths, table[:, 0, 1])
        return table[:, : nodes + 1]

    @classmethod
    def interleaved(cls, batches: Sequence[TreeBatch]) -> TreeBatch:
        """Several trees per sentence, one from each batch; those of a sentence are adjacent."""

        def rows(tensors: Iterable[Tensor]) -> Tensor:
            return torch.stack(list(tensors), 1).flatten(0, 1)

        return cls(
            rows(batch.splits for batch in batches),
            rows(batch.leaf_splits for batch in batches),
            rows(batch.inverted for batch in batches),
            rows(batch.segments for batch in batches),
            rows(batch.lengths for batch in batches),
        )

    def where(self, is_kept: Tensor, others: TreeBatch) -> TreeBatch:
        """The trees of the sentences that ``is_kept`` marks, ``[batch]``; else those of others."""

        def chosen(ours: Tensor, theirs: Tensor) -> Tensor:
            if ours.ndim > 1:
                nodes = max(ours.shape[1], theirs.shape[1])
                ours, theirs = _widened(ours, nodes), _widened(theirs, nodes)
            return torch.where(is_kept.view(-1, *[1] * (ours.ndim - 1)), ours, theirs)

        return TreeBatch(
            chosen(self.splits, others.splits),
            chosen(self.leaf_splits, others.leaf_splits),
            chosen(self.inverted, others.inverted),
            chosen(self.segments, others.segments),
            chosen(self.lengths, others.lengths),
        )

    def __len__(self) -> int:
        return len(self.segments)

    @overload
    def __getitem__(self, index: int) -> Tree: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tree]: ...
    def __getitem__(self, index: int | slice) -> Tree | list[Tree]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        if int(self.segments[index]) == 1:
            return Leaf(0, int(self.lengths[index]))
        splits, inverted = self.splits[index].tolist(), self.inverted[index].tolist()
        leaf_splits = self.leaf_splits[index].tolist()

        def build(node: int) -> Tree:
            start, split, stop = splits[node]
            left, right = Leaf(start, split), Leaf(split, stop)
            first, second = (right, left) if inverted[node] else (left, right)
            begin, middle, end = leaf_splits[node]
            first_tree = build(node + 1) if middle - begin > 1 else first
            second_tree = build(node + middle - begin) if end - middle > 1 else second
            if inverted[node]:
                return Node(second_tree, first_tree, inverted=True)
            return Node(first_tree, second_tree)

        return build(0)


def _widened(table: Tensor, nodes: int) -> Tensor:
    """Pad ``[batch, nodes, ...]`` with zeros."""
    missing = table.new_zeros(len(table), nodes - table.shape[1], *table.shape[2:])
    return torch.cat([table, missing], 1)


def _node_rows(tree: Tree, leaf: int) -> Iterator[tuple[int, ...]]:
    """The rows of a tree's nodes in preorder; ``leaf`` is the rank of its first leaf."""
    if isinstance(tree, Node):
        middle = leaf + tree.first.segments
        yield (
            *(tree.start, tree.split, tree.stop),
            *(leaf, middle, leaf + tree.segments),
            int(tree.inverted),
        )
        yield from _node_rows(tree.first, leaf)
        yield from _node_rows(tree.second, middle)


@dataclass(frozen=True, eq=False)
class SegmentationBatch(Sequence[Segmentation]):
    """One segmentation of the target a sentence: its phrases from left to right."""

    fenceposts: Tensor  # [batch, segments + 1]: where phrases meet, padded with the last fencepost
    segments: Tensor  # [batch]

    @classmethod
    def from_lists(cls, segmentations: Iterable[Sequence[Span]]) -> SegmentationBatch:
        """Pack lists of ``(start, stop)`` that tile a target from 0 on."""
        rows = []
        for sentence, phrases in enumerate(segmentations):
            row = [0, *(stop for _, stop in phrases)]
            tiles = list(pairwise(row))
            if not phrases or tiles != [tuple(p) for p in phrases] or sorted(set(row)) != row:
                raise ValueError(
                    f"sentence {sentence}: the phrases {list(phrases)} do not tile a target"
                )
            rows.append(row)
        if not rows:
            raise ValueError("a batch of segmentations needs at least one segmentation")
        longest = max(map(len, rows))
        table = torch.tensor([row + row[-1:] * (longest - len(row)) for row in rows])
        return cls(table, torch.tensor([len(row) - 1 for row in rows]))

    def to(self, device: torch.device | str) -> SegmentationBatch:
        """The same segmentations with their tensors on ``device``."""
        return SegmentationBatch(self.fenceposts.to(device), self.segments.to(device))

    @property
    def phrases(self) -> Tensor:
        """Target phrases, padded with empty ones: ``[batch, segments, 2]``."""
        return torch.stack([self.fenceposts[:, :-1], self.fenceposts[:, 1:]], dim=-1)

    def __len__(self) -> int:
        return len(self.segments)

    @overload
    def __getitem__(self, index: int) -> Segmentation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Segmentation]: ...
    def __getitem__(self, index: int | slice) -> Segmentation | list[Segmentation]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        row = self.fenceposts[index, : int(self.segments[index]) + 1].tolist()
        return list(pairwise(row))
