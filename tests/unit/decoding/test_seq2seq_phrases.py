"""The seq2seq model as phrase translator: its scores are the model's, whatever is in the batch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from decoding_models import SMALL, phrase_log_prob, sentences, tiny_model
from tiny_models import every_family

from btg_seq2seq.decoding.search.level import Level
from btg_seq2seq.decoding.seq2seq_phrases import Seq2SeqPhrases

LENGTHS = [5, 3, 7]
SPANS = [(0, 1, 3), (1, 0, 1), (2, 2, 6), (0, 0, 4), (2, 6, 7)]
each_encoding = pytest.mark.parametrize("encoding", ["alone", "sentence", "both"])


@every_family
@pytest.mark.parametrize(("encoding", "beam_size"), [("alone", 3), ("sentence", 1), ("both", 2)])
@torch.no_grad()
def test_translations_have_the_log_probs_of_phrase_pairs(name, encoding, beam_size):
    model = tiny_model(name, phrase_encoding=encoding)
    sources = sentences(model, LENGTHS)
    phrases = Seq2SeqPhrases(model, sources, replace(SMALL, beam_size=beam_size))
    level = Level.phrase(model.backbone)
    found = phrases.translate_phrases(SPANS).lists()
    for (sentence, start, stop), best in zip(SPANS, found, strict=True):
        strings = [string for string, _ in best]
        assert len({*strings}) == len(strings) == beam_size
        assert all(1 <= len(string) <= SMALL.longest_output(stop - start) for string in strings)
        assert not {token for string in strings for token in string} & {*level.banned, level.end}
        log_probs = [log_prob for _, log_prob in best]
        assert log_probs == sorted(log_probs, reverse=True)
        expected = [
            phrase_log_prob(model, sources[sentence], start, stop, string) for string in strings
        ]
        assert log_probs == pytest.approx(expected, abs=2e-5)


@each_encoding
def test_batches_change_nothing(encoding):
    model = tiny_model(phrase_encoding=encoding)
    sources = sentences(model, LENGTHS)
    spans = [(s, i, k) for s, n in enumerate(LENGTHS) for k in range(1, n) for i in range(k)]
    targets = [(7, 8, 9)[: 1 + number % 3] for number in range(len(spans))]
    one, other = (
        Seq2SeqPhrases(model, sources, settings)
        for settings in (SMALL, replace(SMALL, batch_tokens=1))
    )
    for mine, yours in (
        (one.translate_phrases(spans), other.translate_phrases(spans)),
        (one.translate_sentences([2, 0]), other.translate_sentences([2, 0])),
    ):
        assert mine.tokens.tolist() == yours.tokens.tolist()
        assert mine.lengths.tolist() == yours.lengths.tolist()
        assert mine.log_probs == pytest.approx(yours.log_probs, abs=1e-5)
    for mine, yours in zip(
        one.score_prefixes(spans, targets), other.score_prefixes(spans, targets), strict=True
    ):
        assert mine == pytest.approx(yours, abs=1e-5)
    for mine, yours in zip(one.split_scores([2, 1]), other.split_scores([2, 1]), strict=True):
        assert mine == pytest.approx(yours, abs=1e-5)


@each_encoding
@torch.no_grad()
def test_scores_of_given_targets(encoding):
    model = tiny_model(phrase_encoding=encoding)
    sources = sentences(model, LENGTHS)
    phrases = Seq2SeqPhrases(model, sources, SMALL)
    target = (7, 8, 9)
    (prefixes,) = phrases.score_prefixes([(0, 1, 3)], [target])
    expected = [phrase_log_prob(model, sources[0], 1, 3, target[:n]) for n in (1, 2, 3)]
    assert prefixes == pytest.approx(expected, abs=2e-5)
    assert phrases.score_phrases([(0, 1, 3)], [target]) == pytest.approx(expected[-1:], abs=2e-5)
    found = phrases.translate_sentences([1]).lists()[0]
    targets = [string for string, _ in found]
    scores = phrases.score_sentences([1] * len(targets), targets)
    assert scores == pytest.approx([log_prob for _, log_prob in found], abs=2e-5)


def test_prefixes_end_where_beam_search_must():
    model = tiny_model()
    phrases = Seq2SeqPhrases(model, sentences(model, [5]), SMALL)
    start = model.backbone.segment_start
    longest = SMALL.longest_output(1)
    found = phrases.score_prefixes([(0, 0, 1)] * 3, [(7,) * 9, (7, start, 8), (start,)])
    assert [len(scores) for scores in found] == [longest, 1, 0]
    # Targets of rules may have any tokens.
    assert np.isfinite(phrases.score_phrases([(0, 0, 1)], [(7, start, 8)])).all()
    assert phrases.score_prefixes([], []) == []


def test_what_flat_decoding_can_write():
    model = tiny_model()
    phrases = Seq2SeqPhrases(model, sentences(model, [5]), SMALL)
    longest = SMALL.longest_output(5)
    assert phrases.can_write(0, (7,) * longest)
    assert phrases.can_write(0, ())
    assert not phrases.can_write(0, (7,) * (longest + 1))
    assert not phrases.can_write(0, (model.backbone.segment_end,))


def test_positions_limit_the_targets_of_rules():
    model = tiny_model("bart")
    phrases = Seq2SeqPhrases(model, sentences(model, [3]), SMALL)
    most = Level.phrase(model.backbone).longest(model.backbone, 10**6)
    scores = phrases.score_phrases([(0, 0, 1)] * 2, [(7,) * most, (7,) * (most + 1)])
    assert np.isfinite(scores).tolist() == [True, False]


@pytest.mark.parametrize(("ratio", "extra"), [(0.0, 2), (0.5, 1), (1.3, 4)])
def test_several_phrases_are_no_longer_than_their_bound(ratio, extra):
    model = tiny_model()
    settings = replace(SMALL, max_output_ratio=ratio, max_output_extra=extra)
    phrases = Seq2SeqPhrases(model, sentences(model, range(1, 16)), settings)
    for first in range(1, 8):
        for second in range(1, 8):
            together = settings.longest_output(first) + settings.longest_output(second)
            assert together <= phrases.longest_output(first + second - 1, 2)


def test_the_grammar_is_the_models():
    model = tiny_model(max_segments=4, max_phrase_length=6)
    phrases = Seq2SeqPhrases(model, sentences(model, LENGTHS), SMALL)
    grammar = phrases.grammar
    assert (grammar.max_segments, grammar.max_phrase_length) == (4, 6)
    scores = grammar.split_scores([2, 0])
    assert [own.shape for own in scores] == [(56, 2), (20, 2)]


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_broken_parsers_have_finite_scores(value):
    model = tiny_model()
    with torch.no_grad():
        model.prior.output[0] = value
    (scores,) = Seq2SeqPhrases(model, sentences(model, [5]), SMALL).split_scores([0])
    assert np.isfinite(scores).all()
