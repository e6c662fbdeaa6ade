"""Scores of given translations are those with which they were found."""

import math

import pytest
from tiny_translators import TEXTS, every_kind, translator_of

from btg_seq2seq import Rule
from btg_seq2seq.decoding.hypotheses import CkyResult, Hypothesis
from btg_seq2seq.translation.rules.rules import RuleSet


@every_kind
def test_flat_score_is_what_was_reported(kind):
    translator = translator_of(kind)
    translations = translator.translate(TEXTS)
    for translation, score in zip(translations, translator.score(TEXTS, translations), strict=True):
        assert score.flat_log_prob == pytest.approx(translation.log_prob, abs=1e-4)


@every_kind
@pytest.mark.parametrize("rules", [[], [Rule("Haus", "HOUSE"), Rule("dog", ["cat", "dog"])]])
def test_cky_score_is_what_was_reported(kind, rules):
    translator = translator_of(kind)
    rule_set = RuleSet(rules)
    translations = translator.translate(TEXTS, "cky", rule_set)
    prepared = translator.prepare(TEXTS)
    reported = prepared.score(translations, rule_set)
    assert reported == pytest.approx([one.log_prob for one in translations], abs=1e-4)
    if not rules:  # the exact sum holds more than the beam
        for translation, score in zip(
            translations, translator.score(TEXTS, translations), strict=True
        ):
            assert score.cky_log_prob >= translation.log_prob - 1e-4
    assert prepared.score(["garden."] * 4, rule_set)[1] == -math.inf


def test_probabilities_are_added_up_however_texts_are_ranked(monkeypatch):
    translator = translator_of("bpe")
    ids = translator.tokenizer.convert_tokens_to_ids
    strings = [tuple(ids(pieces)) for pieces in (["▁the"], ["▁", "the"])]
    result = CkyResult([Hypothesis.whole(1, tokens, -1.0 - len(tokens)) for tokens in strings])
    expected = -2.0 + math.log1p(math.exp(-1.0))
    for is_normalised in (True, False):
        prepared = translator.prepare(["dog"], length_normalised=is_normalised)
        monkeypatch.setattr(prepared, "_decode", lambda _: [result])
        (translation,) = prepared.translate()
        assert translation.variants == (*strings,)
        assert translation.log_prob == pytest.approx(expected)
        assert prepared.score([translation]) == pytest.approx([expected])


def test_no_translation_has_no_probability():
    (score,) = translator_of("word").score(["the dog"], [[]])
    assert (score.flat_log_prob, score.cky_log_prob) == (-math.inf, -math.inf)


def test_score_of_a_text():
    translator = translator_of("word")
    one, nothing, impossible = translator.score(["the dog", "", ""], ["dog in the", "", "dog"])
    assert one.derivation.phrases[-1].target.split()[-1] == "the"
    check = translator.score(["the dog"], [[translator.writer.encode_sentence("dog in the")]])
    assert check == [one]
    assert (nothing.flat_log_prob, nothing.cky_log_prob) == (0.0, 0.0)
    assert impossible.flat_log_prob == -math.inf
    flat_only = translator.score(["the dog"], ["dog in the"], flat_weight=1.0)[0]
    assert flat_only.cky_log_prob == pytest.approx(one.flat_log_prob)
