"""The chart against an enumeration of all derivations, with phrase models that can be listed."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from listed_phrases import Case, cases
from oracle import forest
from strategies import to_public

from btg_seq2seq.decoding.chart.charts import Chart, StringPool, edges_of, run_charts
from btg_seq2seq.decoding.hypotheses import TranslatedPhrase
from btg_seq2seq.grammar import Tree
from btg_seq2seq.text.units import LETTER, begins_unit

UNBOUNDED = 10**6


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


def test_no_charts():
    assert run_charts([], StringPool(), 1, 1) == []


def test_pools_are_joined():
    one, other = StringPool(), StringPool()
    assert one.add([5, 6, 7], [2, 1], [-1.0, -2.0]) == 0
    assert one.add([8], [1], [0.0], rule=3) == 2
    other.add([9, 9], [2], [-4.0])
    both = one.joined(other)
    assert [both.tokens(string) for string in range(4)] == [(5, 6), (7,), (8,), (9, 9)]
    assert both.phrase(1, 2, 2) == TranslatedPhrase(1, 2, (8,), 0.0, 3)
    assert both.phrase(0, 1, 3) == TranslatedPhrase(0, 1, (9, 9), -4.0)
    assert (one.size, both.size) == (3, 4)


@given(cases(), st.lists(st.integers(0, 15), min_size=2, max_size=2))
def test_phrases_meet_only_between_units(case, entries):
    table = np.array(entries, np.uint8)

    def meets(before, after):
        return bool(begins_unit(table[before], table[after]))

    pool = StringPool()
    (result,) = run_charts([case.chart(pool)], pool, UNBOUNDED, 2000, table)
    masses, best = case.enumerate(meets)
    found = {
        tuple(token for leaf in string.leaves for token in pool.tokens(leaf[2])): string
        for string in result
    }
    assert found.keys() == masses.keys()
    for tokens, string in found.items():
        expected = np.logaddexp.reduce([mass for mass, _ in masses[tokens]])
        assert string.log_mass == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert string.log_best == pytest.approx(best[tokens], rel=1e-9, abs=1e-9)


def test_tokens_of_rules_meet_everything():
    pool = StringPool()
    pool.add([1, 0, 1 << 40], [2, 1], [0.0, 0.0])
    table = np.array([LETTER | LETTER << 2] * 2, np.uint8)
    follows, ends = edges_of(pool.all, table).T.tolist()
    assert (follows[0] & ends[0], follows[0] & ends[1], follows[1] & ends[0]) == (0, 1, 2)
