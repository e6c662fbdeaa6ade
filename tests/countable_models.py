"""A model whose phrases have so few translations that all of them can be listed."""

import math
from itertools import product

import torch

from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq

WORDS = [4, 5, 6]
SOURCE = [4, 6, 5, 4]
FLAT_WEIGHT, RATE = 0.3, 0.4
# Phrases of one or two tokens become one or two, longer ones up to three.
EVERYTHING = DecodingSettings(
    beam_size=1100,
    span_threshold=0.0,
    flat_weight=FLAT_WEIGHT,
    segment_rate=RATE,
    max_output_ratio=0.5,
    max_output_extra=1,
)


def countable_model(**options):
    torch.manual_seed(3)
    config = default_config(7, hidden_size=16, layers=1, heads=2, dropout=0.0)
    model = BTGSeq2Seq.from_backbone(config, max_segments=3, **options)
    model.backbone.add_segment_ids(2, 3)
    with torch.no_grad():  # trees and words that are not all alike
        model.prior.output *= 30
        model.backbone.model.shared.weight *= 1.5
    return model.eval()


def strings_of(length):
    """All that a phrase of this many tokens can become."""
    longest = math.ceil(length / 2) + 1
    return [string for size in range(1, longest + 1) for string in product(WORDS, repeat=size)]


def flat_log_prob(model, source, target):
    labels = torch.tensor([[*target, 1]])
    logits = model.backbone.model(input_ids=torch.tensor([source]), labels=labels).logits
    return logits.double().log_softmax(2).gather(2, labels[..., None]).sum().item()
