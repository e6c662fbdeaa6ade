"""Flat decoding is the model's own generate, with true probabilities."""

import math
from dataclasses import replace

import pytest
import torch
from decoding_models import SMALL, decode_flat, sentences, tiny_model
from tiny_models import every_family

from btg_seq2seq.grammar import Leaf
from btg_seq2seq.model.decoding_settings import DecodingSettings

LENGTHS = [5, 2, 7, 3]


def flat_log_prob(model, source, tokens):
    labels = torch.tensor([[*tokens, model.backbone.sentence_end]])
    input_ids = torch.tensor([source])
    states = model.backbone.encode(input_ids, torch.ones_like(input_ids))
    decoded = model.backbone.decode_labels(labels, states, torch.ones_like(input_ids))
    return model.backbone.token_log_probs(decoded, labels).sum().item()


@every_family
@torch.no_grad()
def test_log_probs_are_the_models_and_order_is_kept(name):
    beam_size = 1 if name == "marian" else 3
    model = tiny_model(name)
    sources = sentences(model, LENGTHS)
    results = decode_flat(model, sources, replace(SMALL, beam_size=beam_size), nbest=beam_size)
    backbone = model.backbone
    for source, length, hypotheses in zip(sources, LENGTHS, results, strict=True):
        assert len({own.tokens for own in hypotheses}) == beam_size
        for own in hypotheses:
            assert own.derivation.tree == Leaf(0, length)
            assert len(own.tokens) <= SMALL.longest_output(length)
            assert not {*own.tokens} & {backbone.segment_start, backbone.segment_end, backbone.pad}
            expected = flat_log_prob(model, source, own.tokens)
            assert own.log_prob == pytest.approx(expected, abs=2e-5)
        ranks = [own.log_prob for own in hypotheses]
        assert ranks == sorted(ranks, reverse=True)


@every_family
@pytest.mark.parametrize("beam_size", [1, 4])
@torch.no_grad()
def test_the_same_as_generate(name, beam_size):
    model = tiny_model(name)
    backbone, limit = model.backbone, 9
    if beam_size > 1:  # so that the best strings end before the limit
        ending = torch.zeros(backbone.vocabulary_size)
        ending[backbone.sentence_end] = 40.0
        backbone.model.lm_head.register_forward_hook(lambda *call: call[-1] + ending)
    settings = DecodingSettings(beam_size, max_output_ratio=0.0, max_output_extra=limit)
    for source in sentences(model, LENGTHS):
        input_ids = torch.tensor([source])
        generated = backbone.generate(
            input_ids,
            torch.ones_like(input_ids),
            suppress_tokens=[backbone.pad],
            num_beams=beam_size,
            num_return_sequences=beam_size,
            length_penalty=0.0,
            max_new_tokens=limit + len(backbone.prefix),
            forced_eos_token_id=None,
        )
        expected = []
        for row in generated[:, len(backbone.sentence_prompt()) :].tolist():
            is_finished = backbone.sentence_end in row
            assert is_finished or beam_size == 1
            end = row.index(backbone.sentence_end) if is_finished else limit
            expected.append(tuple(row[:end]))
        (hypotheses,) = decode_flat(model, [source], settings, nbest=beam_size)
        assert [own.tokens for own in hypotheses] == expected


def test_batch_of_one_is_batch_of_many():
    model = tiny_model()
    sources = sentences(model, LENGTHS)
    together = decode_flat(model, sources, SMALL, nbest=3)
    for source, expected in zip(sources, together, strict=True):
        (alone,) = decode_flat(model, [source], SMALL, nbest=3)
        for one, other in zip(alone, expected, strict=True):
            assert one.tokens == other.tokens
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)


@torch.no_grad()
def test_length_normalised():
    model = tiny_model()
    source = sentences(model, [5])[0]
    for beam_size in (1, 3):
        settings = replace(SMALL, length_normalised=True, beam_size=beam_size)
        (hypotheses,) = decode_flat(model, [source], settings, nbest=3)
        for own in hypotheses:
            log_prob = flat_log_prob(model, source, own.tokens)
            assert own.log_prob == pytest.approx(log_prob, abs=1e-5)
            assert own.rank_score == pytest.approx(log_prob / (len(own.tokens) + 1), abs=1e-5)


def test_a_model_in_training_is_left_so():
    model = tiny_model().train()
    decode_flat(model, sentences(model, [3]), SMALL)
    assert model.training


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beam_size", 0),
        ("span_threshold", -0.1),
        ("flat_weight", 1.5),
        ("segment_rate", 1.0),
        ("max_segments", 0),
        ("max_phrase_length", 0),
        ("batch_tokens", 0),
        ("max_output_extra", 0),
        ("max_output_ratio", -1.0),
        ("max_output_ratio", math.inf),
        ("max_cky_length", -1),
    ],
)
def test_settings_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        DecodingSettings(**{name: value})
