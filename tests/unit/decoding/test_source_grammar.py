"""Grammars without a model; test_phrase_translator decodes with them."""

import numpy as np

from btg_seq2seq.decoding.source_grammar import SourceGrammar
from btg_seq2seq.model.decoding_settings import DecodingSettings


def test_uniform_scores():
    grammar = SourceGrammar.uniform([1, 2, 4], max_segments=3)
    assert [scores.shape for scores in grammar.split_scores([2, 0, 1])] == [(10, 2), (0, 2), (1, 2)]
    assert all((scores == 0).all() for scores in grammar.split_scores([0, 1, 2]))


def test_given_scores():
    scores = [np.zeros((0, 2)), [[1, 2]]]
    grammar = SourceGrammar.given(scores, max_segments=2)
    (found,) = grammar.split_scores([1])
    assert found.dtype == np.float64
    assert found.tolist() == [[1.0, 2.0]]


def test_settings_override_the_grammar():
    grammar = SourceGrammar.uniform([], max_segments=7, max_phrase_length=9)
    chosen = DecodingSettings(max_segments=2).completed_by(grammar)
    assert (chosen.max_segments, chosen.max_phrase_length) == (2, 9)
