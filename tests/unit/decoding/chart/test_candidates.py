"""Phrase candidates: their log-probabilities are the model's, whatever else is decoded."""

import pytest
import torch
from decoding_models import SMALL, phrase_log_prob, prepare, sentences, tiny_model

LENGTHS = [5, 3, 7]
each_encoding = pytest.mark.parametrize("encoding", ["alone", "sentence", "both"])


@each_encoding
def test_what_is_known_is_not_decoded_again(encoding):
    model = tiny_model(phrase_encoding=encoding)
    source = sentences(model, [4])[0]
    candidates = prepare(model, [source, source], SMALL).candidates
    assert candidates.translate_phrases([(0, 0, 2), (0, 1, 2)]) == 2
    assert candidates.translate_phrases([(0, 0, 2), (0, 1, 2), (0, 2, 3)]) == 1
    # The same words are the same phrase, if they are encoded alone.
    assert candidates.translate_phrases([(1, 0, 2)]) == (0 if encoding == "alone" else 1)


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
