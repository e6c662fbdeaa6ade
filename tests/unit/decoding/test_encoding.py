"""Encoded sentences and phrases: padding and neighbours change nothing."""

import pytest
import torch
from decoding_models import sentences, tiny_model
from tiny_models import every_family

from btg_seq2seq.decoding.encoding import (
    Source,
    check_sources,
    encode_sources,
    padded_states,
    phrase_states,
)

LENGTHS = [4, 1, 6]


@every_family
@torch.no_grad()
def test_sentences_are_encoded_as_if_alone(name):
    model = tiny_model(name)
    sources = [Source.of(model, tokens) for tokens in sentences(model, LENGTHS)]
    assert [source.length for source in sources] == LENGTHS
    together = encode_sources(model, sources)
    for source, encoded in zip(sources, together, strict=True):
        assert len(source.unframed_tokens) == source.length
        (alone,) = encode_sources(model, [source])
        torch.testing.assert_close(encoded.states, alone.states, atol=1e-5, rtol=1e-5)
        assert encoded.unframed_states.shape[0] == source.length


@pytest.mark.parametrize("encoding", ["alone", "sentence", "both"])
@torch.no_grad()
def test_phrases_are_those_of_training(encoding):
    model = tiny_model(phrase_encoding=encoding)
    rows = sentences(model, LENGTHS)
    sources = encode_sources(model, [Source.of(model, tokens) for tokens in rows])
    spans = [(0, 1, 3), (2, 0, 4), (1, 0, 1)]
    states, mask = phrase_states(model, [(sources[s], i, k) for s, i, k in spans])
    assert mask.sum(1).tolist() == [2, 4, 1]
    for row, (sentence, start, stop) in enumerate(spans):
        input_ids = torch.tensor([rows[sentence]])
        labels = torch.tensor([[7, model.backbone.sentence_end]])
        pair = model.read(input_ids, torch.ones_like(input_ids), labels).pair
        place = [torch.tensor([value]) for value in (0, start, stop)]
        expected, _ = model.phrase_states(pair, *place)
        found = states[row, : stop - start]
        torch.testing.assert_close(found, expected[0], atol=1e-5, rtol=1e-5)


def test_padding():
    states, mask = padded_states([torch.ones(2, 3), torch.ones(4, 3)])
    assert states.shape == (2, 4, 3)
    assert mask.tolist() == [[True, True, False, False], [True] * 4]
    assert states[0, 2:].abs().sum() == 0


def test_a_sentence_without_tokens_is_refused():
    model = tiny_model()
    with pytest.raises(ValueError, match="sentence 1: it has no tokens of its own"):
        check_sources(model, [[5, *model.config.suffix], [*model.config.suffix]])
