"""The distribution over target segmentations along a given tree: ``q(leaves | x, y, tree)``.

Algorithms 3, 4 and 5 of the paper, along the tree's own nodes instead of pooled by their size, and
with the rule scores that Algorithms 4 and 5 leave out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import torch
from torch import Tensor

from btg_seq2seq.grammar.batch import Segmentation, SegmentationBatch, TreeBatch
from btg_seq2seq.grammar.descent import Chooser, descend_leaves
from btg_seq2seq.grammar.kernels import Kernels, leaf_program
from btg_seq2seq.grammar.packing import split_count, split_index
from btg_seq2seq.grammar.sizes import Sizes, check_possible
from btg_seq2seq.grammar.split_crf import SplitCRF
from btg_seq2seq.grammar.tree import Tree


class LeafCRF(SplitCRF):
    """One distribution over segmentations of the target a sentence.

    Each leaf of the tree receives one phrase of the target, in target order. A segmentation's log
    weight is the sum, over the tree's nodes, of the score of the split between the node's parts.

    Args:
        split_scores: ``[batch, splits]`` log weights over target fenceposts.
        lengths: ``[batch]`` lengths of the targets.
        trees: one tree a sentence, over the source.
        max_phrase_length: longest target phrase, widened for a sentence where it is impossible.
        kernels: ``"fast"``, ``"portable"``, or ``"auto"`` to choose by device and type.
    """

    def __init__(
        self,
        split_scores: Tensor,
        lengths: Tensor | Sequence[int],
        trees: Sequence[Tree],
        max_phrase_length: int | None = None,
        kernels: Kernels = "auto",
    ) -> None:
        batch = trees if isinstance(trees, TreeBatch) else TreeBatch.from_trees(trees)
        self.trees = batch.to(split_scores.device)
        sizes = Sizes.checked(lengths, batch.segments, max_phrase_length, split_scores.device)
        expected = (len(sizes.lengths), split_count(sizes.longest))
        if split_scores.shape != expected or not split_scores.is_floating_point():
            raise ValueError(
                f"split_scores must be floats of shape {expected} for a longest target of "
                f"{sizes.longest} tokens, not {split_scores.dtype} of {tuple(split_scores.shape)}"
            )
        leaf_splits = self.trees.leaf_splits
        super().__init__(
            split_scores,
            sizes,
            lambda largest: leaf_program(split_scores, sizes, largest, leaf_splits, kernels),
        )

    def _own_column(self, columns: Tensor) -> Tensor:
        return columns[:, 0]

    def _check_comparable(self, other: Self) -> None:
        super()._check_comparable(other)
        if not torch.equal(self.trees.leaf_splits, other.trees.leaf_splits):
            raise ValueError("KL needs two batches of segmentations along trees of equal shape")

    def log_prob(self, segmentations: Sequence[Segmentation]) -> Tensor:
        """Log-probability of one segmentation a sentence, ``[batch]``."""
        batch = self._checked(segmentations)
        fenceposts = batch.fenceposts.gather(1, self.trees.leaf_splits.flatten(1))
        place = split_index(*fenceposts.view_as(self.trees.leaf_splits).unbind(-1))
        is_node = self.trees.is_node
        scores = self._scores.gather(1, torch.where(is_node, place, 0)) if place.shape[1] else None
        log_prob = -self._log_partition
        if scores is not None:
            log_prob = log_prob + torch.where(is_node, scores, 0.0).sum(1, dtype=log_prob.dtype)
        lengths = batch.fenceposts.diff(dim=1)
        outside = (lengths > self.limits[:, None]).any(1)
        return log_prob.masked_fill(outside, -math.inf).to(self.split_scores.dtype)

    def _checked(self, segmentations: Sequence[Segmentation]) -> SegmentationBatch:
        if not isinstance(segmentations, SegmentationBatch):
            segmentations = SegmentationBatch.from_lists(segmentations)
        batch = segmentations.to(self.split_scores.device)
        if len(batch) != len(self.sizes.lengths):
            raise ValueError(f"{len(batch)} segmentations for {len(self.sizes.lengths)} sentences")
        lengths = batch.fenceposts[:, -1]
        differs = (lengths != self.sizes.lengths) | (batch.segments != self.sizes.segments)
        for sentence in differs.nonzero().flatten().tolist():
            raise ValueError(
                f"sentence {sentence}: {batch.segments[sentence]} phrases over "
                f"{lengths[sentence]} tokens, but the tree has {self.sizes.segments[sentence]} "
                f"leaves and the target {self.sizes.lengths[sentence]} tokens"
            )
        return batch

    def sample(
        self, generator: torch.Generator | None = None, uniforms: Tensor | None = None
    ) -> SegmentationBatch:
        """Draw one segmentation a sentence.

        The random numbers may be given, ``uniforms`` in [0, 1) of shape ``[batch, largest number
        of segments - 1]``: equal numbers give equal segmentations, whatever else is in the batch.
        """
        uniforms = self._uniforms(uniforms, self.trees.leaf_splits.shape[1], generator)
        return self._descend(self._log_cells, Chooser(uniforms))

    @cached_property
    def argmax(self) -> SegmentationBatch:
        """The most probable segmentation of each sentence."""
        cells = self._program.log_viterbi(self._scores.detach())
        return self._descend(cells, Chooser())

    def _descend(self, cells: Tensor, choose: Chooser) -> SegmentationBatch:
        # Row 1 is the root, unless the whole tree is a leaf.
        row = (self.sizes.segments > 1).long()[:, None, None].expand(-1, 1, cells.shape[2])
        root = cells.gather(1, row)[:, 0].gather(1, self.sizes.root[:, None])[:, 0]
        check_possible(root, self.sizes)
        scores = self.split_scores.detach().to(cells.dtype)
        return descend_leaves(cells, scores, self.sizes, self.trees.leaf_splits, choose)

    @cached_property
    def _log_cells(self) -> Tensor:
        return self._program.log_inside(self._scores.detach())
