"""Derivations of a batch of sentence pairs, as tensors: drawn, most probable or given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.grammar import LeafCRF, Segmentation, SegmentationBatch, Tree, TreeBatch
from btg_seq2seq.model.phrases import PhrasePairs
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq


@dataclass(frozen=True)
class DerivationBatch:
    """One derivation per sentence pair, with its likelihood under the seq2seq model."""

    trees: TreeBatch
    leaves: LeafCRF
    segmentations: SegmentationBatch
    phrase_log_probs: Tensor  # [batch, phrases]: of each target phrase given its source phrase

    @cached_property
    def log_prob(self) -> Tensor:
        """``log p(leaves | x, tree)``, ``[batch]``."""
        return self.phrase_log_probs.sum(1)

    def __len__(self) -> int:
        return len(self.trees)

    def __getitem__(self, row: int) -> Derivation:
        tree, phrases = self.trees[row], self.segmentations[row]
        log_probs = self.phrase_log_probs[row, : len(phrases)].tolist()
        return Derivation(tree, phrases, tuple(log_probs))

    @classmethod
    def sample(
        cls, model: BTGSeq2Seq, parsers: Parsers, noise: Noise, draw: int
    ) -> DerivationBatch:
        """Draw trees and segmentations from the posterior."""
        choices = 2 * (model.config.max_segments - 1)
        trees = parsers.posterior.sample(uniforms=noise.uniforms(2 * draw, choices))
        leaves = parsers.leaves(trees)
        segmentations = leaves.sample(uniforms=noise.uniforms(2 * draw + 1, choices))
        return cls._scored(model, parsers.pair, trees, leaves, segmentations)

    @classmethod
    @torch.no_grad()
    def best(cls, model: BTGSeq2Seq, parsers: Parsers) -> DerivationBatch:
        """Find the most probable trees and segmentations along them; without gradients."""
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
        """Score given trees and target phrases, such as gold ones."""
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
        return cls(trees, leaves, segmentations, model.phrase_log_probs(pair, phrases))


_LENGTHS = (1, 2, 4, 8)  # least length of each bin of the histogram


def length_shares(phrases: Tensor) -> dict[str, Tensor]:
    """Compute a histogram of phrase lengths: the share of each bin in a sentence, ``[batch]``.

    ``phrases`` are spans, padded with empty ones, ``[batch, phrases, 2]``.
    """
    lengths = phrases[..., 1] - phrases[..., 0]
    count = (lengths > 0).sum(1)
    shares = {}
    for shortest, longer in zip(_LENGTHS, (*_LENGTHS[1:], None), strict=True):
        own = lengths >= shortest if longer is None else (lengths >= shortest) & (lengths < longer)
        shares[f"phrases_from_{shortest}"] = own.sum(1) / count
    return shares
