"""Tiny random models of every family, and batches for them."""

import pytest
import torch
from transformers import (
    BartConfig,
    M2M100Config,
    MarianConfig,
    MBartConfig,
    MT5Config,
    T5Config,
)

from btg_seq2seq.model.backbone import Backbone
from btg_seq2seq.text.batches import IGNORED

VOCABULARY = 40
SOURCE_LANGUAGE, TARGET_LANGUAGE = 36, 37
RELATIVE = ["t5", "t5-unscaled", "mt5"]
ABSOLUTE = ["bart", "mbart", "mbart-50", "m2m_100", "marian"]
WITH_LANGUAGES = ["mbart", "mbart-50", "m2m_100"]
every_family = pytest.mark.parametrize("name", RELATIVE + ABSOLUTE)
both_attentions = pytest.mark.parametrize("attention", ["eager", "sdpa"])


def tiny_config(name):
    relative = {"vocab_size": VOCABULARY, "d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2}
    relative |= {"num_heads": 2, "dropout_rate": 0.0, "relative_attention_num_buckets": 8}
    absolute = {"vocab_size": VOCABULARY, "d_model": 16, "max_position_embeddings": 24}
    for side in ("encoder", "decoder"):
        absolute |= {f"{side}_layers": 2, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 24}
        absolute |= {f"{side}_layerdrop": 0.0}
    absolute |= {"dropout": 0.0, "attention_dropout": 0.0, "init_std": 0.4, "scale_embedding": True}
    marian = {"pad_token_id": 38, "decoder_start_token_id": 38, "decoder_vocab_size": VOCABULARY}
    return {
        "t5": lambda: T5Config(**relative),
        "t5-unscaled": lambda: T5Config(**relative, tie_word_embeddings=False),
        "mt5": lambda: MT5Config(**relative),
        "bart": lambda: BartConfig(**absolute),
        "mbart": lambda: MBartConfig(**absolute),
        "mbart-50": lambda: MBartConfig(**absolute, decoder_start_token_id=2),
        "m2m_100": lambda: M2M100Config(**absolute),
        "marian": lambda: MarianConfig(**absolute, **marian),
    }[name]()


def tiny_backbone(name, attention="sdpa"):
    torch.manual_seed(7)
    backbone = Backbone.load(tiny_config(name)).eval()
    backbone.model.set_attn_implementation(attention)
    if hasattr(backbone.model, "final_logits_bias"):  # zero in a fresh model
        backbone.model.final_logits_bias.normal_()
    if name in WITH_LANGUAGES:
        backbone.set_languages(SOURCE_LANGUAGE, TARGET_LANGUAGE)
    if name in RELATIVE:  # Hugging Face's own forward needs it in the configuration
        backbone.model.config.decoder_start_token_id = backbone.sentence_start
    return backbone


def padded(rows, filler):
    longest = max(map(len, rows))
    return torch.tensor([row + [filler] * (longest - len(row)) for row in rows])


def tokens(generator, length):
    return torch.randint(3, 36, (length,), generator=generator).tolist()


def batch_of(backbone, lengths=((7, 5), (3, 6), (5, 2)), seed=0):
    """input_ids, attention_mask, labels that end in sentence_end."""
    generator = torch.Generator().manual_seed(seed)
    end = backbone.sentence_end
    sources = [[*tokens(generator, source), end] for source, _ in lengths]
    targets = [[*tokens(generator, target), end] for _, target in lengths]
    input_ids, labels = padded(sources, backbone.pad), padded(targets, IGNORED)
    return input_ids, (input_ids != backbone.pad).long(), labels


def labels_for_hugging_face(name, backbone, labels):
    """The labels with what the tokenizer of the family adds to them."""
    rows = [[label for label in row if label != IGNORED] for row in labels.tolist()]
    if name == "mbart":  # the language stands behind, and is wrapped around to the front
        rows = [[*row, TARGET_LANGUAGE] for row in rows]
    else:
        rows = [[*backbone.prefix, *row] for row in rows]
    return padded(rows, IGNORED)


def assert_near(actual, expected, tolerance=1e-6):
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def gradients(backbone):
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in backbone.model.named_parameters()
    }
