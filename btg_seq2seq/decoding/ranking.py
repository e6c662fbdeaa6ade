"""The score by which translations are ranked: the one place where features are combined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from btg_seq2seq.decoding.phrase_translator import Floats, Integers
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights


@dataclass(frozen=True)
class Ranking:
    """A log-linear score: the sum of all features, each times its weight.

    Args:
        weights: weights of the features.
        length_normalised: the score is divided by the number of tokens, including the end token.
    """

    weights: RankingWeights
    length_normalised: bool = False

    @classmethod
    def of(cls, settings: DecodingSettings) -> Ranking | None:
        """Return the ranking of flat and cky; ``None`` if they rank by probability."""
        if settings.ranks_by_probability:
            return None
        return cls(settings.weights, settings.length_normalised)

    def scores(self, features: Floats, tokens: Integers) -> Floats:
        """Score translations, ``[strings]``, with these features and numbers of tokens."""
        weights = np.array(self.weights.values)
        total = (features * weights).sum(1)
        return np.asarray(total / (tokens + 1) if self.length_normalised else total)
