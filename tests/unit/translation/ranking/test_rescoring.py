"""Candidates of flat and cky, ranked together by features of whole sentences."""

import math

import numpy as np
import pytest
from tiny_translators import TEXTS, check_obedience, translator_of

from btg_seq2seq import Rule
from btg_seq2seq.decoding.features import FORWARD, GRAMMAR, PHRASE, WORD
from btg_seq2seq.decoding.ranking import Ranking
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights
from btg_seq2seq.translation.ranking.rescoring import Candidate, rescored, sentence_features

WEIGHTS = RankingWeights(forward=0.5, grammar=0.7, reverse=0.3, word=0.4, phrase=0.1)


def candidates_of(translator, texts):
    """The strings of the charts, as ``PreparedTexts`` makes them."""
    prepared = translator.prepare(texts)
    ranks = range(len(texts))
    ruled = prepared._apply([_no_rules()] * len(texts), ranks)
    found = prepared._decode(dict(zip(ranks, ruled, strict=True)))
    return [[Candidate(own, own.tokens) for own in found[rank].hypotheses] for rank in ranks]


def _no_rules():
    from btg_seq2seq.translation.rules.rules import RuleSet

    return RuleSet([])


def test_features_are_those_of_whole_sentences():
    translator = translator_of("bpe")
    texts = ["the dog saw", "it"]
    candidates = candidates_of(translator, texts)
    phrases = translator.phrases(translator.read(texts))
    features = sentence_features(phrases, candidates, WEIGHTS.used)
    rows = [(text, one) for text, own in zip(texts, candidates, strict=True) for one in own]
    assert len(features) == len(rows) > 6
    scores = translator.score([text for text, _ in rows], [[one.tokens] for _, one in rows])
    flat = [score.flat_log_prob for score in scores]
    assert features[:, FORWARD] == pytest.approx(flat, abs=1e-4)
    own = [one.hypothesis.log_prob for _, one in rows]
    assert features[:, GRAMMAR].tolist() == own
    assert (features[:, PHRASE] >= 1 - 1e-9).all()
    assert np.isfinite(features).all()
    assert features[:, WORD].max() > 1


def test_candidates_are_ranked_by_the_score():
    translator = translator_of("bpe")
    candidates = candidates_of(translator, ["the dog saw"])
    phrases = translator.phrases(translator.read(["the dog saw"]))
    features = sentence_features(phrases, candidates, WEIGHTS.used)
    lengths = np.array([len(one.tokens) for one in candidates[0]])
    for is_normalised in (False, True):
        (ranked,) = rescored(phrases, candidates, Ranking(WEIGHTS, is_normalised))
        scores = features @ WEIGHTS.values / (lengths + 1 if is_normalised else 1)
        expected = sorted(scores.tolist(), reverse=True)
        assert [one.rank_score for one in ranked] == pytest.approx(expected)
        assert {one.tokens for one in ranked} == {one.tokens for one in candidates[0]}


def test_the_mode_rescored():
    translator = translator_of("bpe")
    settings = {"rescoring": WEIGHTS, "weights": {"word": 0.2}}
    found = translator.translate(TEXTS, "rescored", nbest=3, **settings)
    for text, one in zip(TEXTS, found, strict=True):
        assert one.mode == "rescored"
        assert one.source == text
        if text:
            assert one.ranked_by == "score"
            scores = [one.rank_score, *(other.rank_score for other in one.alternatives)]
            assert scores == sorted(scores, reverse=True)
            (alone,) = translator.translate([text], "rescored", nbest=3, **settings)
            assert alone.text == one.text
            assert alone.rank_score == pytest.approx(one.rank_score, abs=1e-4)
    # The probability is what cky reports, whatever the ranking.
    prepared = translator.prepare(TEXTS, weights={"word": 0.2})
    log_probs = [one.log_prob for one in found]
    assert prepared.score(found) == pytest.approx(log_probs, abs=1e-4)


def test_rules_are_obeyed():
    translator = translator_of("bpe")
    rules = [Rule("dog", ["the cat", "a dog"]), Rule("saw", "§§"), Rule("it", "the", mode="prefer")]
    texts = ["the dog saw it", "it saw"]
    found = translator.translate(texts, "rescored", rules, rescoring=WEIGHTS)
    for one in found:
        check_obedience(rules, one)
        assert one.log_prob > -math.inf
