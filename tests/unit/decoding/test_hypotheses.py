"""Hypotheses: strings with their best derivation."""

import pytest

from btg_seq2seq.decoding.hypotheses import Hypothesis, TranslatedPhrase
from btg_seq2seq.grammar import Leaf, Tree

PHRASES = [
    TranslatedPhrase(1, 3, (7, 8), -1.0, 4),
    TranslatedPhrase(0, 1, (9,), -2.0),
]


def test_phrases_make_a_hypothesis():
    made = Hypothesis.from_phrases(PHRASES, -2.5, -3.0)
    assert made.tokens == (7, 8, 9)
    assert made.derivation.tree == Tree.parse("<0:1 1:3>")
    assert made.derivation.segmentation == [(0, 2), (2, 3)]
    assert made.phrases == PHRASES
    assert (made.log_prob, made.best_log_prob) == (-2.5, -3.0)
    assert made.segment_posterior == [0.0, 1.0]
    assert Hypothesis.from_phrases(PHRASES, -2.5, -3.0, [0.5, 0.5]).segment_posterior == [0.5, 0.5]


@pytest.mark.parametrize("tokens", [(5, 6), ()])
def test_a_sentence_as_a_whole(tokens):
    made = Hypothesis.whole(4, tokens, -1.5)
    assert made.derivation.tree == Leaf(0, 4)
    assert made.phrases == [TranslatedPhrase(0, 4, tokens, -1.5)]
    assert made.best_log_prob == -1.5
