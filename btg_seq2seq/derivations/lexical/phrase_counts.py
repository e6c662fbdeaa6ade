"""Phrase pairs that recur in a corpus: their places, and how often the charts expect them.

The first expectations list all probable phrase pairs; those found in two sentence pairs or more are
kept. Later ones estimate again how often each of them is used. What a sentence pair expects of
itself never counts for it (leave one out), or every phrase pair that occurs once would be good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.derivations.lexical.kernels import count_kernels
from btg_seq2seq.derivations.lexical.kernels.corpus_kernels import Recurring
from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus, UnitSide


@dataclass(frozen=True, eq=False)
class PhrasePairCounts:
    """Recurring phrase pairs, and the places where they occur."""

    keys: NDArray[np.uint64]  # [pairs]: checksums of both phrases, rising
    counts: NDArray[np.float64]  # [pairs]: expected number of uses
    ends: NDArray[np.int64]  # [sentences + 1]: first place of each sentence pair, and the end
    cells: NDArray[np.int16]  # [places, 4]: source span, target span
    pairs: NDArray[np.int64]  # [places]: which of the pairs
    firsts: NDArray[np.int64]  # [places]: first place of the same pair in its sentence pair
    expected: NDArray[np.float32]  # [places]: probability that the place is used

    @classmethod
    def nothing(cls, sentences: int) -> PhrasePairCounts:
        """No phrase pair recurs."""
        empty = np.zeros(0, np.int64)
        return cls(
            np.zeros(0, np.uint64),
            np.zeros(0),
            np.zeros(sentences + 1, np.int64),
            np.zeros((0, 4), np.int16),
            empty,
            empty,
            np.zeros(0, np.float32),
        )

    @classmethod
    def of(
        cls,
        corpus: UnitCorpus,
        sentences: NDArray[np.int64],
        cells: NDArray[np.int16],
        expected: NDArray[np.float32],
    ) -> PhrasePairCounts:
        """Keep the places, given in the order of their sentences, whose phrase pair recurs."""
        keys = count_kernels.pair_keys(
            sentences, cells, *_arrays(corpus.source), *_arrays(corpus.target)
        )
        order = np.argsort(keys, kind="stable")
        recurs = count_kernels.in_several(keys, order, sentences)
        sentences, cells, expected = sentences[recurs], cells[recurs], expected[recurs]
        unique, pairs = np.unique(keys[recurs], return_inverse=True)
        ends = np.searchsorted(sentences, np.arange(len(corpus) + 1))
        firsts = count_kernels.first_places(ends, pairs)
        found = cls(unique, np.zeros(len(unique)), ends, cells, pairs, firsts, expected)
        return found.with_expected(expected)

    def with_expected(self, expected: NDArray[np.float32]) -> PhrasePairCounts:
        """The same phrase pairs with other expectations."""
        counts = np.bincount(self.pairs, expected, minlength=len(self.keys)).astype(np.float64)
        return replace(self, counts=counts, expected=expected)

    def source_keys(self, corpus: UnitCorpus) -> NDArray[np.uint64]:
        """Checksums of the source phrases, rising."""
        keys = count_kernels.phrase_keys(
            self._sentences, self.cells[:, :2], *_arrays(corpus.source)
        )
        return np.unique(keys)

    def known_in(
        self,
        corpus: UnitCorpus,
        source_keys: NDArray[np.uint64],
        sentences: NDArray[np.int64],
        longest: int,
    ) -> NDArray[np.int64]:
        """Places of these phrase pairs in further sentence pairs, ``[places, 6]``.

        Sentence, source span, target span, and which of the pairs it is.
        """
        sides = *_arrays(corpus.source), *_arrays(corpus.target)
        found = count_kernels.known_places(sentences, source_keys, self.keys, longest, *sides)
        return np.asarray(found)

    def with_places(self, found: NDArray[np.int64]) -> PhrasePairCounts:
        """The same counts, and places in further sentence pairs, as ``known_in`` gives them.

        Nothing has been expected of these sentence pairs, so they add nothing to the counts.
        """
        own = self._sentences
        order = np.argsort(np.concatenate([own, found[:, 0]]), kind="stable")
        pairs = np.concatenate([self.pairs, found[:, 5]])[order]
        ends = self.ends + np.searchsorted(found[:, 0], np.arange(len(self.ends)))
        expected = np.concatenate([self.expected, np.zeros(len(found), np.float32)])[order]
        return replace(
            self,
            ends=ends,
            cells=np.concatenate([self.cells, found[:, 1:5].astype(np.int16)])[order],
            pairs=pairs,
            firsts=count_kernels.first_places(ends, pairs),
            expected=expected,
        )

    @property
    def _sentences(self) -> NDArray[np.int64]:
        """The sentence pair of each place."""
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))

    @property
    def arrays(self) -> Recurring:
        """The arrays that compiled programs read."""
        return Recurring(self.ends, self.cells, self.pairs, self.firsts, self.expected, self.counts)


def _arrays(side: UnitSide) -> tuple[NDArray[Any], ...]:
    return side.tokens, side.ends, side.posts, side.post_ends
