"""The model of a run: random weights, a pretrained encoder-decoder, or that of an earlier run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import torch
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from btg_seq2seq.errors import UserError
from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.model.config import CONFIG_NAME, BTGSeq2SeqConfig, open_btg_config
from btg_seq2seq.model.families import default_config, load_pretrained, set_dropout
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.opening import read_json
from btg_seq2seq.training.settings.config import ModelConfig

DROPOUT = 0.1  # default for random weights


def build_model(config: ModelConfig, tokenizer: PreTrainedTokenizerBase) -> BTGSeq2Seq:
    """Build the model of a configuration for the tokens of a tokenizer."""
    backbone: PreTrainedConfig | PreTrainedModel
    if config.pretrained is None:
        backbone = default_config(
            len(tokenizer),
            hidden_size=config.hidden_size,
            layers=config.layers,
            heads=config.heads,
            feed_forward_size=config.feed_forward_size,
            dropout=DROPOUT if config.dropout is None else config.dropout,
            pad=tokenizer.pad_token_id,
            sentence_end=tokenizer.eos_token_id,
        )
    elif config.init_from is not None and is_btg(config.init_from):
        saved = open_btg_config(config.init_from)
        if saved.backbone is not None:
            set_dropout(saved.backbone, config.dropout)
        backbone = BTGSeq2Seq.from_pretrained(config.init_from, config=saved).backbone.model
    else:
        backbone = load_pretrained(config.pretrained, torch.float32, config.dropout)
    # The languages that its tokenizer happens to have may be wrong.
    is_given = config.source_language is not None
    if not is_given and isinstance(backbone, PreTrainedModel) and Backbone(backbone).lacks_language:
        raise UserError(
            f"{config.pretrained} marks the languages of its texts: set model.source_language and "
            "model.target_language"
        )
    model = BTGSeq2Seq.from_backbone(backbone, tokenizer, **asdict(config.grammar))
    if config.pretrained is None and config.position_spread is not None:
        model.backbone.family.spread_positions(model.backbone.model, config.position_spread)
    if config.pretrained is None and config.initial_weights == "small":
        model.backbone.family.shrink_weights(model.backbone.model)
    if config.source_language is not None and config.target_language is not None:
        model.backbone.set_languages(config.source_language, config.target_language, tokenizer)
    return model


def is_btg(directory: str) -> bool:
    """Return whether a model directory was written by this package."""
    config = Path(directory) / CONFIG_NAME
    return config.exists() and read_json(config).get("model_type") == BTGSeq2SeqConfig.model_type


def describe(model: BTGSeq2Seq, config: ModelConfig) -> str:
    """Describe kind, origin and size of a model."""
    kind = model.backbone.model.config.model_type
    origin = config.pretrained or "random weights"
    backbone = sum(weight.numel() for weight in model.backbone.parameters())
    parsers = sum(weight.numel() for weight in model.parameters()) - backbone
    return f"{kind} from {origin}, {backbone:,} weights and {parsers:,} of the parsers"
