"""The search over phrases finds what Hugging Face's beam search finds."""

from dataclasses import replace

import pytest
import torch
from decoding_models import SMALL, tiny_model
from tiny_models import VOCABULARY, every_family, tiny_config

from btg_seq2seq.decoding.search.beams import Level, beam_search
from btg_seq2seq.decoding.search.phrases import phrase_search
from btg_seq2seq.model.transducer import BTGSeq2Seq


def both(model, lengths, limits, settings):
    generator = torch.Generator().manual_seed(sum(lengths))
    tokens = torch.randint(4, 30, (len(lengths), max(lengths)), generator=generator)
    with torch.no_grad():
        states, mask = model.encode_alone(tokens, torch.tensor(lengths))
    level = Level.phrase(model.backbone)
    given = model.backbone, level, states, mask, torch.tensor(limits), settings
    return beam_search(*given), phrase_search(*given)


def strings(beams, row):
    kept = beams.log_probs[row] > -torch.inf
    return [
        tuple(tokens[:length])
        for tokens, length in zip(
            beams.tokens[row][kept].tolist(), beams.lengths[row][kept].tolist(), strict=True
        )
    ]


@every_family
@pytest.mark.parametrize("beam_size", [1, 2, 5])
@pytest.mark.parametrize("length_normalised", [False, True])
def test_it_finds_the_same(name, beam_size, length_normalised):
    settings = replace(SMALL, beam_size=beam_size, length_normalised=length_normalised)
    lengths, limits = [3, 1, 6, 2, 4, 4], [6, 1, 12, 3, 2, 8]
    theirs, ours = both(tiny_model(name), lengths, limits, settings)
    torch.testing.assert_close(ours.log_probs, theirs.log_probs, atol=1e-5, rtol=1e-5)
    for row, limit in enumerate(limits):
        assert strings(ours, row) == strings(theirs, row)
        assert all(1 <= len(string) <= limit for string in strings(ours, row))


@pytest.mark.parametrize("layers", [(1, 3), (3, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sides_of_different_depths(layers, dtype):
    torch.manual_seed(0)
    config = tiny_config("t5")
    config.num_layers, config.num_decoder_layers = layers
    model = BTGSeq2Seq.from_backbone(config).to(dtype).eval()
    model.backbone.add_segment_ids(VOCABULARY, VOCABULARY + 1)
    theirs, ours = both(model, [3, 1, 6], [6, 1, 12], SMALL)
    torch.testing.assert_close(ours.log_probs, theirs.log_probs, atol=1e-5, rtol=1e-5)
    assert [strings(ours, row) for row in range(3)] == [strings(theirs, row) for row in range(3)]


def test_a_beam_wider_than_the_strings_there_are():
    """One token at most, then the end: no string is found twice, and none is made up."""
    model, settings = tiny_model(), replace(SMALL, beam_size=VOCABULARY)
    _, ours = both(model, [2, 1], [1, 1], settings)
    level = Level.phrase(model.backbone)
    allowed = {*range(VOCABULARY + 2)} - {*level.banned, level.end}
    for row in range(2):
        found = strings(ours, row)
        assert len(found) == len({*found}) == len(allowed)
        assert {token for (token,) in found} == allowed
