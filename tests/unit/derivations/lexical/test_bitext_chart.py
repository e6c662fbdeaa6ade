"""The bitext chart against an enumeration of all derivations."""

import math
from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.derivations.lexical.bitext_chart import BitextChart
from btg_seq2seq.grammar import Tree


@cache
def derivations(units, others, phrases):
    """Every derivation: phrase pairs (i, k, a, c) in target order."""
    found = []
    for posts in oracle.tilings(0, units, phrases, units):
        trees = [tree for tree in oracle.bracketings(posts) if oracle.is_normal(tree)]
        for tree in trees:
            sources = oracle.phrases(tree)
            for cuts in oracle.tilings(0, others, phrases, others):
                pairs = zip(sources, pairwise(cuts), strict=True)
                found.append(tuple((*source, *target) for source, target in pairs))
    return found


@cache
def inverted_nodes(sources):
    return sum(node.inverted for node in Tree.from_phrases(sources).nodes)


def weight(scores, derivation, log_orders=(0.0, 0.0)):
    inverted = inverted_nodes(tuple((i, k) for i, k, _, _ in derivation))
    orders = (len(derivation) - 1 - inverted) * log_orders[0] + inverted * log_orders[1]
    return orders + sum(scores[oracle.SPAN_INDEX[i, k], a, c] for i, k, a, c in derivation)


def log_sum(values):
    highest = max(values, default=-math.inf)
    if highest == -math.inf:
        return highest
    return highest + math.log(sum(math.exp(value - highest) for value in values))


@st.composite
def charts(draw, scales=(0.0, 1.0, 30.0, 690.0)):
    units, others = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    most = draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (units * (units + 1) // 2, others + 1, others + 1)
    scores = -draw(st.sampled_from(scales)) * random.random(shape)
    forbidden = draw(st.sampled_from([0.0, 0.0, 0.3, 0.8]))
    scores[random.random(shape) < forbidden] = -np.inf
    log_orders = draw(st.sampled_from([(0.0, 0.0), (-0.2, -1.7), (-700.0, -0.1)]))
    return units, others, most, scores, log_orders


def check(units, others, most, scores, log_orders, chart):
    assert chart.most == min(most, units, others)
    for phrases in range(1, chart.most + 1):
        found = derivations(units, others, phrases)
        assert len(set(found)) == len(found)
        weights = [weight(scores, derivation, log_orders) for derivation in found]
        total, best = log_sum(weights), max(weights)
        assert chart.log_partitions[phrases - 1] == pytest.approx(total, rel=1e-12, abs=1e-10)
        assert chart.log_maxima[phrases - 1] == pytest.approx(best, rel=1e-12, abs=1e-10)
        if total == -math.inf:
            with pytest.raises(ValueError, match=f"no derivation with {phrases} phrases"):
                chart.best(phrases)
            continue
        tree, targets = chart.best(phrases)
        pairs = tuple((*s, *t) for s, t in zip(tree.phrases, targets, strict=True))
        assert pairs in found
        assert weight(scores, pairs, log_orders) == pytest.approx(best, rel=1e-12, abs=1e-10)
        trees = {}
        for derivation, log_weight in zip(found, weights, strict=True):
            sources = tuple((i, k) for i, k, _, _ in derivation)
            trees.setdefault(sources, []).append(log_weight)
        for sources, log_weights in trees.items():
            expected = log_sum(log_weights) - total
            log_prob = chart.tree_log_prob(Tree.from_phrases(sources))
            assert log_prob == pytest.approx(expected, rel=1e-9, abs=1e-9)
        own = np.zeros(chart.most)
        own[phrases - 1] = 1.0
        posteriors = chart.phrase_posteriors(own)
        expected = np.zeros_like(posteriors)
        for derivation, log_weight in zip(found, weights, strict=True):
            for i, k, a, c in derivation:
                expected[oracle.SPAN_INDEX[i, k], a, c] += math.exp(log_weight - total)
        np.testing.assert_allclose(posteriors, expected, rtol=1e-9, atol=1e-12)


@given(charts())
def test_every_quantity_is_that_of_the_enumeration(case):
    check(*case, BitextChart(case[3], case[2], case[4]))


@given(charts())
def test_logarithms_give_the_same(case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BitextChart, "largest", 0.0)
        check(*case, BitextChart(case[3], case[2], case[4]))


@pytest.mark.parametrize("largest", [0.0, BitextChart.largest])
@pytest.mark.parametrize("phrases", [1, 2, 3])
def test_samples_have_their_probabilities(phrases, largest, monkeypatch):
    monkeypatch.setattr(BitextChart, "largest", largest)
    random = np.random.default_rng(0)
    scores = -2 * random.random((6, 4, 4))
    chart = BitextChart(scores, 3)
    found = derivations(3, 3, phrases)
    draws = 4000
    counts = Counter()
    for _ in range(draws):
        tree, targets = chart.sample(phrases, random.random(3))
        counts[tuple((*s, *t) for s, t in zip(tree.phrases, targets, strict=True))] += 1
    total = chart.log_partitions[phrases - 1]
    for derivation in found:
        probability = math.exp(weight(scores, derivation) - total)
        deviation = math.sqrt(draws * probability * (1 - probability))
        assert abs(counts[derivation] - draws * probability) <= 5 * deviation + 1
    assert sum(counts[derivation] for derivation in found) == draws


def test_bad_scores_are_refused():
    for scores in (np.zeros((2, 3, 3)), np.zeros((3, 1, 1)), np.full((3, 3, 3), np.nan)):
        with pytest.raises(ValueError, match="scores"):
            BitextChart(scores, 2)
    with pytest.raises(ValueError, match="one phrase or more"):
        BitextChart(np.zeros((3, 3, 3)), 0)
    with pytest.raises(ValueError, match="count_weights"):
        BitextChart(np.zeros((3, 3, 3)), 2).phrase_posteriors(np.ones(3))
