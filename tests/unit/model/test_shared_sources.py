"""Beams that share a source have the states that they have with copies of it."""

import pytest
import torch
from tiny_models import assert_near, every_family, tiny_backbone
from torch import nn
from transformers import DynamicCache, EncoderDecoderCache

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.shared_sources import SharedSourceCache, share_sources


@every_family
@torch.no_grad()
def test_the_same_as_with_copies(name):
    backbone, beam = tiny_backbone(name), 3
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(4, 6, 16, generator=generator)
    mask = (torch.arange(6) < torch.tensor([[6], [2], [4], [1]])).long()
    prompt = torch.tensor(backbone.sentence_prompt()).expand(4, -1)
    shared, copied = SharedSourceCache(), EncoderDecoderCache(DynamicCache(), DynamicCache())
    one = backbone.next_logits(prompt, states, mask, shared)
    assert_near(one, backbone.next_logits(prompt, states, mask, copied), 1e-5)
    # The first row is done, and each of the others has a beam.
    left = torch.tensor([1, 2, 3])
    places = left.repeat_interleave(beam)
    tokens = torch.randint(3, 36, (len(places), 1), generator=generator)
    shared.keep_sources(left, 4)
    shared.reorder_beams(places, beam)
    copied.reorder_cache(places)
    for _ in range(2):
        one = backbone.next_logits(tokens, states[left, :4], mask[left, :4], shared)
        other = backbone.next_logits(tokens, states[places], mask[places], copied)
        assert_near(one, other, 1e-5)
    assert shared.cross_attention_cache.layers[0].keys.shape[0] == 3


def test_attention_without_the_name():
    with pytest.raises(UserError, match="cross_attention"):
        share_sources(nn.Sequential(nn.Linear(1, 1)), "encoder_attn")
