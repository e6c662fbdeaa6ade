"""Units of all sentences of one side of a bitext, packed into arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from btg_seq2seq.text.batches import TokenTable
from btg_seq2seq.text.units import begins_unit


@dataclass(frozen=True, eq=False)
class CorpusUnits:
    """Sentences as units; tokens that frame a sentence are not counted."""

    tokens: TokenTable
    prefix: int  # tokens before each sentence
    posts: NDArray[np.int64]  # of all sentences: where units meet, from 0 to the length in tokens
    begins: NDArray[np.int64]  # [sentences + 1]: first fencepost of each sentence, and the end

    @classmethod
    def of(
        cls, tokens: TokenTable, unit_table: Tensor | None, prefix: int = 0, suffix: int = 0
    ) -> CorpusUnits:
        """Find the units of all sentences; each token is one without a table of ``text.units``."""
        ids, ends = np.asarray(tokens.tokens), np.asarray(tokens.ends)
        begins = np.ones(len(ids), dtype=bool)
        if unit_table is not None and len(ids):
            entries = unit_table.cpu().numpy()[ids]
            begins[1:] = begins_unit(entries[:-1], entries[1:])
        lengths = np.diff(ends) - prefix - suffix
        sentence = np.repeat(np.arange(len(lengths)), np.diff(ends))
        place = np.arange(len(ids)) - ends[sentence] - prefix  # in its sentence
        is_post = (begins & (place > 0)) | (place == 0)
        is_post &= place < lengths[sentence]
        counts = np.bincount(sentence[is_post], minlength=len(lengths)) + 1  # and the end
        starts = np.concatenate([[0], np.cumsum(counts)])
        posts = np.empty(starts[-1], dtype=np.int64)
        is_end = np.zeros(len(posts), dtype=bool)
        is_end[starts[1:] - 1] = True
        posts[is_end], posts[~is_end] = lengths, place[is_post]
        return cls(tokens, prefix, posts, starts)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Units of each sentence, ``[sentences]``."""
        return np.diff(self.begins) - 1

    def __getitem__(self, sentence: int) -> list[tuple[int, ...]]:
        """The tokens of each unit of a sentence."""
        tokens = self.tokens[sentence][self.prefix :]
        posts = self.posts[self.begins[sentence] : self.begins[sentence + 1]].tolist()
        return [tuple(tokens[start:stop]) for start, stop in pairwise(posts)]

    def positions(
        self, sentences: NDArray[np.int64], fenceposts: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Turn fenceposts between units of sentences into fenceposts between tokens."""
        places: NDArray[np.int64] = self.posts[self.begins[sentences] + fenceposts]
        return places
