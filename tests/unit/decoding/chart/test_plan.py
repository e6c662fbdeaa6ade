"""Which spans are phrases with which probability: rules change their own spans, and no others."""

import math

import numpy as np
import pytest
import torch
from decoding_models import SMALL
from hypothesis import given
from hypothesis import strategies as st
from oracle import SPAN_INDEX, SPANS, TreeOracle

from btg_seq2seq.decoding.chart.plan import plan_sentences
from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.source_grammar import SourceGrammar
from btg_seq2seq.model.decoding_settings import DecodingSettings

GRAMMAR = SourceGrammar.uniform([], max_segments=3)


def plan(length, rules, seed=0, **settings):
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=(math.comb(length + 1, 3), 2))
    options = DecodingSettings(**({"span_threshold": 0.0, "max_segments": 4} | settings))
    (found,) = plan_sentences([length], [scores], [rules], options.completed_by(GRAMMAR))
    return found, torch.from_numpy(scores)


def expected_posterior(plan, scores, length, allowed):
    counts = np.exp(plan.log_counts[1:])
    parts = [
        weight * TreeOracle(scores, length, n, allowed).leaf_marginals
        for n, weight in enumerate(counts / counts.sum(), 2)
        if weight > 0
    ]
    return torch.stack(parts).sum(0).numpy()


def rule(start, stop, mode="prefer", number=0):
    return RuleSpan(start, stop, ((5,),), number, mode)


def test_a_long_preferred_rule_leaves_the_limit_of_other_phrases():
    """Spans of three or four words are no phrases beside the one that a rule is for."""
    length, limit = 7, 2
    found, scores = plan(length, [rule(1, 5)], max_phrase_length=limit)
    allowed = {(i, k) for i, k in SPANS if k <= length and k - i <= limit} | {(1, 5)}
    expected = expected_posterior(found, scores, length, frozenset(allowed))
    assert found.posterior == pytest.approx(expected, abs=1e-9)
    assert found.posterior[SPAN_INDEX[1, 5]] > 0
    for span in ((0, 3), (2, 6), (1, 4)):
        assert found.posterior[SPAN_INDEX[span]] == 0.0


spans_of_rules = st.tuples(st.integers(0, 6), st.integers(1, 4), st.sampled_from("fp"))


@given(st.lists(spans_of_rules, max_size=3), st.sampled_from([None, 2, 3]), st.integers(0, 99))
def test_posteriors_are_those_of_the_trees_that_are_left(drawn, limit, seed):
    length = 7
    rules = []
    for number, (start, size, mode) in enumerate(drawn):
        own = rule(start, min(length, start + size), "force" if mode == "f" else "prefer", number)
        if all(own.stop <= other.start or other.stop <= own.start for other in rules):
            rules.append(own)
    found, scores = plan(length, rules, seed, max_phrase_length=limit)
    forced = [(own.start, own.stop) for own in rules if own.mode == "force"]
    if found.segments > 4 or not np.isfinite(found.log_counts[1:]).any():
        assert (found.posterior == 0).all()
        return
    widest = limit if limit is not None and 4 * limit >= length else length
    allowed = {
        (i, k)
        for i, k in SPANS
        if k <= length
        and k - i <= widest
        and all(k <= start or stop <= i for start, stop in forced)
    }
    allowed |= {(own.start, own.stop) for own in rules}
    allowed -= {(0, length)}
    expected = expected_posterior(found, scores, length, frozenset(allowed))
    assert found.posterior == pytest.approx(expected, abs=1e-9)


def test_long_and_short_sentences_are_planned_as_if_alone(monkeypatch):
    generator = np.random.default_rng(0)
    lengths = [3, 9, 6, 2, 9]
    scores = [generator.normal(size=(math.comb(n + 1, 3), 2)) for n in lengths]
    rules = [[], [rule(0, 8)], [rule(1, 2, "force")], [], []]
    together = plan_sentences(lengths, scores, rules, SMALL.completed_by(GRAMMAR))
    monkeypatch.setattr("btg_seq2seq.decoding.chart.forests.MOST_SPLITS", 50)
    apart = plan_sentences(lengths, scores, rules, SMALL.completed_by(GRAMMAR))
    for one, other in zip(together, apart, strict=True):
        assert one.posterior == pytest.approx(other.posterior, abs=1e-9)
        assert (one.kept == other.kept).all()
