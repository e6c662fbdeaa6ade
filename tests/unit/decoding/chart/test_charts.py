"""The chart against an enumeration of all derivations, with phrase models that can be listed."""

import math
from collections import defaultdict
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import SPAN_INDEX, TreeOracle, forest, phrases
from strategies import to_public

from btg_seq2seq.decoding.chart.charts import (
    Chart,
    StringPool,
    leaves_beside,
    run_charts,
    skeletons,
)
from btg_seq2seq.grammar import Tree

STRINGS = [(a,) for a in (0, 1)] + [(a, b) for a in (0, 1) for b in (0, 1)]
UNBOUNDED = 10**6


class Case:
    """A sentence with scores and a table of phrases; everything is drawn from one seed."""

    def __init__(self, seed, length, segments, limit, scale, missing):
        generator = np.random.default_rng(seed)
        self.length, self.segments, self.limit = length, segments, limit
        self.scores = generator.normal(0, scale, (math.comb(length + 1, 3), 2))
        self.log_counts = generator.normal(0, 1, segments)
        self.table = {}
        for span in SPAN_INDEX:
            whole = span == (0, length)
            if span[1] > length or (span[1] - span[0] > limit and not whole):
                continue
            if generator.random() < missing and not whole:
                continue
            chosen = generator.permutation(len(STRINGS))[: generator.integers(1, 4)]
            self.table[span] = {
                STRINGS[s]: float(-generator.exponential(max(scale, 1.0))) for s in chosen
            }

    def chart(self, pool):
        spans = self.length * (self.length + 1) // 2
        begins, counts = np.zeros((2, spans), np.int64)
        for span, strings in self.table.items():
            tokens = [token for string in strings for token in string]
            begins[SPAN_INDEX[span]] = pool.add(tokens, [*map(len, strings)], [*strings.values()])
            counts[SPAN_INDEX[span]] = len(strings)
        args = (self.length, self.segments, self.scores, begins, counts, self.log_counts)
        return Chart(*args)

    def derivations(self):
        """(string, log mass, leaves) of every tree with every choice of phrases."""
        whole = self.table[(0, self.length)]
        for string, log_prob in whole.items():
            yield string, self.log_counts[0] + log_prob, [(0, self.length)]
        for n in range(2, self.segments + 1):
            listed = forest(0, self.length, n, self.limit)
            weights = listed.log_weights(torch.from_numpy(self.scores)).tolist()
            for tree, weight in zip(listed.trees, weights, strict=True):
                leaves = [tuple(phrase) for phrase in phrases(tree)]
                if not all(leaf in self.table for leaf in leaves):
                    continue
                for choice in product(*(self.table[leaf].items() for leaf in leaves)):
                    string = tuple(token for part, _ in choice for token in part)
                    log_prob = sum(log_prob for _, log_prob in choice)
                    yield string, self.log_counts[n - 1] + weight + log_prob, leaves

    def enumerate(self):
        masses, best = defaultdict(list), {}
        for string, mass, leaves in self.derivations():
            masses[string].append((mass, len(leaves)))
            if string not in best or mass > best[string]:
                best[string] = mass
        return masses, best


@st.composite
def cases(draw, max_length=5, scales=(0.3, 2.0, 60.0, 2000.0)):
    length = draw(st.integers(1, max_length))
    segments = draw(st.integers(1, min(length, 4)))
    limit = draw(st.integers(-(-length // segments), length))
    missing = draw(st.sampled_from([0.0, 0.3]))
    seed = draw(st.integers(0, 2**32 - 1))
    return Case(seed, length, segments, limit, draw(st.sampled_from(scales)), missing)


def tokens_of(string, pool):
    return tuple(token for *_, row in string.leaves for token in pool.tokens(row))


def log_sum(values):
    return float(np.logaddexp.reduce(values))


@given(st.lists(cases(), min_size=1, max_size=3))
def test_without_bounds_every_string_has_its_exact_mass(batch):
    pool = StringPool()
    charts = [case.chart(pool) for case in batch]
    results = run_charts(charts, pool, UNBOUNDED, 2000)
    for case, result in zip(batch, results, strict=True):
        masses, best = case.enumerate()
        found = {tokens_of(string, pool): string for string in result}
        assert len(found) == len(result) == len(masses)
        for tokens, string in found.items():
            expected = log_sum([mass for mass, _ in masses[tokens]])
            assert string.log_mass == pytest.approx(expected, rel=1e-9, abs=1e-9)
            self_mass = derivation_mass(case, string, pool)
            assert self_mass == pytest.approx(best[tokens], rel=1e-9, abs=1e-9)
            assert string.log_best == pytest.approx(best[tokens], rel=1e-9, abs=1e-9)
            check_posterior(string, masses[tokens])
        ranked = [string.log_mass for string in result]
        assert ranked == sorted(ranked, reverse=True)


def derivation_mass(case, string, pool):
    """Log mass of the one derivation that the chart says is the best."""
    n = len(string.leaves)
    mass = case.log_counts[n - 1]
    for start, stop, row in string.leaves:
        mass += case.table[(start, stop)][pool.tokens(row)]
    if n == 1:
        return mass
    wanted = Tree.from_phrases((start, stop) for start, stop, _ in string.leaves)
    listed = forest(0, case.length, n, case.limit)
    weights = listed.log_weights(torch.from_numpy(case.scores))
    (place,) = [p for p, tree in enumerate(listed.trees) if to_public(tree) == wanted]
    return mass + weights[place].item()


def check_posterior(string, masses):
    for n, share in enumerate(string.posterior, 1):
        expected = sum(math.exp(mass - string.log_mass) for mass, count in masses if count == n)
        assert share == pytest.approx(expected, abs=1e-9)
    assert sum(string.posterior) == pytest.approx(1.0)


@given(cases(scales=(0.3, 2.0)), st.integers(1, 4))
def test_a_finite_beam_never_reports_more_than_there_is(case, beam):
    pool = StringPool()
    (result,) = run_charts([case.chart(pool)], pool, beam, 2000)
    masses, _ = case.enumerate()
    assert result
    for string in result:
        exact = log_sum([mass for mass, _ in masses[tokens_of(string, pool)]])
        assert string.log_mass <= exact + 1e-9


@given(cases())
def test_fewer_results_are_the_first_of_more(case):
    pool = StringPool()
    chart = case.chart(pool)
    (all_strings,) = run_charts([chart], pool, 3, 500)
    (first,) = run_charts([chart], pool, 3, 2)
    assert first == all_strings[:2]


@given(cases())
def test_skeletons_are_all_trees_without_their_strings(case):
    mask = np.zeros(case.length * (case.length + 1) // 2, bool)
    for span in case.table:
        mask[SPAN_INDEX[span]] = span != (0, case.length)
    (found,) = skeletons([case.scores], [case.length], [case.segments], [mask])
    for n in range(2, case.segments + 1):
        oracle = TreeOracle(torch.from_numpy(case.scores), case.length, n, case.limit)
        pairs = zip(oracle.outcomes, oracle.log_weights.tolist(), strict=True)
        allowed = [
            (weight, sorted(SPAN_INDEX[phrase] for phrase in phrases(tree)))
            for tree, weight in pairs
            if all(phrase in case.table for phrase in phrases(tree))
        ]
        if not allowed:
            assert found.log_partitions[n - 1] == -math.inf
            continue
        total = log_sum([weight for weight, _ in allowed])
        assert found.log_partitions[n - 1] == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert sorted(found.best[n - 1]) == max(allowed)[1]


@given(st.lists(cases(), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_best_trees_with_a_leaf(batch, seed):
    """All leaves of the best tree with a wanted leaf, for each number of leaves that counts."""
    generator = np.random.default_rng(seed)
    sizes = [case.length * (case.length + 1) // 2 for case in batch]
    masks, wanted = [np.zeros(size, bool) for size in sizes], []
    for case, mask in zip(batch, masks, strict=True):
        for span in case.table:
            mask[SPAN_INDEX[span]] = span != (0, case.length)
        wanted.append(generator.random(len(mask)) < 0.5)
        case.log_counts[generator.random(case.segments) < 0.3] = -np.inf
    found = leaves_beside(
        [case.scores for case in batch],
        [case.length for case in batch],
        [case.log_counts for case in batch],
        *(masks, wanted),
    )
    for case, mask, own, result in zip(batch, masks, wanted, found, strict=True):
        expected = set()
        for n in range(2, case.segments + 1):
            oracle = TreeOracle(torch.from_numpy(case.scores), case.length, n, case.limit)
            trees = [
                (weight, [SPAN_INDEX[phrase] for phrase in phrases(tree)])
                for tree, weight in zip(oracle.outcomes, oracle.log_weights.tolist(), strict=True)
            ]
            for leaf in np.flatnonzero(own) if case.log_counts[n - 1] > -np.inf else ():
                possible = [pair for pair in trees if leaf in pair[1] and mask[pair[1]].all()]
                expected.update(max(possible)[1] if possible else ())
        assert {*np.flatnonzero(result)} == expected


def test_threads_change_nothing():
    batch = [Case(seed, 5, 4, 5, 1.0, 0.0) for seed in range(6)]
    pool = StringPool()
    charts = [case.chart(pool) for case in batch]
    one = run_charts(charts, pool, 50, 5)
    torch.set_num_threads(3)
    try:
        assert run_charts(charts, pool, 50, 5) == one
    finally:
        torch.set_num_threads(1)


def test_long_strings_are_told_apart():
    """Same tokens in another order, and one token more or less, are other strings."""
    pool = StringPool()
    texts = [(5, 6) * 200, (6, 5) * 200, (5, 6) * 199 + (5,), (0,) * 300, (0,) * 301]
    begin = pool.add([t for text in texts for t in text], [*map(len, texts)], [-1.0] * len(texts))
    begins, counts = np.array([[begin], [len(texts)]], np.int64)
    chart = Chart(1, 1, np.zeros((0, 2)), begins, counts, np.zeros(1))
    (result,) = run_charts([chart], pool, 10, 10)
    assert {tokens_of(string, pool) for string in result} == {*texts}
