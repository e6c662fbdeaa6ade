"""Derivations of a batch of sentence pairs: drawn from the posterior, its best, or given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.grammar import LeafCRF, Segmentation, SegmentationBatch, Tree, TreeBatch
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq


@dataclass(frozen=True)
class DerivationBatch:
    """One derivation a sentence and how likely the seq2seq model finds it."""

    trees: TreeBatch
    leaves: LeafCRF
    segmentations: SegmentationBatch
    log_prob: Tensor  # [batch]: log p(leaves | x, tree)

    @classmethod
    def sample(
        cls, model: BTGSeq2Seq, parsers: Parsers, noise: Noise, draw: int
    ) -> DerivationBatch:
        """Draw a tree and a segmentation from the posterior."""
        choices = 2 * (model.config.max_segments - 1)
        trees = parsers.posterior.sample(uniforms=noise.uniforms(2 * draw, choices))
        leaves = parsers.leaves(trees)
        segmentations = leaves.sample(uniforms=noise.uniforms(2 * draw + 1, choices))
        return cls._scored(model, parsers.pair, trees, leaves, segmentations)

    @classmethod
    @torch.no_grad()
    def best(cls, model: BTGSeq2Seq, parsers: Parsers) -> DerivationBatch:
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
    ) -> DerivationBatch:
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
    ) -> DerivationBatch:
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
