"""Derivations of a batch of sentence pairs: drawn from the posterior, its best, or given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.grammar import (
    LeafCRF,
    Segmentation,
    SegmentationBatch,
    Tree,
    TreeBatch,
    TreeCRF,
    truncated_geometric,
)
from btg_seq2seq.grammar.descent import Chooser
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq


def most_segments(model: BTGSeq2Seq, pair: Pair) -> Tensor:
    """Most phrases that each sentence pair can be cut into, ``[batch]``."""
    shorter = torch.minimum(pair.source.lengths, pair.target.lengths)
    return shorter.clamp(max=model.config.max_segments)


def draw_segments(maximum: Tensor, rate: float, uniforms: Tensor) -> Tensor:
    """A number of phrases n > 1 for each sentence, by itself; 1 where no other is possible.

    ``uniforms`` are random numbers in [0, 1), ``[batch]``.
    """
    log_probs = truncated_geometric(rate, maximum.clamp(min=2), at_least=2)
    counts = Chooser(uniforms[:, None])(log_probs) + 1
    return torch.where(maximum > 1, counts, 1)


@dataclass(frozen=True)
class Parsers:
    """Prior and posterior over the trees of a batch, with the same numbers of leaves."""

    prior: TreeCRF
    posterior: TreeCRF
    pair: Pair
    limit: int | None

    @classmethod
    def uniform(cls, model: BTGSeq2Seq, pair: Pair, segments: Tensor) -> Parsers:
        """Parsers to which every derivation is as good as any other."""
        zeros = map(torch.zeros_like, (pair.prior_scores, pair.posterior_scores, pair.leaf_scores))
        return cls.of(model, Pair(pair.source, pair.target, pair.states, *zeros), segments)

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
    def sample(cls, model: BTGSeq2Seq, parsers: Parsers, noise: Noise, draw: int) -> Derivation:
        """Draw a tree and a segmentation from the posterior."""
        choices = 2 * (model.config.max_segments - 1)
        trees = parsers.posterior.sample(uniforms=noise.uniforms(2 * draw, choices))
        leaves = parsers.leaves(trees)
        segmentations = leaves.sample(uniforms=noise.uniforms(2 * draw + 1, choices))
        return cls._scored(model, parsers.pair, trees, leaves, segmentations)

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


_LENGTHS = (1, 2, 4, 8)  # the shortest phrases of each class of lengths


def length_shares(phrases: Tensor) -> dict[str, Tensor]:
    """A histogram: which share of a sentence's phrases has so many tokens, each ``[batch]``.

    ``phrases`` are spans, padded with empty ones, ``[batch, phrases, 2]``.
    """
    lengths = phrases[..., 1] - phrases[..., 0]
    count = (lengths > 0).sum(1)
    shares = {}
    for shortest, longer in zip(_LENGTHS, (*_LENGTHS[1:], None), strict=True):
        own = lengths >= shortest if longer is None else (lengths >= shortest) & (lengths < longer)
        shares[f"phrases_from_{shortest}"] = own.sum(1) / count
    return shares
