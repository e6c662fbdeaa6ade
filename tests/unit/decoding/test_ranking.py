"""Scores: features times weights, per token if asked."""

import numpy as np
import pytest

from btg_seq2seq.decoding.ranking import Ranking
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, RankingWeights


def test_scores():
    features = np.arange(2.0 * len(FEATURES)).reshape(2, -1)
    weights = RankingWeights(forward=0.5, grammar=0.0, word=2.0)
    columns = [FEATURES.index(name) for name in ("forward", "word")]
    expected = features[:, columns] @ [0.5, 2.0]
    tokens = np.array([0, 3])
    assert Ranking(weights).scores(features, tokens) == pytest.approx(expected)
    normalised = Ranking(weights, True).scores(features, tokens)
    assert normalised == pytest.approx(expected / [1, 4])


def test_defaults_rank_by_probability():
    assert Ranking.of(DecodingSettings()) is None
    assert Ranking.of(DecodingSettings(length_normalised=True)) is not None
    ranking = Ranking.of(DecodingSettings(weights={"word": 1.0}))
    assert ranking == Ranking(RankingWeights(word=1.0))
