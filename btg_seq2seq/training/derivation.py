"""Derivations of a batch of sentence pairs: drawn from the posterior, its best, or given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.grammar import (
    LeafCRF,
    Segmentation,
    SegmentationBatch,
    Tree,
    TreeBatch,
    TreeCRF,
    truncated_geometric,
)
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.transducer import BTGSeq2Seq, Pair


def most_segments(model: BTGSeq2Seq, pair: Pair) -> Tensor:
    """Most phrases that each sentence pair can be cut into, ``[batch]``."""
    shorter = torch.minimum(pair.source.lengths, pair.target.lengths)
    return shorter.clamp(max=model.config.max_segments)


def draw_segments(maximum: Tensor, rate: float) -> Tensor:
    """A number of phrases n > 1 for each sentence, by itself; 1 where no other is possible."""
    log_probs = truncated_geometric(rate, maximum.clamp(min=2), at_least=2)
    counts = torch.multinomial(log_probs.exp(), 1)[:, 0] + 1
    return torch.where(maximum > 1, counts, 1)


@dataclass(frozen=True)
class Parsers:
    """Prior and posterior over the trees of a batch, with the same numbers of leaves."""

    prior: TreeCRF
    posterior: TreeCRF
    pair: Pair
    limit: int | None

    @classmethod
    def of(cls, model: BTGSeq2Seq, pair: Pair, segments: Tensor) -> Parsers:
        """Both parsers for the given numbers of leaves."""
        limit = model.config.max_phrase_length
        prior, posterior = (
            TreeCRF(scores, pair.source.lengths, segments, limit)
            for scores in (pair.prior_scores, pair.posterior_scores)
        )
        return cls(prior, posterior, pair, limit)

    def leaves(self, trees: TreeBatch) -> LeafCRF:
        """Distribution over target segmentations along given trees."""
        return LeafCRF(self.pair.leaf_scores, self.pair.target.lengths, trees, self.limit)


@dataclass(frozen=True)
class Derivation:
    """One derivation a sentence and how likely the seq2seq model finds it."""

    trees: TreeBatch
    leaves: LeafCRF
    segmentations: SegmentationBatch
    log_prob: Tensor  # [batch]: log p(leaves | x, tree)

    @classmethod
    def sample(cls, model: BTGSeq2Seq, parsers: Parsers) -> Derivation:
        """Draw a tree and a segmentation from the posterior."""
        trees = parsers.posterior.sample()
        leaves = parsers.leaves(trees)
        return cls._scored(model, parsers.pair, trees, leaves, leaves.sample())

    @classmethod
    @torch.no_grad()
    def best(cls, model: BTGSeq2Seq, parsers: Parsers) -> Derivation:
        """The most probable tree and its most probable segmentation; without gradients."""
        trees = parsers.posterior.argmax
        leaves = parsers.leaves(trees)
        return cls._scored(model, parsers.pair, trees, leaves, leaves.argmax)

    @classmethod
    def given(
        cls,
        model: BTGSeq2Seq,
        parsers: Parsers,
        trees: Sequence[Tree],
        segmentations: Sequence[Segmentation],
    ) -> Derivation:
        """Gold trees and target phrases."""
        batch = TreeBatch.from_trees(trees).to(parsers.pair.states.device)
        targets = SegmentationBatch.from_lists(segmentations).to(parsers.pair.states.device)
        return cls._scored(model, parsers.pair, batch, parsers.leaves(batch), targets)

    @classmethod
    def _scored(
        cls,
        model: BTGSeq2Seq,
        pair: Pair,
        trees: TreeBatch,
        leaves: LeafCRF,
        segmentations: SegmentationBatch,
    ) -> Derivation:
        phrases = PhrasePairs.forward(trees, segmentations)
        log_prob = model.phrase_log_probs(pair, phrases).sum(1)
        return cls(trees, leaves, segmentations, log_prob)
