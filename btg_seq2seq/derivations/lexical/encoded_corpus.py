"""An encoded bitext as the lexical teacher reads it: tokens without their frame, and units."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus, UnitSide
from btg_seq2seq.text.batches import EncodedBitext
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.units import fenceposts_of
from btg_seq2seq.text.words import is_punctuation


def unit_corpus(
    data: EncodedBitext, tokenizer: PreTrainedTokenizerBase, unit_table: Tensor | None
) -> UnitCorpus:
    """Take tokens and units of a bitext; each token is a unit without a table.

    The tokenizer says which sentences end in punctuation.
    """
    frames = Frames.of(tokenizer)
    prefix, suffix = len(frames.source.prefix), len(frames.source.suffix)
    sources = [
        (row := data.source[position])[prefix : len(row) - suffix] for position in range(len(data))
    ]
    targets = [data.target[position][:-1] for position in range(len(data))]

    @cache
    def is_stop(unit: tuple[int, ...]) -> bool:
        return len(unit) > 0 and is_punctuation(str(tokenizer.decode(list(unit))))

    def packed(side: Sequence[Sequence[int]]) -> UnitSide:
        posts = [fenceposts_of(unit_table, row) for row in side]
        lasts = (
            row[max(fence[-2:-1], default=0) :] for row, fence in zip(side, posts, strict=True)
        )
        return UnitSide.of(side, posts, [is_stop(tuple(last)) for last in lasts])

    return UnitCorpus(packed(sources), packed(targets))
