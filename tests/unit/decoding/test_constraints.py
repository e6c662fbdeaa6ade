"""Rules at the level of tokens."""

import pytest

from btg_seq2seq.decoding.constraints import (
    RuleSpan,
    by_span,
    check_spans,
    fewest_phrases,
    forced,
)


def test_spans_are_checked():
    with pytest.raises(ValueError, match="rule 3"):
        RuleSpan(2, 2, ((5,),), 3)
    with pytest.raises(ValueError, match="rule 3"):
        RuleSpan(0, 2, ((5,), ()), 3)
    with pytest.raises(ValueError, match="mode"):
        RuleSpan(0, 2, ((5,),), 3, "keep")


def test_tokens_by_which_targets_are_scored():
    assert RuleSpan(0, 1, ((5,), (6,), (5,)), 0).choices == {(5,): (5,), (6,): (6,)}
    shared = RuleSpan(0, 1, ((1000,), (1001,)), 0, spelled=((5,), (5,)))
    assert shared.choices == {(1000,): (5,), (1001,): (5,)}
    with pytest.raises(ValueError, match="for all targets, or for none"):
        RuleSpan(0, 1, ((5,), (6,)), 0, spelled=((5,),))


def test_forced_rules_in_source_order():
    late, early = RuleSpan(3, 4, ((5,),), 0), RuleSpan(0, 2, ((5,),), 1)
    preferred = RuleSpan(0, 2, ((6,),), 2, "prefer")
    assert forced([late, preferred, early]) == [early, late]
    assert by_span([late, preferred, early]) == {(3, 4): [late], (0, 2): [preferred, early]}


def test_spans_that_cannot_be_obeyed():
    one, other = RuleSpan(0, 2, ((5,),), 0), RuleSpan(1, 3, ((6,),), 1)
    check_spans(0, 3, [other, RuleSpan(0, 2, ((5,),), 0, "prefer")])
    with pytest.raises(ValueError, match=r"sentence 7: rule 0 .* rule 1 .* leave one of them out"):
        check_spans(7, 3, [other, one])
    with pytest.raises(ValueError, match=r"sentence 7: rule 1 covers words 1:3, but .* has 2"):
        check_spans(7, 2, [other])


def test_fewest_phrases():
    rules = [RuleSpan(2, 4, ((5,),), 0), RuleSpan(4, 5, ((5,),), 1)]
    assert fewest_phrases(9, 9, rules) == 4
    assert fewest_phrases(9, 1, rules) == 2 + 2 + 4
    assert fewest_phrases(9, 3, []) == 3
