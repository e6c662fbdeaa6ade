"""The search finds what Hugging Face's beam search finds, for sentences and for phrases."""

from dataclasses import replace

import pytest
import torch
from decoding_models import SMALL, tiny_model
from hugging_face_search import hugging_face_search
from tiny_models import VOCABULARY, both_attentions, every_family, tiny_config

from btg_seq2seq.decoding.search.beam_search import beam_search
from btg_seq2seq.decoding.search.level import Level
from btg_seq2seq.model.transducer import BTGSeq2Seq

LEVELS = {"sentence": Level.sentence, "phrase": Level.phrase}
both_levels = pytest.mark.parametrize("level", LEVELS)


def both(model, lengths, limits, settings, level="phrase"):
    generator = torch.Generator().manual_seed(sum(lengths))
    tokens = torch.randint(4, 30, (len(lengths), max(lengths)), generator=generator)
    with torch.no_grad():
        states, mask = model.encode_alone(tokens, torch.tensor(lengths))
    level = LEVELS[level](model.backbone)
    given = model.backbone, level, states, mask, torch.tensor(limits), settings
    return hugging_face_search(*given), beam_search(*given)


def likes_to_end(model, bonus):
    """Make every end token more probable, so that strings end at different lengths."""
    ending = torch.zeros(model.backbone.vocabulary_size)
    ending[[model.backbone.sentence_end, model.backbone.segment_end]] = bonus
    model.backbone.model.lm_head.register_forward_hook(lambda *call: call[-1] + ending)
    return model


def strings(beams, row):
    kept = beams.log_probs[row] > -torch.inf
    return [
        tuple(tokens[:length])
        for tokens, length in zip(
            beams.tokens[row][kept].tolist(), beams.lengths[row][kept].tolist(), strict=True
        )
    ]


def assert_same(ours, theirs, limits, shortest):
    torch.testing.assert_close(ours.log_probs, theirs.log_probs, atol=1e-5, rtol=1e-5)
    for row, limit in enumerate(limits):
        assert strings(ours, row) == strings(theirs, row)
        assert all(shortest <= len(string) <= limit for string in strings(ours, row))


@every_family
@pytest.mark.parametrize("beam_size", [1, 2, 5])
@pytest.mark.parametrize("length_normalised", [False, True])
@both_levels
def test_it_finds_the_same(name, beam_size, length_normalised, level):
    settings = replace(SMALL, beam_size=beam_size, length_normalised=length_normalised)
    lengths, limits = [3, 1, 6, 2, 4, 4], [6, 1, 12, 3, 2, 8]
    theirs, ours = both(tiny_model(name), lengths, limits, settings, level)
    assert_same(ours, theirs, limits, shortest=int(level == "phrase"))


@every_family
@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("length_normalised", [False, True])
@pytest.mark.parametrize("bonus", [2.0, 5.0])
def test_rows_that_end_at_different_steps(name, beam_size, length_normalised, bonus):
    settings = replace(SMALL, beam_size=beam_size, length_normalised=length_normalised)
    lengths, limits = [3, 1, 6, 2, 4, 4, 7, 5], [15] * 8
    model = likes_to_end(tiny_model(name), bonus)
    for level in LEVELS:
        theirs, ours = both(model, lengths, limits, settings, level)
        assert_same(ours, theirs, limits, shortest=int(level == "phrase"))


def test_a_sentence_may_become_nothing():
    model = likes_to_end(tiny_model(), 50.0)
    theirs, ours = both(model, [3, 5], [6, 6], SMALL, "sentence")
    assert_same(ours, theirs, [6, 6], shortest=0)
    assert strings(ours, 0)[0] == ()


@both_attentions
def test_both_kinds_of_attention(attention):
    for name in ("t5", "bart"):
        model = tiny_model(name)
        model.backbone.model.set_attn_implementation(attention)
        theirs, ours = both(model, [3, 1, 6], [6, 1, 12], SMALL)
        assert_same(ours, theirs, [6, 1, 12], shortest=1)


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


@both_levels
def test_a_beam_wider_than_the_strings_there_are(level):
    """One token at most, then the end: no string is found twice, and none is made up."""
    model, settings = tiny_model(), replace(SMALL, beam_size=VOCABULARY)
    theirs, ours = both(model, [2, 1], [1, 1], settings, level)
    allowed = LEVELS[level](model.backbone)
    expected = {(token,) for token in range(VOCABULARY + 2)}
    expected -= {(token,) for token in (*allowed.banned, allowed.end)}
    expected |= {()} if allowed.may_be_empty else set()
    for row in range(2):
        assert len(strings(ours, row)) == len(expected)
        assert {*strings(ours, row)} == {*strings(theirs, row)} == expected
