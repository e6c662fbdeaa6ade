"""An encoded bitext as the lexical teacher reads it: units, without the frames of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus, UnitSide
from btg_seq2seq.text.batches import EncodedBitext
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.units import fenceposts_of
from btg_seq2seq.text.words import is_punctuation


def unit_corpus(
    data: EncodedBitext,
    tokenizer: PreTrainedTokenizerBase,
    unit_table: Tensor | None,
    *,
    in_tokens: bool = False,
) -> UnitCorpus:
    """Take the units of a bitext; each token is a unit without a table.

    A unit is translated as a whole, whatever tokens it consists of: tables of words lead to better
    phrases than tables of parts of words. With ``in_tokens``, it keeps its tokens. The tokenizer
    says which sentences end in punctuation.
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
        units = [
            [tuple(row[start:stop]) for start, stop in pairwise(fence)]
            for row, fence in zip(side, posts, strict=True)
        ]
        stops = [bool(row) and is_stop(row[-1]) for row in units]
        if in_tokens:
            return UnitSide.of(side, posts, stops)
        numbers: dict[tuple[int, ...], int] = {}
        words = [[numbers.setdefault(unit, len(numbers)) for unit in row] for row in units]
        return UnitSide.of(words, [range(len(row) + 1) for row in words], stops)

    return UnitCorpus(packed(sources), packed(targets))
