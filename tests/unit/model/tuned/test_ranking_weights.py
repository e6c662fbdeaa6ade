"""Weights of features: their names, and what is refused."""

import math

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, LEXICAL, RankingWeights


def test_defaults_are_the_log_probability():
    weights = RankingWeights()
    assert weights.are_default
    assert weights.used == {"forward", "grammar"}
    assert not RankingWeights(word=0.1).are_default
    assert {*FEATURES} > LEXICAL
    assert dict(zip(FEATURES, weights.values, strict=True)) == weights.to_json()


def test_weights_of_a_file():
    assert RankingWeights.of({"word": 1}, "weights") == RankingWeights(word=1)
    assert RankingWeights.of(RankingWeights(word=1), "weights") == RankingWeights(word=1)
    assert RankingWeights.of(RankingWeights(word=1).to_json(), "") == RankingWeights(word=1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1], "weights must be weights by name"),
        ({"words": 1}, "weights: there is no feature 'words': forward, grammar"),
        ({"word": "1"}, "weights: the weight word must be a number, not 1"),
        ({"word": math.nan}, "weights: the weight word must be a number"),
        ({"word": math.inf}, "weights: the weight word must be a number"),
        ({"word": True}, "weights: the weight word must be a number"),
    ],
)
def test_anything_else_is_refused(values, message):
    with pytest.raises(UserError, match=message):
        RankingWeights.of(values, "weights")
