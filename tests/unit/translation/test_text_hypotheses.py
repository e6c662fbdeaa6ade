"""Hypotheses as text: those that read the same are one translation."""

import math
from dataclasses import replace

import pytest
from tiny_translators import translator_of

from btg_seq2seq.decoding.hypotheses import Hypothesis, TranslatedPhrase
from btg_seq2seq.translation.rules.apply import RuledText
from btg_seq2seq.translation.text_hypotheses import log_sum, to_translation


def test_token_strings_that_read_the_same_are_added_up():
    translator = translator_of("bpe")
    source = translator.read(["the dog"])[0]
    ids = translator.tokenizer.convert_tokens_to_ids
    whole, pieces = tuple(ids(["▁the"])), tuple(ids(["▁", "the"]))
    other = tuple(ids(["▁dog"]))
    found = [
        Hypothesis.whole(2, other, math.log(0.3)),
        Hypothesis.whole(2, pieces, math.log(0.25)),
        Hypothesis.whole(2, whole, math.log(0.15)),
    ]
    options = {"nbest": 2, "mode": "flat"}
    best = to_translation(translator.writer, RuledText(source), found, **options)
    assert (best.text, best.alternatives[0].text) == ("the", "dog")
    assert best.log_prob == pytest.approx(math.log(0.4))
    assert best.variants == (pieces, whole)
    assert best.derivation.phrases[0].log_prob == pytest.approx(math.log(0.25))
    assert best.rank_score is None
    assert best.ranked_by == "probability"
    # Scores per token are not added up, but probabilities always are.
    scored = [replace(own, rank_score=own.log_prob) for own in found]
    options |= {"ranked_by": "probability per token"}
    ranked = to_translation(translator.writer, RuledText(source), scored, **options)
    assert (ranked.text, ranked.rank_score) == ("dog", pytest.approx(math.log(0.3)))
    assert ranked.alternatives[0].rank_score == pytest.approx(math.log(0.25))
    assert ranked.alternatives[0].log_prob == pytest.approx(math.log(0.4))
    assert ranked.ranked_by == "probability per token"
    options |= {"ranked_by": "score"}
    ranked = to_translation(translator.writer, RuledText(source), scored, **options)
    assert (ranked.text, ranked.rank_score) == ("the", pytest.approx(math.log(0.4)))


def test_the_posterior_and_the_derivation_belong_to_the_text():
    """Also where another string was the decoder's best, or several read the same."""
    translator = translator_of("bpe")
    source = translator.read(["the dog"])[0]
    ids = translator.tokenizer.convert_tokens_to_ids
    whole, pieces = tuple(ids(["▁the"])), tuple(ids(["▁", "the"]))
    several = [
        TranslatedPhrase(0, 1, pieces[:1], -1.0),
        TranslatedPhrase(1, 2, pieces[1:], -1.0),
    ]
    found = [
        Hypothesis.whole(2, tuple(ids(["▁dog"])), math.log(0.3)),
        Hypothesis.from_phrases(several, math.log(0.25), math.log(0.1), [0.2, 0.8]),
        Hypothesis.whole(2, whole, math.log(0.15), [1.0, 0.0, 0.0]),
    ]
    best = to_translation(translator.writer, RuledText(source), found, 2, mode="cky")
    assert (best.text, best.alternatives[0].text) == ("the", "dog")
    assert best.segment_posterior == pytest.approx([0.5, 0.5, 0.0])
    assert best.derivation.tree.segments == 1  # 0.15 in one derivation, against 0.1
    scored = [replace(own, rank_score=-1.0, log_best=-2.0 - rank) for rank, own in enumerate(found)]
    ranked = to_translation(
        translator.writer, RuledText(source), scored[1:], 1, mode="cky", ranked_by="score"
    )
    assert ranked.segment_posterior == pytest.approx([0.5, 0.5, 0.0])
    assert ranked.derivation.tree.segments == 2  # the best by score


def test_nothing_found():
    translator = translator_of("bpe")
    for text, log_prob in (("", 0.0), ("the dog", -math.inf)):
        (source,) = translator.read([text])
        found = to_translation(translator.writer, RuledText(source), [], 1, mode="cky")
        assert (found.text, found.log_prob, found.derivation) == ("", log_prob, None)
        assert (found.fallback is None) == (text == "")


def test_log_sums():
    assert log_sum([]) == log_sum([-math.inf] * 2) == -math.inf
    assert log_sum([math.log(0.25), -math.inf, math.log(0.5)]) == pytest.approx(math.log(0.75))
