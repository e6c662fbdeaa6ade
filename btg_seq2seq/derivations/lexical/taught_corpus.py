"""The derivations that the lexical teacher finds and draws for a corpus, in compact arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.derivations.derivation import Derivation, PhrasePair


@dataclass(frozen=True, eq=False)
class TaughtCorpus:
    """Derivations of each sentence pair: the best for each number of phrases, and drawn ones.

    Positions are units. Phrase pairs are ``i, k, a, c``, in target order; rows are padded with
    zeros. A sentence pair without derivations (an empty or too long side) has zeros only.
    """

    log_partitions: NDArray[np.float64]  # [sentences, most]: for 1, 2, ... phrases
    log_maxima: NDArray[np.float64]  # [sentences, most]
    log_counts: NDArray[np.float64]  # [sentences, most]: log p(n) by the grammar, for one tree
    best: NDArray[np.int16]  # [sentences, most, most, 4]
    drawn: NDArray[np.int16]  # [sentences, draws, most, 4]
    densities: NDArray[np.float32]  # [sentences, draws]

    def __len__(self) -> int:
        return len(self.best)

    @property
    def count(self) -> int:
        """Drawn derivations per sentence pair."""
        return int(self.drawn.shape[1])

    @property
    def without_derivation(self) -> int:
        """Number of sentence pairs without derivations."""
        return int((self.log_maxima == -np.inf).all(1).sum())

    def phrases(self, position: int, draw: int) -> list[list[int]]:
        """Phrase pairs of a drawn derivation; none if there is no derivation."""
        return _rows(self.drawn[position, draw])

    def log_density(self, position: int, draw: int) -> float:
        """Log-probability of the drawn tree among the teacher's trees with as many leaves.

        Summed over the segmentations of the target: that of the tree, not of the derivation.
        """
        return float(self.densities[position, draw])

    def count_log_probs(self, position: int) -> NDArray[np.float64]:
        """Log-probability of each number of phrases given the sentence pair, ``[most]``."""
        weights = self.log_partitions[position] + self.log_counts[position]
        highest = weights.max()
        if highest == -np.inf:
            return np.asarray(weights)
        total = highest + np.log(np.exp(weights - highest).sum())
        return np.asarray(weights - total)

    def chosen_count(self, position: int) -> int:
        """Number of phrases of the most probable derivation of all; 0 if there is none."""
        weights = self.log_maxima[position] + self.log_counts[position]
        return 0 if weights.max() == -np.inf else int(weights.argmax()) + 1

    def best_derivation(self, position: int, phrases: int | None = None) -> Derivation | None:
        """The most probable derivation, of all or with this many phrases, if there is one."""
        count = self.chosen_count(position) if phrases is None else phrases
        if not 1 <= count <= self.best.shape[1]:
            return None
        return _derivation(_rows(self.best[position, count - 1]))

    def finest_derivation(self, position: int) -> Derivation | None:
        """The most probable derivation with as many phrases as possible, if there is one."""
        possible = np.flatnonzero(self.log_maxima[position] > -np.inf)
        return self.best_derivation(position, int(possible[-1]) + 1) if len(possible) else None

    def best_log_prob(self, position: int, phrases: int | None = None) -> float:
        """Log-probability of ``best_derivation`` among all derivations of the sentence pair.

        Minus infinity if there is none.
        """
        count = self.chosen_count(position) if phrases is None else phrases
        if self.best_derivation(position, count) is None:
            return -np.inf
        place = (position, count - 1)
        given_count = self.log_maxima[place] - self.log_partitions[place]
        return float(given_count + self.count_log_probs(position)[count - 1])

    def drawn_derivation(self, position: int, draw: int) -> Derivation | None:
        """A drawn derivation, if there is one."""
        return _derivation(self.phrases(position, draw))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def checked(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        shapes: tuple[NDArray[np.int64], NDArray[np.int64], int, int],
    ) -> TaughtCorpus | None:
        """Build it from arrays, unless these do not fit the sentence pairs.

        ``shapes``: units of source and target, number of draws, most phrases.
        """
        source, target, draws, most = shapes
        size = len(source)
        expected: dict[str, Any] = {
            "log_partitions": ((size, most), np.float64),
            "log_maxima": ((size, most), np.float64),
            "log_counts": ((size, most), np.float64),
            "best": ((size, most, most, 4), np.int16),
            "drawn": ((size, draws, most, 4), np.int16),
            "densities": ((size, draws), np.float32),
        }
        found: dict[str, Any] = {
            name: (array.shape, array.dtype.type) for name, array in arrays.items()
        }
        if found != expected:
            return None
        taught = cls(**arrays)
        for phrases in (taught.best, taught.drawn):
            for rows, units, others in zip(phrases, source, target, strict=True):
                if not all(_tiles(row, int(units), int(others)) for row in rows):
                    return None
        return taught

    @classmethod
    def joined(cls, parts: list[TaughtCorpus]) -> TaughtCorpus:
        """Derivations of consecutive parts of a corpus."""
        return cls(
            *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls))
        )


def _rows(phrases: NDArray[np.int16]) -> list[list[int]]:
    rows: list[list[int]] = phrases[phrases[:, 1] > 0].tolist()
    return rows


def _tiles(phrases: NDArray[np.int16], units: int, others: int) -> bool:
    """Tell whether phrase pairs, if there are any, tile both sides."""
    rows = _rows(phrases)
    if not rows:
        return not phrases.any()
    target = [[a, c] for _, _, a, c in rows]
    return all(
        sides[0][0] == 0
        and sides[-1][1] == length
        and all(start < stop for start, stop in sides)
        and all(one[1] == other[0] for one, other in pairwise(sides))
        for sides, length in ((sorted([i, k] for i, k, _, _ in rows), units), (target, others))
    )


def _derivation(rows: list[list[int]]) -> Derivation | None:
    if not rows:
        return None
    return Derivation.from_phrases(PhrasePair((i, k), (a, c)) for i, k, a, c in rows)
