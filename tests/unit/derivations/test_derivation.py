"""The derivation of a sentence pair, whoever made it."""

import pytest

from btg_seq2seq.derivations.derivation import Derivation, PhrasePair
from btg_seq2seq.grammar import Leaf, Tree

TREE = Tree.parse("[0:2 <2:3 3:5>]")
TARGETS = [(0, 1), (1, 3), (3, 4)]


def test_phrases_are_in_target_order():
    derivation = Derivation(TREE, TARGETS, (-1.0, -2.0, -3.0), (None, 7, None))
    assert derivation.phrases == [
        PhrasePair((0, 2), (0, 1), -1.0, None),
        PhrasePair((3, 5), (1, 3), -2.0, 7),
        PhrasePair((2, 3), (3, 4), -3.0, None),
    ]
    assert Derivation.from_phrases(derivation.phrases) == derivation


def test_scores_and_rules_may_be_unknown():
    plain = Derivation(TREE, TARGETS)
    assert [pair.log_prob for pair in plain.phrases] == [None] * 3
    assert Derivation.from_phrases(plain.phrases) == plain
    scored = Derivation(TREE, TARGETS, (0.0, 0.0, 0.0))
    assert Derivation.from_phrases(scored.phrases) == scored


def test_one_phrase():
    assert Derivation.whole(3, 2) == Derivation(Leaf(0, 3), [(0, 2)])
    assert Derivation.whole(3, 0, -1.0).phrases == [PhrasePair((0, 3), (0, 0), -1.0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TARGETS[:2],), "2 target phrases for the 3 leaves of"),
        ((TARGETS, (-1.0,)), "1 log_probs for the 3 leaves of"),
        ((TARGETS, None, (None,) * 4), "4 rules for the 3 leaves of"),
    ],
)
def test_numbers_that_do_not_match(arguments, message):
    with pytest.raises(ValueError, match=message):
        Derivation(TREE, *arguments)
