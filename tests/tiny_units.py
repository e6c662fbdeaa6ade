"""Models whose tokens are parts of words."""

import torch

from btg_seq2seq.text.units import LETTER, SPACED


def table_of(size, continuing):
    """All tokens begin a word, except for these, which continue it."""
    table = torch.full((size,), SPACED | LETTER << 2, dtype=torch.uint8)
    table[list(continuing)] = LETTER | LETTER << 2
    return table


def with_words(model, continuing):
    """The model with words as units."""
    model.config.units = "words"
    model.unit_table = table_of(model.backbone.vocabulary_size, continuing)
    return model
