"""Trials: the same translations as a translator finds, with features that give their scores."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_translators import SHORT, TEXTS, translator_of

from btg_seq2seq.model.tuned.ranking_weights import LEXICAL, RankingWeights
from btg_seq2seq.tuning.model_files import estimate_tables
from btg_seq2seq.tuning.trials import Trials, available_features

WEIGHTS = RankingWeights(grammar=0.8, reverse=0.2, word=0.4, phrase=0.1)


def best(rows, weights):
    """The best text of each sentence, by features."""
    found = {}
    for sentence, text, features in rows:
        score = float(np.dot(features, weights.values))
        if sentence not in found or score > found[sentence][0]:
            found[sentence] = score, text
    return [found.get(sentence, (0.0, ""))[1] for sentence in range(len(TEXTS))]


def test_features_that_a_model_has(monkeypatch):
    translator = translator_of("word")
    assert not available_features(translator) & LEXICAL
    translator = type(translator)(translator.model, translator.tokenizer, SHORT)
    translator.tables = estimate_tables(translator, TEXTS, TEXTS)
    assert available_features(translator) > LEXICAL
    config = translator.model.config
    monkeypatch.setattr(config, "reverse_learned", False)
    assert available_features(translator) == {"forward", "word", "grammar", "phrase"} | LEXICAL
    monkeypatch.setattr(config, "parsers_learned", False)
    assert available_features(translator) == {"forward", "word"} | LEXICAL


def test_sentences_of_all_chunks_keep_their_ranks(monkeypatch):
    monkeypatch.setattr("btg_seq2seq.translation.prepared_texts.CHUNK", 1)
    translator = translator_of("word")
    trials = Trials(translator, TEXTS, SHORT)
    assert trials.size == len(TEXTS)
    rows = [row for rows in trials.flat() for row in rows]
    assert {row[0] for row in rows} == {0, 2, 3}
    assert len([*trials.prepare()]) == trials.size
    assert trials.best_texts(SHORT) == [one.text for one in translator.translate(TEXTS, "cky")]


@pytest.mark.parametrize("is_normalised", [False, True])
def test_flat(is_normalised):
    translator = translator_of("word")
    settings = replace(SHORT, length_normalised=is_normalised)
    rows = [row for rows in Trials(translator, TEXTS, settings).flat() for row in rows]
    settings = replace(settings, weights=WEIGHTS)
    fixed = type(translator)(translator.model, translator.tokenizer, settings)
    expected = [one.text for one in fixed.translate(TEXTS, "flat")]
    assert best(rows, WEIGHTS) == expected


@pytest.mark.parametrize("is_normalised", [False, True])
def test_cky_and_rescored(is_normalised):
    translator = translator_of("word")
    base = replace(SHORT, length_normalised=is_normalised)
    trials = Trials(translator, TEXTS, base)
    assert len([*trials.prepare()]) == trials.size
    for changes in ({}, {"weights": WEIGHTS}, {"weights": WEIGHTS, "flat_weight": 0.1}):
        settings = replace(base, **changes)
        fixed = type(translator)(translator.model, translator.tokenizer, settings)
        expected = [one.text for one in fixed.translate(TEXTS, "cky")]
        assert trials.best_texts(settings) == expected
    settings = replace(base, weights=WEIGHTS, rescoring=WEIGHTS)
    fixed = type(translator)(translator.model, translator.tokenizer, settings)
    rows = [row for rows in trials.rescored(settings) for row in rows]
    assert best(rows, WEIGHTS) == [one.text for one in fixed.translate(TEXTS, "rescored")]
    assert {row[0] for row in trials.cky(settings)} == {0, 2, 3}
