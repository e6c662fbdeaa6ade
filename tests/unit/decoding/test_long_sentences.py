"""Phrases in source order: the best strings, and no more work than there are phrases."""

import math
import tracemalloc
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_units import table_of

from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.hypotheses import TranslatedPhrase
from btg_seq2seq.decoding.long_sentences import cut_around, in_source_order


def phrases_of(choices):
    return [
        [TranslatedPhrase(i, i + 1, tuple(tokens), log_prob) for tokens, log_prob in own]
        for i, own in enumerate(choices)
    ]


strings = st.lists(st.sampled_from([5, 6]), max_size=2)
options = st.lists(st.tuples(strings, st.floats(-3, 0)), min_size=1, max_size=3)


@given(st.lists(options, min_size=1, max_size=4))
def test_strings_have_the_sum_of_their_derivations(choices):
    expected, best = {}, {}
    for ways in product(*choices):
        string = tuple(token for tokens, _ in ways for token in tokens)
        log_prob = sum(log_prob for _, log_prob in ways)
        expected[string] = expected.get(string, 0.0) + math.exp(log_prob)
        best[string] = max(best.get(string, -math.inf), log_prob)
    found = in_source_order(phrases_of(choices), 1000)
    assert {one.tokens: math.exp(one.log_prob) for one in found} == pytest.approx(expected)
    assert {one.tokens: one.log_best for one in found} == pytest.approx(best)
    for one in found:
        assert [phrase.start for phrase in one.phrases] == [*range(len(choices))]
        assert sum(one.derivation.log_probs) == pytest.approx(one.log_best)
    masses = [one.log_prob for one in found]
    assert masses == sorted(masses, reverse=True)
    shorter = in_source_order(phrases_of(choices[:1]), 2)
    assert len(shorter) <= 2


def test_phrases_meet_between_words_if_any_can():
    table = table_of(10, [6]).numpy()
    (first, *_) = in_source_order(phrases_of([[([5], 0.0)], [([6], -1.0), ([5], -3.0)]]), 5, table)
    assert first.tokens == (5, 5)
    (only,) = in_source_order(phrases_of([[([5], 0.0)], [([6], -1.0)]]), 5, table)
    assert only.tokens == (5, 6)
    (rule, *_) = in_source_order(phrases_of([[([99], 0.0)], [([6], -1.0)]]), 5, table)
    assert rule.tokens == (99, 6)


def test_memory_grows_with_the_number_of_phrases():
    choices = [[([5, 6, 7], -1.0), ([8, 9], -1.5)]] * 4000
    phrases = phrases_of(choices)
    tracemalloc.start()
    in_source_order(phrases, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_cutting():
    rules = [RuleSpan(2, 4, ((5,),), 0), RuleSpan(4, 5, ((5,),), 1)]
    assert cut_around(9, 3, rules) == [(0, 2), (2, 4), (4, 5), (5, 7), (7, 9)]
    assert cut_around(5, 5, rules) == [(0, 2), (2, 4), (4, 5)]
    assert cut_around(5, 2, []) == [(0, 1), (1, 3), (3, 5)]
