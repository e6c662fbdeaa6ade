"""The parsers of a sentence pair: prior and posterior over trees, and target segmentations."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from btg_seq2seq.grammar import (
    LeafCRF,
    TreeBatch,
    TreeCRF,
    truncated_geometric,
)
from btg_seq2seq.grammar.descent import Chooser
from btg_seq2seq.model.reading import Pair
from btg_seq2seq.model.transducer import BTGSeq2Seq


def most_segments(model: BTGSeq2Seq, pair: Pair) -> Tensor:
    """Return the most phrases that each sentence pair can be cut into, ``[batch]``."""
    shorter = torch.minimum(pair.source.units, pair.target.units)
    return shorter.clamp(max=model.config.max_segments)


def draw_segments(maximum: Tensor, rate: float, uniforms: Tensor) -> Tensor:
    """Draw a number of phrases n > 1 for each sentence by itself; 1 if no other is possible.

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
        """Build parsers that give every derivation the same weight."""
        zeros = map(torch.zeros_like, (pair.prior_scores, pair.posterior_scores, pair.leaf_scores))
        return cls.of(model, Pair(pair.source, pair.target, pair.states, *zeros), segments)

    @classmethod
    def of(cls, model: BTGSeq2Seq, pair: Pair, segments: Tensor) -> Parsers:
        """Build both parsers for the given numbers of leaves."""
        limit = model.config.max_phrase_length
        prior, posterior = (
            TreeCRF(scores, pair.source.units, segments, limit)
            for scores in (pair.prior_scores, pair.posterior_scores)
        )
        return cls(prior, posterior, pair, limit)

    def leaves(self, trees: TreeBatch) -> LeafCRF:
        """Return the distribution over target segmentations along given trees."""
        return LeafCRF(self.pair.leaf_scores, self.pair.target.units, trees, self.limit)
