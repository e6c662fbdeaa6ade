"""All derivations of a sentence pair under given scores of phrase pairs, exactly.

The marginalisation that the paper calls impractical with a neural phrase model: with scores that
cost nothing to look up, one chart over ``(i, k, a, c)`` gives for every number of phrases the log
partition, the best derivation, exact samples, and the posterior of every phrase pair. How phrase
pairs are scored is left to others.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.derivations.lexical.kernels import bitext_kernels as kernels
from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.grammar.packing import span_count, span_index

Floats = NDArray[np.float64]
# Weights are safe if no cell exceeds this and no sum falls below it: what underflows is nothing
# beside them.
LARGEST, SMALLEST = np.exp(250.0), np.exp(-250.0)


class BitextChart:
    """The derivations of one sentence pair with 1 to ``most`` phrases.

    Args:
        scores: ``[source spans, posts, posts]`` log weights of phrase pairs: row
            ``span_index(i, k)``, column ``a, c`` for the source units ``[i, k)`` and the target
            units ``[a, c)``. Minus infinity where there is no such phrase pair.
        most: largest number of phrases.
    """

    def __init__(self, scores: Floats, most: int) -> None:
        self.scores = np.ascontiguousarray(scores, dtype=np.float64)
        self.posts = scores.shape[1]
        self.units = int((np.sqrt(8 * len(scores) + 1) - 1) / 2)
        shape = (span_count(self.units), self.posts, self.posts)
        if scores.shape != shape or self.posts < 2:
            raise ValueError(f"scores have shape {scores.shape}, which is of no sentence pair")
        if np.isnan(scores).any() or (scores == np.inf).any():
            raise ValueError("scores must be finite, or -inf where there is no such phrase pair")
        self.most = min(most, self.units, self.posts - 1)
        if self.most < 1:
            raise ValueError(f"a derivation has one phrase or more, not {most}")

    # ---- weights -----------------------------------------------------------------------------

    @cached_property
    def _is_possible(self) -> NDArray[np.bool_]:
        a, c = np.indices((self.posts, self.posts))
        return np.broadcast_to(a < c, self.scores.shape) & (self.scores > -np.inf)

    @cached_property
    def _rate(self) -> float:
        """Log weight per unit that is taken from all scores: every derivation has all units."""
        possible = self._is_possible
        return float((self.scores[possible] / self._sizes[possible]).max()) if possible.any() else 0

    @cached_property
    def _sizes(self) -> Floats:
        """Units of each phrase pair, of both sides."""
        start, stop = _spans(self.units)
        a, c = np.indices((self.posts, self.posts))
        return ((stop - start)[:, None, None] + (c - a)).astype(np.float64)

    @cached_property
    def _weights(self) -> Floats:
        scaled = np.where(self._is_possible, self.scores - self._rate * self._sizes, -np.inf)
        return np.exp(scaled)

    @property
    def _total(self) -> float:
        """What was taken from a whole derivation."""
        return self._rate * (self.units + self.posts - 1)

    def _filled(self, semiring: int) -> tuple[Floats, Floats]:
        in_logs = semiring in (kernels.LOG_SUM, kernels.LOG_MAX)
        shape = (max(self.most - 1, 1), 3, *self.scores.shape)
        if in_logs:
            leaf, cells = np.where(self._is_possible, self.scores, -np.inf), np.full(shape, -np.inf)
        else:
            leaf, cells = self._weights, np.zeros(shape)
        kernels.fill(semiring, leaf, cells, self.units, self.most)
        return leaf, cells

    def _roots(self, leaf: Floats, cells: Floats) -> Floats:
        root = span_index(0, self.units)
        several = cells[: self.most - 1, kernels.EITHER, root, 0, -1]
        return np.concatenate([leaf[root, 0, -1:], several])

    def _safe(self, semiring: int, in_logs: int) -> tuple[int, Floats, Floats]:
        """Weights if they are safe, else their logarithms."""
        leaf, cells = self._filled(semiring)
        roots = self._roots(leaf, cells)
        is_safe = cells.max() < LARGEST and bool((roots[roots > 0] > SMALLEST).all())
        if is_safe and (roots[1:] == 0).any():  # nothing there, or too little to be seen?
            is_safe = bool(((roots > 0) == self._has_derivations).all())
        return (semiring, leaf, cells) if is_safe else (in_logs, *self._filled(in_logs))

    @cached_property
    def _has_derivations(self) -> NDArray[np.bool_]:
        """Whether there are derivations with 1, 2, ... phrases, ``[most]``."""
        leaf = self._is_possible.astype(np.float64)
        cells = np.zeros((max(self.most - 1, 1), 3, *leaf.shape))
        kernels.fill(kernels.MAX, leaf, cells, self.units, self.most)
        return self._roots(leaf, cells) > 0

    @cached_property
    def _sums(self) -> tuple[int, Floats, Floats]:
        return self._safe(kernels.SUM, kernels.LOG_SUM)

    @cached_property
    def _maxima(self) -> tuple[int, Floats, Floats]:
        return self._safe(kernels.MAX, kernels.LOG_MAX)

    def _log_roots(self, semiring: int, leaf: Floats, cells: Floats) -> Floats:
        roots = self._roots(leaf, cells)
        if semiring in (kernels.LOG_SUM, kernels.LOG_MAX):
            return roots
        with np.errstate(divide="ignore"):
            return np.log(roots) + self._total

    # ---- what the chart says -----------------------------------------------------------------

    @cached_property
    def log_partitions(self) -> Floats:
        """Log of the summed weights of all derivations with 1, 2, ... phrases, ``[most]``."""
        return self._log_roots(*self._sums)

    @cached_property
    def log_maxima(self) -> Floats:
        """Log weight of the best derivation with 1, 2, ... phrases, ``[most]``."""
        return self._log_roots(*self._maxima)

    def best(self, phrases: int) -> tuple[Tree, Segmentation]:
        """The best derivation with this many phrases."""
        self._check(phrases, self.log_maxima)
        return self._descend(self._maxima, phrases, np.zeros(phrases))

    def sample(self, phrases: int, uniforms: Floats) -> tuple[Tree, Segmentation]:
        """A derivation with this many phrases, drawn by its weight.

        ``uniforms`` are random numbers in [0, 1), ``[phrases - 1]`` or more.
        """
        self._check(phrases, self.log_partitions)
        return self._descend(self._sums, phrases, np.asarray(uniforms, dtype=np.float64))

    def phrase_posteriors(self, count_weights: Floats) -> Floats:
        """Probability that a phrase pair is in the derivation, as ``scores``.

        ``count_weights``, ``[most]``: probability of each number of phrases.
        """
        weights = np.asarray(count_weights, dtype=np.float64)
        if weights.shape != (self.most,) or (weights < 0).any():
            raise ValueError(f"count_weights must be {self.most} numbers, none of them negative")
        for phrases in np.flatnonzero(weights) + 1:
            self._check(int(phrases), self.log_partitions)
        semiring, leaf, cells = self._sums
        is_log = semiring == kernels.LOG_SUM
        zero = -np.inf if is_log else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            outer = np.log(weights) - self._roots(leaf, cells) if is_log else None
            if outer is None:
                outer = weights / self._roots(leaf, cells)
        outer = np.where(weights > 0, outer, zero)
        gradients, result = np.full_like(cells, zero), np.full_like(leaf, zero)
        root = span_index(0, self.units)
        gradients[: self.most - 1, kernels.EITHER, root, 0, -1] = outer[1:]
        result[root, 0, -1] = outer[0]
        kernels.outside(semiring, leaf, cells, self.units, self.most, gradients, result)
        return np.exp(result + leaf) if is_log else result * leaf

    def _check(self, phrases: int, log_roots: Floats) -> None:
        if not 1 <= phrases <= self.most or log_roots[phrases - 1] == -np.inf:
            raise ValueError(f"the sentence pair has no derivation with {phrases} phrases")

    def _descend(
        self, filled: tuple[int, Floats, Floats], phrases: int, uniforms: Floats
    ) -> tuple[Tree, Segmentation]:
        semiring, leaf, cells = filled
        found = np.zeros((phrases, 4), np.int64)
        kernels.descend(semiring, leaf, cells, self.units, phrases, uniforms, found)
        rows = found.tolist()
        tree = Tree.from_phrases([(i, k) for i, k, _, _ in rows])
        return tree, [(a, c) for _, _, a, c in rows]


def _spans(units: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Starts and stops of all source spans, in packed order."""
    stop, start = np.tril_indices(units)
    return start, stop + 1
