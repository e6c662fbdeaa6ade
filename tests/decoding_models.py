"""Tiny models of every family with grammars, and sentences for them."""

import torch
from tiny_models import VOCABULARY, tiny_backbone, tokens

from btg_seq2seq.decoding.settings import DecodingSettings
from btg_seq2seq.model.config import BTGSeq2SeqConfig
from btg_seq2seq.model.transducer import BTGSeq2Seq

SMALL = DecodingSettings(beam_size=3, max_output_ratio=1.0, max_output_extra=2, batch_tokens=400)


def tiny_model(name="t5", **settings):
    backbone = tiny_backbone(name)
    backbone.add_segment_ids(VOCABULARY, VOCABULARY + 1)
    torch.manual_seed(11)
    model = BTGSeq2Seq(BTGSeq2SeqConfig(backbone=backbone.model.config, **settings), backbone)
    with torch.no_grad():  # trees that are not all alike
        model.prior.output *= 10
    return model.eval()


def sentences(model, lengths, seed=0):
    """Token ids with their frame."""
    generator = torch.Generator().manual_seed(seed)
    config = model.config
    return [[*config.prefix, *tokens(generator, n), *config.suffix] for n in lengths]
