"""The chart with a ranking against an enumeration of all derivations and their features."""

from collections import defaultdict
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from listed_phrases import Case, cases
from oracle import forest, phrases

from btg_seq2seq.decoding.chart.charts import StringPool, run_charts
from btg_seq2seq.decoding.ranking import Ranking
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, RankingWeights

UNBOUNDED = 10**6
weights = st.builds(
    RankingWeights,
    forward=st.floats(0, 2),
    grammar=st.floats(0, 2),
    reverse=st.floats(-1, 1),
    word=st.floats(-1, 3),
    phrase=st.floats(-2, 2),
)


def features_of(case, seed):
    """Features of every string of every span; the first is its log-probability."""
    generator = np.random.default_rng(seed)
    found = {}
    for span, strings in case.table.items():
        for string, log_prob in strings.items():
            row = generator.normal(0, 1, len(FEATURES))
            row[FEATURES.index("forward")] = log_prob
            row[FEATURES.index("grammar")] = 0.0
            row[FEATURES.index("word")] = len(string)
            row[FEATURES.index("phrase")] = 1.0
            found[span, string] = row
    return found


def derivations(case, features, ranking):
    """String, score, log-probability and number of leaves of every derivation."""

    def leaf(span, string):
        total = float(features[span, string] @ np.array(ranking.weights.values))
        return total / (len(string) + 1) if ranking.length_normalised else total

    grammar = ranking.weights.grammar
    whole = (0, case.length)
    for string, log_prob in case.table[whole].items():
        count = case.log_counts[0]
        yield string, grammar * count + leaf(whole, string), count + log_prob, 1
    for n in range(2, case.segments + 1):
        listed = forest(0, case.length, n, case.limit)
        trees = listed.log_weights(torch.from_numpy(case.scores)).tolist()
        for tree, weight in zip(listed.trees, trees, strict=True):
            leaves = [tuple(phrase) for phrase in phrases(tree)]
            if not all(own in case.table for own in leaves):
                continue
            prior = case.log_counts[n - 1] + weight
            for choice in product(*(case.table[own].items() for own in leaves)):
                string = tuple(token for part, _ in choice for token in part)
                score = sum(leaf(own, part) for own, (part, _) in zip(leaves, choice, strict=True))
                log_prob = sum(value for _, value in choice)
                yield string, grammar * prior + score, prior + log_prob, n


@given(
    st.lists(cases(max_length=4, scales=(0.3, 2.0)), min_size=1, max_size=3),
    weights,
    st.booleans(),
    st.integers(0, 10),
)
def test_every_string_has_its_score_and_its_probability(batch, chosen, is_normalised, seed):
    ranking = Ranking(chosen, is_normalised)
    features = [features_of(case, seed) for case in batch]
    pool = StringPool(has_features=True)
    charts = [case.chart(pool, own) for case, own in zip(batch, features, strict=True)]
    results = run_charts(charts, pool, UNBOUNDED, 2000, ranking=ranking)
    for case, own, result in zip(batch, features, results, strict=True):
        listed = defaultdict(list)
        for string, score, log_prob, n in derivations(case, own, ranking):
            listed[string].append((score, log_prob, n))
        assert len(result) == len(listed)
        for string in result:
            tokens = tuple(token for *_, row in string.leaves for token in pool.tokens(row))
            scores, log_probs, counts = map(np.array, zip(*listed[tokens], strict=True))
            assert string.log_mass == pytest.approx(np.logaddexp.reduce(scores), abs=1e-8)
            assert string.log_best == pytest.approx(scores.max(), abs=1e-8)
            total = np.logaddexp.reduce(log_probs)
            assert string.log_prob == pytest.approx(total, abs=1e-8)
            for n, share in enumerate(string.posterior, 1):
                expected = np.exp(log_probs[counts == n] - total).sum()
                assert share == pytest.approx(expected, abs=1e-8)
        ranked = [string.log_mass for string in result]
        assert ranked == sorted(ranked, reverse=True)


@given(cases(max_length=4, scales=(0.3, 2.0)), st.integers(1, 3))
def test_default_weights_change_nothing(case, beam):
    features = features_of(case, 0)
    plain, scored = StringPool(), StringPool(has_features=True)
    (without,) = run_charts([case.chart(plain)], plain, beam, 100)
    charts = [case.chart(scored, features)]
    (ranked,) = run_charts(charts, scored, beam, 100, ranking=Ranking(RankingWeights()))
    assert [own.leaves for own in ranked] == [own.leaves for own in without]
    for one, other in zip(ranked, without, strict=True):
        assert one.log_mass == other.log_mass == other.log_prob
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-9)
        assert one.posterior == pytest.approx(other.posterior, abs=1e-9)


def test_features_act_before_pruning():
    """A long phrase that the beam of one would lose without its bonus."""
    case = Case(0, 2, 2, 2, 1.0, 0.0)
    case.scores, case.log_counts = np.zeros((1, 2)), np.array([-50.0, 0.0])
    case.table = {
        (0, 1): {(0,): -1.0, (1, 1): -2.0},
        (1, 2): {(0,): -1.0, (1, 1): -2.0},
        (0, 2): {(0,): -1.0},
    }
    features = features_of(case, 0)
    for word, expected in ((0.0, (0, 0)), (2.0, (1, 1, 1, 1))):
        pool = StringPool(has_features=True)
        ranking = Ranking(RankingWeights(word=word))
        (result,) = run_charts([case.chart(pool, features)], pool, 1, 5, ranking=ranking)
        tokens = tuple(token for *_, row in result[0].leaves for token in pool.tokens(row))
        assert tokens == expected
