"""Word-translation tables of a bitext: t(y | x) and t(x | y), sparse.

IBM model 1, estimated by EM. With agreement (Liang et al. 2006) the two directions are learned
together: a link counts only as far as both find it likely, which keeps rare words from collecting
what has nothing to do with them. Memory grows with the pairs of words that occur together, and by
four bytes for each time that they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.derivations.lexical.kernels import table_kernels
from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus

if TYPE_CHECKING:
    from btg_seq2seq.derivations.lexical.teacher import Track

Floats = NDArray[np.float64]
KINDS: dict[str, Any] = {
    "source_words": np.int64,
    "target_words": np.int64,
    "begins": np.int64,
    "columns": np.int32,
}  # of arrays that are not float64
CHUNK = 2**23  # pairs of words of sentence pairs that are listed at a time
SMOOTHING = 1e-3  # share of plain frequencies in the empty word's translations


@dataclass(frozen=True, eq=False)
class WordTables:
    """Word-translation probabilities in both directions.

    Words are numbered from 0 on each side. There is one entry for each pair of words that occur
    together, sorted by source word, then target word.
    """

    source_words: NDArray[np.int64]  # [source words]: token ids, rising
    target_words: NDArray[np.int64]
    begins: NDArray[np.int64]  # [source words + 1]: first entry of each source word
    columns: NDArray[np.int32]  # [entries]: target words
    forward: Floats  # [entries]: t(y | x)
    backward: Floats  # [entries]: t(x | y)
    empty_source: Floats  # [source words]: t(x | empty word)
    empty_target: Floats  # [target words]
    source_rates: Floats  # [source words]: relative frequency
    target_rates: Floats

    @classmethod
    def estimate(
        cls,
        corpus: UnitCorpus,
        iterations: int = 8,
        agreement: bool = True,
        track: Track | None = None,
    ) -> WordTables:
        """Estimate tables from the tokens of a bitext."""
        source_words, x = np.unique(corpus.source.tokens, return_inverse=True)
        target_words, y = np.unique(corpus.target.tokens, return_inverse=True)
        sides = (x, corpus.source.ends, y, corpus.target.ends)
        keys, entries = _entries(*sides)
        rows, columns = keys >> 32, keys & 0xFFFFFFFF
        sizes = len(source_words), len(target_words)
        rates = [
            np.bincount(ids, minlength=size) / max(len(ids), 1)
            for ids, size in zip((x, y), sizes, strict=True)
        ]
        forward, backward = (
            np.full(len(keys), 1 / max(sizes[1], 1)),
            np.full(len(keys), 1 / max(sizes[0], 1)),
        )
        empty_target, empty_source = rates[1], rates[0]
        rounds: Sequence[int] = range(iterations)
        for step in rounds if track is None else track(rounds, "word-translation tables"):
            counts = tuple(np.zeros(size) for size in (len(keys), len(keys), sizes[1], sizes[0]))
            # The first links are chance: whether they agree means nothing yet.
            agree = agreement and step > 0
            table_kernels.expect(
                *sides, entries, forward, backward, (empty_target, empty_source), agree, counts
            )
            forward = _normalised(counts[0], rows, sizes[0])
            backward = _normalised(counts[1], columns, sizes[1])
            empty_target = _smoothed(counts[2], rates[1])
            empty_source = _smoothed(counts[3], rates[0])
        begins = np.searchsorted(rows, np.arange(sizes[0] + 1))
        return cls(
            *(source_words, target_words, begins, columns.astype(np.int32)),
            *(forward, backward, empty_source, empty_target, rates[0], rates[1]),
        )

    @classmethod
    def checked(cls, arrays: Mapping[str, NDArray[Any]] | None) -> WordTables | None:
        """Build tables from arrays, unless these are not tables that can be used."""
        if arrays is None or set(arrays) != {each.name for each in fields(cls)}:
            return None
        if any(array.dtype != KINDS.get(name, np.float64) for name, array in arrays.items()):
            return None
        tables = cls(**arrays)
        rows, columns, size = (
            len(tables.source_words),
            len(tables.target_words),
            len(tables.columns),
        )
        is_right = (
            tables.begins.shape == (rows + 1,)
            and tables.begins[0] == 0
            and tables.begins[-1] == size
            and bool((np.diff(tables.begins) >= 0).all())
            and tables.forward.shape == tables.backward.shape == (size,)
            and tables.empty_source.shape == tables.source_rates.shape == (rows,)
            and tables.empty_target.shape == tables.target_rates.shape == (columns,)
            and bool(((tables.columns >= 0) & (tables.columns < columns)).all())
        )
        return tables if is_right else None

    @property
    def entries(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats]:
        """The arrays that compiled programs look entries up in."""
        return self.begins, self.columns, self.forward, self.backward

    def probability(self, source: int, target: int) -> tuple[float, float]:
        """Return t(target | source) and t(source | target) for two token ids."""
        x, y = numbers(self.source_words, [source])[0], numbers(self.target_words, [target])[0]
        entry = table_kernels.find(self.begins, self.columns, x, y) if min(x, y) >= 0 else -1
        return (
            (0.0, 0.0) if entry < 0 else (float(self.forward[entry]), float(self.backward[entry]))
        )

    def numbered(self, corpus: UnitCorpus) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number the words of a bitext as in the tables; -1 for unknown ones."""
        return (
            numbers(self.source_words, corpus.source.tokens),
            numbers(self.target_words, corpus.target.tokens),
        )


def numbers(
    words: NDArray[np.int64], tokens: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number tokens by their places among ``words``, which rise; -1 for those that are not."""
    ids = np.asarray(tokens, dtype=np.int64)
    if len(words) == 0:
        return np.full(len(ids), -1)
    places = np.searchsorted(words, ids).clip(max=len(words) - 1)
    return np.where(words[places] == ids, places, -1)


def _entries(
    x: NDArray[np.int64], x_ends: NDArray[np.int64], y: NDArray[np.int64], y_ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Pairs of words that occur together, rising, and which of them each occurrence is.

    Occurrences are those of all sentence pairs in order. Only some of them are in memory as pairs.
    """
    totals = np.cumsum(np.diff(x_ends) * np.diff(y_ends))
    chunk = (totals - 1) // CHUNK
    bounds = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), len(totals)]

    def occurrences() -> Iterator[NDArray[np.int64]]:
        for begin, end in pairwise(bounds):
            sides = x_ends[begin : end + 1], y_ends[begin : end + 1]
            pairs = np.empty(int(np.diff(sides[0]) @ np.diff(sides[1])), np.int64)
            table_kernels.occurrences(x, sides[0], y, sides[1], pairs)
            yield pairs

    keys, new = np.zeros(0, np.int64), [np.zeros(0, np.int64)]
    for pairs in occurrences():
        new.append(np.unique(pairs))
        if sum(map(len, new)) > len(keys):  # so seldom that it costs little
            keys, new = np.unique(np.concatenate([keys, *new])), []
    keys = np.unique(np.concatenate([keys, *new]))
    entries = np.empty(int(totals[-1]) if len(totals) else 0, _smallest_kind(len(keys)))
    done = 0
    for pairs in occurrences():
        entries[done : done + len(pairs)] = np.searchsorted(keys, pairs)
        done += len(pairs)
    return keys, entries


def _smallest_kind(size: int) -> Any:
    return np.int32 if size < 2**31 else np.int64


def _normalised(counts: Floats, groups: NDArray[np.int64], size: int) -> Floats:
    """Counts divided by the sum of their group; 0 where there is none."""
    totals = np.bincount(groups, counts, minlength=size)[groups]
    return np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)


def _smoothed(counts: Floats, rates: Floats) -> Floats:
    total = counts.sum()
    return (1 - SMOOTHING) * counts / total + SMOOTHING * rates if total > 0 else rates
