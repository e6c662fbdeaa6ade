"""Minimum Bayes risk: the text most like the others wins."""

import math

import pytest
from sacrebleu.metrics.chrf import CHRF
from tiny_translators import translator_of

from btg_seq2seq.translation.ranking.minimum_risk import MOST, by_expected_chrf
from btg_seq2seq.translation.translation import Alternative


def ranked(*texts):
    return [(Alternative(text, log_prob), (1.0,)) for text, log_prob in texts]


def test_a_text_like_others_wins_over_one_that_is_alone():
    texts = ranked(
        ("nothing alike", math.log(0.4)),
        ("the small dog saw it", math.log(0.3)),
        ("the small dog saw", math.log(0.29)),
        ("impossible", -math.inf),
    )
    found = by_expected_chrf(texts)
    assert found[0][0].text.startswith("the small dog saw")
    assert len(found) == 3
    weights = [0.4 / 0.99, 0.3 / 0.99, 0.29 / 0.99]
    for one, _ in found:
        metric = CHRF()
        expected = sum(
            weight * metric.sentence_score(one.text, [other.text]).score
            for weight, (other, _) in zip(weights, texts, strict=False)
        )
        assert one.rank_score == pytest.approx(expected)
    assert {one.log_prob for one, _ in found} == {one.log_prob for one, _ in texts[:3]}


def test_few_are_compared():
    texts = ranked(*((f"text {rank}", -float(rank)) for rank in range(3 * MOST)))
    assert len(by_expected_chrf(texts)) == MOST
    assert by_expected_chrf([]) == []
    only = ranked(("nothing", -math.inf))
    assert by_expected_chrf(only) == only


@pytest.mark.parametrize("mode", ["flat", "cky", "rescored"])
def test_every_mode(mode):
    translator = translator_of("bpe")
    (found,) = translator.translate(["the dog saw"], mode, nbest=3, minimum_risk=True)
    assert found.ranked_by == "expected chrF"
    scores = [found.rank_score, *(one.rank_score for one in found.alternatives)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 100 for score in scores)
