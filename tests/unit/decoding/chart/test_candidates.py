"""Phrase candidates: their log-probabilities are the model's, whatever else is decoded."""

from dataclasses import replace

import pytest
import torch
from decoding_models import SMALL, phrase_log_prob, prepare, sentences, tiny_model
from tiny_models import every_family

from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.search.beams import Level

LENGTHS = [5, 3, 7]
both_encodings = pytest.mark.parametrize("encoding", ["alone", "sentence"])


@every_family
@pytest.mark.parametrize(("encoding", "beam_size"), [("alone", 3), ("sentence", 1)])
@torch.no_grad()
def test_log_probs_are_those_of_phrase_pairs(name, encoding, beam_size):
    model = tiny_model(name, phrase_encoding=encoding)
    sources = sentences(model, LENGTHS)
    candidates = prepare(model, sources, replace(SMALL, beam_size=beam_size)).candidates
    places = [(0, 1, 3), (1, 0, 1), (2, 2, 6), (0, 0, 4), (2, 6, 7)]
    assert candidates.translate_phrases(places) == len(places)
    level = Level.phrase(model.backbone)
    for sentence, start, stop in places:
        begin, count = candidates.find((sentence, start, stop))
        assert count == beam_size
        strings = [candidates.pool.tokens(row) for row in range(begin, begin + count)]
        assert len({*strings}) == count
        assert all(1 <= len(string) <= SMALL.longest_output(stop - start) for string in strings)
        assert not {token for string in strings for token in string} & {*level.banned, level.end}
        found = candidates.pool.all.log_probs[begin : begin + count].tolist()
        assert found == sorted(found, reverse=True)
        for string, log_prob in zip(strings, found, strict=True):
            expected = phrase_log_prob(model, sources[sentence], start, stop, string)
            assert log_prob == pytest.approx(expected, abs=2e-5)


@both_encodings
def test_what_is_known_is_not_decoded_again(encoding):
    model = tiny_model(phrase_encoding=encoding)
    source = sentences(model, [4])[0]
    candidates = prepare(model, [source, source], SMALL).candidates
    assert candidates.translate_phrases([(0, 0, 2), (0, 1, 2)]) == 2
    assert candidates.translate_phrases([(0, 0, 2), (0, 1, 2), (0, 2, 3)]) == 1
    # The same words are the same phrase, if they are encoded alone.
    assert candidates.translate_phrases([(1, 0, 2)]) == (0 if encoding == "alone" else 1)


def test_candidates_do_not_depend_on_their_batch():
    model = tiny_model()
    sources = sentences(model, LENGTHS)
    places = [(s, i, k) for s, n in enumerate(LENGTHS) for k in range(1, n) for i in range(k)]
    together = prepare(model, sources, SMALL).candidates
    together.translate_phrases(places)
    small = prepare(model, sources, replace(SMALL, batch_tokens=1)).candidates
    small.translate_phrases(places)
    for place in places:
        (begin, count), (other, others) = together.find(place), small.find(place)
        assert count == others
        for rank in range(count):
            assert together.pool.tokens(begin + rank) == small.pool.tokens(other + rank)
            assert together.pool.all.log_probs[begin + rank] == pytest.approx(
                small.pool.all.log_probs[other + rank], abs=1e-5
            )


@torch.no_grad()
def test_the_model_chooses_among_forced_targets():
    model = tiny_model()
    source = sentences(model, [4])[0]
    candidates = prepare(model, [source], SMALL).candidates
    targets = ((5, 6, 7), (8,), (9, 9))
    log_probs = torch.tensor([phrase_log_prob(model, source, 1, 3, own) for own in targets])
    expected = log_probs.log_softmax(0)
    found = candidates._choose((0, 1, 3), targets)
    torch.testing.assert_close(torch.tensor(found), expected, rtol=1e-4, atol=1e-4)
    assert candidates._choose((0, 1, 3), [(5,)]) == [0.0]


def test_spans_are_checked():
    with pytest.raises(ValueError, match="rule 3"):
        RuleSpan(2, 2, ((5,),), 3)
    with pytest.raises(ValueError, match="rule 3"):
        RuleSpan(0, 2, ((5,), ()), 3)
    with pytest.raises(ValueError, match="mode"):
        RuleSpan(0, 2, ((5,),), 3, "keep")
