"""Cky decoding under rules: forced spans are obeyed whatever the weights, others compete."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from decoding_models import (
    SMALL,
    assert_same,
    check_provenance,
    check_rules,
    prepare,
    sentences,
    tiny_model,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import SPAN_INDEX

from btg_seq2seq.decoding.chart import plan as planning
from btg_seq2seq.decoding.chart.forests import leaves_beside, possible_counts
from btg_seq2seq.decoding.constraints import RuleSpan

MODEL = tiny_model(max_segments=3)
LENGTHS = [5, 1, 7, 3]


@st.composite
def rule_sets(draw, lengths):
    """Forced spans that do not overlap, and preferred ones anywhere."""
    sets = []
    for length in lengths:
        rules, position = [], 0
        while position < length and draw(st.booleans()):
            start = draw(st.integers(position, length - 1))
            stop = draw(st.integers(start + 1, length))
            target = st.lists(st.integers(3, 35), min_size=1, max_size=4)
            targets = draw(st.lists(target, min_size=1, max_size=3))
            rules.append(RuleSpan(start, stop, tuple(map(tuple, targets)), len(rules), "force"))
            position = stop
        if draw(st.booleans()):
            start = draw(st.integers(0, length - 1))
            stop = draw(st.integers(start + 1, length))
            rules.append(RuleSpan(start, stop, ((7, 8),), len(rules), "prefer"))
        sets.append(draw(st.permutations(rules)))
    return sets


RULE_LENGTHS = [7, 4, 1, 12]


@settings(max_examples=25)
@given(
    rule_sets(RULE_LENGTHS),
    st.sampled_from([0.0, 1.0, 100.0, 1e30]),
    st.sampled_from([0.0, 0.02, 1.0]),
    st.sampled_from([None, 2]),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_forced_spans_are_always_obeyed(rules, scale, threshold, limit, flat_weight):
    options = replace(
        SMALL,
        span_threshold=threshold,
        max_phrase_length=limit,
        flat_weight=flat_weight,
        max_cky_length=10,  # the last sentence is longer
    )
    prepared = prepare(MODEL, sentences(MODEL, RULE_LENGTHS), options)
    for scores in prepared._scores.values():
        scores *= scale
    for length, own, result in zip(RULE_LENGTHS, rules, prepared.decode(rules, 3), strict=True):
        check_rules(result, own)
        for hypothesis in result.hypotheses:
            check_provenance(hypothesis, length)
            assert np.isfinite(hypothesis.log_prob)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
def test_rules_hold_for_broken_parsers(value):
    model = tiny_model(max_segments=3)
    with torch.no_grad():
        model.prior.output[0] = value
    rules = [[RuleSpan(1, 3, ((5, 6),), 0), RuleSpan(4, 5, ((9,),), 1)]]
    (result,) = prepare(model, sentences(model, [7]), SMALL).decode(rules, 2)
    check_rules(result, rules[0])


def test_preferred_targets_compete():
    (source,) = sentences(MODEL, [5])
    prepared = prepare(MODEL, [source], replace(SMALL, flat_weight=0.0))
    rule = RuleSpan(0, 2, ((5, 6),), 4, "prefer")
    (with_rule,) = prepared.decode([[rule]])
    (without,) = prepared.decode()
    # The random model gives every phrase a small probability, so that a rule with 1 wins.
    assert 4 in [phrase.rule for phrase in with_rule.hypotheses[0].phrases]
    assert with_rule.hypotheses[0].log_prob > without.hypotheses[0].log_prob
    (whole,) = prepare(MODEL, [source], SMALL).decode([[replace(rule, stop=5)]])
    assert whole.hypotheses[0].tokens == (5, 6)
    assert whole.hypotheses[0].log_prob == pytest.approx(np.log(0.5))


def test_preferred_spans_have_trees_in_pruned_charts():
    """Every span in turn, where a sharp parser leaves no more than the best trees."""
    length = 8
    options = replace(SMALL, span_threshold=0.05, flat_weight=0.0)
    prepared = prepare(MODEL, sentences(MODEL, [length]), options)
    prepared._scores[0] *= 100
    (plain,) = prepared.plans([()]).values()
    for start, stop in [(i, k) for k in range(1, length + 1) for i in range(k)]:
        rule = RuleSpan(start, stop, ((5, 6),), 4, "prefer")
        (plan,) = prepared.plans([[rule]]).values()
        assert not (plain.kept & ~plan.kept).any()
        mask = plan.kept.copy()
        for i, k in SPAN_INDEX:
            if k <= length and i < stop and start < k and (i, k) != (start, stop):
                mask[SPAN_INDEX[i, k]] = False
        counts = [n for n in (2, 3) if possible_counts(length, mask, 3)[n - 1]]
        ends = {0, start, stop, length}
        if stop - start == length:  # no whole sentences
            assert plan.ignored == [4]
        else:
            assert plan.ignored == []
            assert counts == [
                n for n in (2, 3) if len(ends) - 1 <= n <= length - (stop - start) + 1
            ]


def test_many_preferred_spans_are_one_pass(monkeypatch):
    calls = []

    def counted(scores, *arguments):
        calls.append(len(scores))
        return leaves_beside(scores, *arguments)

    monkeypatch.setattr(planning, "leaves_beside", counted)
    prepared = prepare(MODEL, sentences(MODEL, [12, 3, 5]), SMALL)
    own = [RuleSpan(i, k, ((5,),), k, "prefer") for k in range(1, 13) for i in range(k)]
    plans = prepared.plans([own, [], own[:2]])
    assert calls == [2]
    assert plans[0].kept.sum() == len(own) - 1  # except for the whole sentence


def test_rules_are_looked_up_by_span():
    """Not one by one for each span: that would be quadratic."""
    passes = 0

    class Counted(list):
        def __iter__(self):
            nonlocal passes
            passes += 1
            return super().__iter__()

    prepared = prepare(MODEL, sentences(MODEL, [12]), SMALL)
    spans = [(i, k) for k in range(1, 13) for i in range(k)]
    prepared.decode([Counted(RuleSpan(i, k, ((5,),), k, "prefer") for i, k in spans)])
    assert 0 < passes < 20 < len(spans)


def test_preferred_rules_that_no_tree_obeys_are_named():
    options = replace(SMALL, max_segments=2)
    prepared = prepare(MODEL, sentences(MODEL, [5]), options)
    inside, first = (RuleSpan(i, 2, ((5, 6),), i, "prefer") for i in (1, 0))
    (result,) = prepared.decode([[inside, first]])
    assert result.ignored == [1]  # it needs three phrases
    (result,) = prepare(MODEL, sentences(MODEL, [5]), replace(SMALL, flat_weight=1.0)).decode(
        [[first]]
    )
    assert result.ignored == [0]


def test_a_forced_sentence_is_its_target():
    (source,) = sentences(MODEL, [5])
    (result,) = prepare(MODEL, [source], SMALL).decode([[RuleSpan(0, 5, ((5, 6),), 0)]], 3)
    (own,) = result.hypotheses
    assert own.tokens == (5, 6)
    assert own.log_prob == pytest.approx(0.0)


def test_other_rules_reuse_what_is_known():
    sources = sentences(MODEL, LENGTHS)
    prepared = prepare(MODEL, sources, SMALL)
    first = prepared.decode(nbest=2)
    calls = []
    translate = prepared.candidates.translate_phrases
    prepared.candidates.translate_phrases = lambda places: calls.append(translate(places))
    rules = [[RuleSpan(1, 2, ((5,),), 0)], [], [], []]
    ruled = prepared.decode(rules, nbest=2)
    assert calls[0] <= 8  # the words around the rule, in the one sentence that has it
    check_rules(ruled[0], rules[0])
    again = prepared.decode(nbest=2)
    assert calls[1] == 0
    for one, other in zip(first, again, strict=True):
        assert one == other
    fresh = prepare(MODEL, sources, SMALL).decode(rules, nbest=2)
    for one, other in zip(ruled, fresh, strict=True):
        assert_same(one, other)


def test_a_target_that_shares_its_tokens_is_a_string_of_its_own():
    """Two targets that the model knows by the same tokens, twice: four strings, not one."""
    (source,) = sentences(MODEL, [2])
    targets, spelled = ((1000,), (1001,)), ((5,), (5,))
    rules = [RuleSpan(i, i + 1, targets, i, spelled=spelled) for i in range(2)]
    options = replace(SMALL, beam_size=9)
    (result,) = prepare(MODEL, [source], options).decode([rules], nbest=9)
    assert {own.tokens for own in result.hypotheses} == {
        (a, b) for a in (1000, 1001) for b in (1000, 1001)
    }
    total = np.logaddexp.reduce([own.log_prob for own in result.hypotheses])
    assert total == pytest.approx(0.0, abs=1e-6)
    assert result.hypotheses[0].phrases[0].log_prob == pytest.approx(np.log(0.5))


def test_long_sentences_with_forced_and_preferred_rules():
    (source,) = sentences(MODEL, [8])
    prepared = prepare(MODEL, [source], replace(SMALL, max_cky_length=6))
    rules = [
        RuleSpan(3, 5, ((5, 6),), 0),
        RuleSpan(0, 3, ((7, 8),), 1, "prefer"),  # what the forced rule leaves before it
        RuleSpan(5, 6, ((9,),), 2, "prefer"),  # no piece is cut like this
    ]
    (result,) = prepared.decode([rules])
    check_rules(result, rules)
    check_provenance(result.hypotheses[0], 8)
    assert [phrase.rule for phrase in result.hypotheses[0].phrases] == [1, 0, None]
    assert result.ignored == [2]
    (flat,) = prepared.decode([rules[1:]])
    assert "flat" in flat.fallback
    assert flat.ignored == [1, 2]
    (whole,) = prepared.decode([[RuleSpan(0, 8, ((9,),), 3, "prefer")]])
    assert (whole.hypotheses[0].tokens, whole.ignored) == ((9,), [])
