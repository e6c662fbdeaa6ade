"""The grammar of some source sentences: everything that the chart needs beside phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from btg_seq2seq.decoding.phrase_translator import Floats
from btg_seq2seq.grammar.packing import split_count


@dataclass(frozen=True)
class SourceGrammar:
    """The distribution over trees of some sentences.

    ``DecodingSettings`` may override all but the split scores. They also have the distribution over
    numbers of phrases.

    Args:
        split_scores: returns the log weights ``[splits, 2]`` of the splits of each of the given
            sentences, as ``TreeCRF`` takes them. They must be finite.
        max_segments: most phrases per sentence.
        max_phrase_length: longest phrase in units; ``None`` for no limit.
    """

    split_scores: Callable[[Sequence[int]], list[Floats]]
    max_segments: int
    max_phrase_length: int | None = None

    @classmethod
    def given(cls, scores: Sequence[Any], **settings: Any) -> SourceGrammar:
        """Build a grammar from the split scores of each sentence."""
        arrays = [np.array(own, np.float64) for own in scores]
        return cls(lambda sentences: [arrays[sentence] for sentence in sentences], **settings)

    @classmethod
    def uniform(cls, lengths: Sequence[int], **settings: Any) -> SourceGrammar:
        """Build a grammar in which all splits have the same weight."""
        return cls.given([np.zeros((split_count(length), 2)) for length in lengths], **settings)
