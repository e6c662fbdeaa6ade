"""A bitext in units: token ids of each sentence, and the fenceposts of its units.

Without a model, words are tokens and units at once. With a model, its tokenizer gives tokens, and
its units are those of ``text.units``. Nothing else of the teacher knows text or tokenizers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.text.words import is_punctuation, words_of


@dataclass(frozen=True, eq=False)
class UnitSide:
    """One side of a bitext, in flat arrays."""

    tokens: NDArray[np.int64]  # [all tokens]
    ends: NDArray[np.int64]  # [sentences + 1]: first token of each sentence, and the end
    posts: NDArray[np.int32]  # [all fenceposts]: of units, in tokens; each sentence from 0 on
    post_ends: NDArray[np.int64]  # [sentences + 1]
    stops: NDArray[np.bool_]  # [sentences]: the last unit is punctuation

    @classmethod
    def of(
        cls,
        tokens: Sequence[Sequence[int]],
        posts: Sequence[Sequence[int]],
        stops: Sequence[bool] | None = None,
    ) -> UnitSide:
        """Pack sentences: token ids, and fenceposts of units from 0 to the number of tokens.

        ``stops`` tells whether the last unit of each sentence is punctuation; by default, none is.
        """
        for sentence, (row, fence) in enumerate(zip(tokens, posts, strict=True)):
            steps = np.diff(np.asarray(fence))
            if len(fence) == 0 or fence[0] != 0 or fence[-1] != len(row) or (steps < 1).any():
                raise ValueError(
                    f"sentence {sentence}: the fenceposts {list(fence)} do not rise from 0 to "
                    f"{len(row)}, its number of tokens"
                )
        final = np.zeros(len(tokens), np.bool_) if stops is None else np.array(stops, np.bool_)
        if final.shape != (len(tokens),):
            raise ValueError(f"{len(tokens)} sentences but {len(final)} last units")
        return cls(
            *(_flat(tokens, np.int64), _ends(tokens), _flat(posts, np.int32), _ends(posts)), final
        )

    @classmethod
    def of_begins(
        cls, tokens: Sequence[Sequence[int]], begins: Sequence[Sequence[bool]]
    ) -> UnitSide:
        """Pack sentences; ``begins`` tells for each token whether it begins a unit."""
        posts = [
            [0, *(place for place in range(1, len(row)) if marks[place]), *([len(row)] * bool(row))]
            for row, marks in zip(tokens, begins, strict=True)
        ]
        return cls.of(tokens, posts)

    @classmethod
    def of_words(cls, words: Iterable[Sequence[str]]) -> UnitSide:
        """Pack sentences of words; every word is a token and a unit."""
        vocabulary: dict[str, int] = {}
        tokens, stops = [], []
        for row in words:
            tokens.append([vocabulary.setdefault(word, len(vocabulary)) for word in row])
            stops.append(len(row) > 0 and is_punctuation(row[-1]))
        return cls.of(tokens, [range(len(row) + 1) for row in tokens], stops)

    @classmethod
    def of_text(cls, lines: Iterable[str]) -> UnitSide:
        """Pack plain text: words, punctuation marks, characters of scripts without spaces."""
        return cls.of_words(
            [line[word.start : word.stop] for word in words_of(line)] for line in lines
        )

    def only(self, chosen: NDArray[np.bool_]) -> UnitSide:
        """The same with nothing in all other sentences than the chosen ones, ``[sentences]``."""
        tokens, posts = np.diff(self.ends), np.diff(self.post_ends)
        is_first = np.zeros(len(self.posts), np.bool_)
        is_first[self.post_ends[:-1]] = True
        return UnitSide(
            self.tokens[np.repeat(chosen, tokens)],
            np.cumsum([0, *(tokens * chosen)]),
            self.posts[np.repeat(chosen, posts) | is_first],
            np.cumsum([0, *np.where(chosen, posts, 1)]),
            self.stops & chosen,
        )

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def units(self) -> NDArray[np.int64]:
        """Units of each sentence."""
        return np.diff(self.post_ends) - 1

    def fenceposts(self, sentence: int) -> NDArray[np.int32]:
        """Fenceposts of the units of a sentence, in tokens."""
        return self.posts[self.post_ends[sentence] : self.post_ends[sentence + 1]]


@dataclass(frozen=True, eq=False)
class UnitCorpus:
    """Both sides of a bitext."""

    source: UnitSide
    target: UnitSide

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise ValueError(
                f"{len(self.source)} source sentences but {len(self.target)} target sentences"
            )

    @classmethod
    def of_text(cls, source: Iterable[str], target: Iterable[str]) -> UnitCorpus:
        """Pack plain text, line by line."""
        return cls(UnitSide.of_text(source), UnitSide.of_text(target))

    def only(self, chosen: NDArray[np.bool_]) -> UnitCorpus:
        """The same with nothing in all other sentence pairs than the chosen ones."""
        return UnitCorpus(self.source.only(chosen), self.target.only(chosen))

    def __len__(self) -> int:
        return len(self.source)

    def most_phrases(self, max_segments: int) -> NDArray[np.int64]:
        """Return the most phrases that each sentence pair can be cut into; 0 for an empty side."""
        shorter = np.minimum(self.source.units, self.target.units)
        return np.minimum(shorter, max_segments).clip(min=0)

    def digest(self) -> str:
        """Checksum of all sentences, units and full stops."""
        checksum = hashlib.sha256()
        for side in (self.source, self.target):
            for array in (side.tokens, side.ends, side.posts, side.post_ends, side.stops):
                checksum.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        return checksum.hexdigest()


def _flat(rows: Sequence[Sequence[int]], kind: Any) -> NDArray[Any]:
    parts = [np.asarray(row, dtype=kind) for row in rows]
    return np.concatenate(parts) if parts else np.zeros(0, kind)


def _ends(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)
