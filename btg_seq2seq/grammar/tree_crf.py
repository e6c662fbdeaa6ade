"""The distribution over trees with a given number of leaves: ``p(tree | n)`` and ``q(tree | n)``.

Algorithms 1, 2 and 6 of the paper; the dynamic programs themselves are in ``kernels``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from btg_seq2seq.grammar.batch import TreeBatch
from btg_seq2seq.grammar.descent import Chooser, descend_tree
from btg_seq2seq.grammar.kernels import Kernels, tree_program
from btg_seq2seq.grammar.packing import (
    EITHER,
    INVERTED,
    STRAIGHT,
    segment_pairs,
    span_count,
    span_index,
    split_count,
    split_index,
    splits,
)
from btg_seq2seq.grammar.sizes import Sizes, check_possible
from btg_seq2seq.grammar.split_crf import SplitCRF
from btg_seq2seq.grammar.tree import Tree


class TreeCRF(SplitCRF):
    """One distribution over trees per sentence; lengths and numbers of leaves may differ.

    Args:
        split_scores: ``[batch, splits, 2]`` log weights, for ``splits(longest length)``; the last
            axis is straight, inverted. Minus infinity forbids a split.
        lengths: ``[batch]`` numbers of tokens.
        segments: ``[batch]`` numbers of leaves.
        max_phrase_length: longest leaf, widened for a sentence that it would leave without trees.
        kernels: ``"fast"``, ``"portable"``, or ``"auto"`` to choose by device and type.
        allowed_leaves: ``[batch, spans]`` bool, for ``spans(longest length)``: which spans may be
            leaves, if no longer than the limit; all of them unless given.
    """

    def __init__(
        self,
        split_scores: Tensor,
        lengths: Tensor | Sequence[int],
        segments: Tensor | Sequence[int],
        max_phrase_length: int | None = None,
        kernels: Kernels = "auto",
        allowed_leaves: Tensor | None = None,
    ) -> None:
        device = split_scores.device
        sizes = Sizes.checked(lengths, segments, max_phrase_length, device, allowed_leaves)
        expected = (len(sizes.lengths), split_count(sizes.longest), 2)
        if split_scores.shape != expected or not split_scores.is_floating_point():
            raise ValueError(
                f"split_scores must be floats of shape {expected} for a longest sentence of "
                f"{sizes.longest} tokens, not {split_scores.dtype} of {tuple(split_scores.shape)}"
            )
        super().__init__(
            split_scores, sizes, lambda largest: tree_program(split_scores, sizes, largest, kernels)
        )

    def _own_column(self, columns: Tensor) -> Tensor:
        return columns.gather(1, self.sizes.segments[:, None] - 1)[:, 0]

    @property
    def log_partitions(self) -> Tensor:
        """Log partition for 1, 2, ... leaves, ``[batch, largest number of segments]``.

        All under the one phrase length limit that the sentence has for its number of segments:
        minus infinity where a number is impossible under it, or above that number.
        """
        return self._columns.to(self.split_scores.dtype)

    def log_prob(self, trees: Sequence[Tree]) -> Tensor:
        """Log-probability of one tree per sentence, ``[batch]``.

        Minus infinity with a leaf over the limit, or one that is not allowed.
        """
        trees = self._checked(trees)
        place = split_index(*trees.splits.unbind(-1))  # [batch, nodes]
        place = 2 * torch.where(trees.is_node, place, 0) + trees.inverted
        scores = self._scores.gather(1, place) if place.shape[1] else self._scores[:, :0]
        scores = torch.where(trees.is_node, scores, 0.0).sum(1, dtype=self._log_partition.dtype)
        log_weight = scores + math.log(2) * trees.second_leaves.to(scores.dtype)
        lengths = trees.phrases[..., 1] - trees.phrases[..., 0]
        outside = (lengths > self.limits[:, None]).any(1)
        if self.sizes.leaves is not None:
            leaf = span_index(trees.phrases[..., 0], trees.phrases[..., 1].clamp(min=1))
            allowed = self.sizes.leaves.gather(1, torch.where(lengths > 0, leaf, 0))
            outside |= ((lengths > 0) & ~allowed).any(1)
        log_prob = log_weight - self._log_partition
        return log_prob.masked_fill(outside, -math.inf).to(self.split_scores.dtype)

    def _checked(self, trees: Sequence[Tree]) -> TreeBatch:
        batch = trees if isinstance(trees, TreeBatch) else TreeBatch.from_trees(trees)
        batch = batch.to(self.split_scores.device)
        if len(batch) != len(self.sizes.lengths):
            raise ValueError(f"{len(batch)} trees for {len(self.sizes.lengths)} sentences")
        differs = (batch.lengths != self.sizes.lengths) | (batch.segments != self.sizes.segments)
        for sentence in differs.nonzero().flatten().tolist():
            raise ValueError(
                f"sentence {sentence}: the tree {batch[sentence]} has {batch.segments[sentence]} "
                f"leaves over {batch.lengths[sentence]} tokens, the distribution "
                f"{self.sizes.segments[sentence]} over {self.sizes.lengths[sentence]}"
            )
        return batch

    def sample(
        self, generator: torch.Generator | None = None, uniforms: Tensor | None = None
    ) -> TreeBatch:
        """Draw one tree per sentence.

        The random numbers may be given, ``uniforms`` in [0, 1) of shape ``[batch, 2 * (largest
        number of segments - 1)]``: equal numbers give equal trees, whatever else is in the batch.
        """
        uniforms = self._uniforms(uniforms, 2 * (self.sizes.largest - 1), generator)
        return self._descend(self._log_cells, Chooser(uniforms))

    @cached_property
    def argmax(self) -> TreeBatch:
        """The most probable tree of each sentence."""
        cells = self._program.log_viterbi(self._scores.detach())
        return self._descend(cells, Chooser())

    def best_trees(self, sentences: Tensor, segments: Tensor) -> TreeBatch:
        """Find the most probable tree of each of some sentences with a given number of leaves.

        ``sentences`` and ``segments``, both ``[trees]``, name the sentences by their place in the
        batch and the numbers of leaves, at most those of the distribution. All trees come from one
        dynamic program, under the phrase length limit that ``log_partitions`` describes.
        """
        cells = self._program.log_viterbi(self._scores.detach())
        sizes = Sizes(self.sizes.lengths[sentences], segments, self.sizes.limits[sentences])
        check_possible(self._roots(cells)[sentences, segments - 1, EITHER], sizes)
        scores = self.split_scores.detach()[sentences].to(cells.dtype)
        return descend_tree(cells[sentences], scores, sizes, Chooser())

    def _descend(self, cells: Tensor, choose: Chooser) -> TreeBatch:
        check_possible(self._own_column(self._roots(cells)[..., EITHER]), self.sizes)
        scores = self.split_scores.detach().to(cells.dtype)
        return descend_tree(cells, scores, self.sizes, choose)

    @cached_property
    def _log_cells(self) -> Tensor:
        cells = self._program.log_inside(self._scores.detach())
        return cells.masked_fill(~self.sizes.reachable[:, :, None], -math.inf)

    @property
    def log_inside(self) -> Tensor:
        """Log inside weight of every cell, ``[batch, leaves, 3, spans]``; no gradient.

        Planes: straight, inverted, and both together. Minus infinity in cells that no tree with
        the sentence's number of leaves or fewer can use.
        """
        return self._log_cells.to(self.split_scores.dtype)

    def _roots(self, cells: Tensor) -> Tensor:
        """The cells of whole sentences, ``[batch, leaves, 3]``."""
        root = self.sizes.root[:, None, None, None].expand(-1, *cells.shape[1:3], 1)
        return cells.gather(3, root)[..., 0]

    @cached_property
    def root_log_probs(self) -> Tensor:
        """``log pi~(T^n -> A^n[x])`` for 1, 2, ... leaves, ``[batch, leaves, 2]``; no gradient."""
        cells = self._roots(self._log_cells)
        impossible = self._columns.detach()[..., None] == -math.inf
        log_probs = (cells[..., :2] - cells[..., 2:]).masked_fill(impossible, -math.inf)
        return log_probs.to(self.split_scores.dtype)

    @cached_property
    def rule_log_probs(self) -> Tensor:
        """``log pi~`` of every binary rule, ``[batch, pairs, splits, 2, 2]``; no gradient.

        Pairs are the leaf counts of the children in target order, as ``segment_pairs`` lists them;
        the last axes are the parent's orientation and the label of the child in second place.
        Minus infinity where a rule is impossible for the sentence's number of segments. Large:
        four numbers for each pair and split; ``log_inside`` has the same content in less room.
        """
        cells = self._log_cells
        start, middle, stop = splits(self.sizes.longest).to(cells.device).unbind(-1)
        first, second = segment_pairs(self.sizes.largest).to(cells.device).unbind(-1)
        parent, left, right = (
            cells.index_select(3, span_index(*ends))
            for ends in ((start, stop), (start, middle), (middle, stop))
        )  # each [batch, leaves, 3, splits]
        scores = self.split_scores.detach().to(cells.dtype).transpose(1, 2)[:, None]
        total = first + second - 1
        # Straight: inverted left part first. Inverted: straight right part first.
        straight = left[:, first - 1, INVERTED, None] + right[:, second - 1, :EITHER]
        inverted = right[:, first - 1, STRAIGHT, None] + left[:, second - 1, :EITHER]
        children = torch.stack([straight, inverted], 2)  # [batch, pairs, 2, 2, splits]
        parents = parent[:, total, :EITHER, None]
        log_probs = children + scores[..., None, :] - parents
        log_probs = log_probs.masked_fill(
            (children == -math.inf) | (parents == -math.inf), -math.inf
        )
        beyond = self._score_counts[:, None] <= 2 * torch.arange(len(start), device=cells.device)
        log_probs = log_probs.masked_fill(beyond[:, None, None, None], -math.inf)
        return log_probs.permute(0, 1, 4, 2, 3).to(self.split_scores.dtype)

    def leaf_marginals(self, count_weights: Tensor | None = None) -> Tensor:
        """Probability that each span is a leaf, ``[batch, spans]``; no gradient.

        For the sentence's own number of leaves, or averaged over numbers of leaves with
        ``count_weights``, ``[batch, leaves]``. A number that is impossible must have weight 0.
        """
        own = torch.nn.functional.one_hot(self.sizes.segments - 1, self.sizes.largest)
        weights = own.double() if count_weights is None else count_weights.double()
        if weights.shape != own.shape:
            raise ValueError(
                f"count_weights must have shape {tuple(own.shape)}, not {tuple(weights.shape)}"
            )
        for sentence in (~(weights >= 0) | weights.isinf()).any(1).nonzero().flatten().tolist():
            raise ValueError(
                f"sentence {sentence}: count_weights must be finite and not negative, not "
                f"{weights[sentence].tolist()}"
            )
        impossible = (self._columns.detach() == -math.inf) & (weights != 0)
        for sentence, column in impossible.nonzero().tolist():
            raise ValueError(
                f"sentence {sentence}: {column + 1} leaves have weight "
                f"{weights[sentence, column]}, but no tree has that many under the phrase length "
                f"limit {self.limits[sentence]}; log_partitions says which numbers are possible"
            )
        if count_weights is None:
            marginals = self.marginals
        else:
            marginals = self._gradient(
                lambda columns: weights * torch.where(weights != 0, columns, 0.0)
            )
        used = marginals.sum(-1).double()  # [batch, splits]
        # A span is a leaf if it is the root or a child of some node, and not a node itself.
        start, middle, stop = splits(self.sizes.longest).to(used.device).unbind(-1)
        result = used.new_zeros(len(used), span_count(self.sizes.longest))
        result.index_add_(1, span_index(start, middle), used)
        result.index_add_(1, span_index(middle, stop), used)
        result.index_add_(1, span_index(start, stop), used, alpha=-1)
        result.scatter_add_(1, self.sizes.root[:, None], weights.sum(1, keepdim=True))
        return result.clamp_(min=0.0).to(self.split_scores.dtype)
