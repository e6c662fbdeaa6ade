"""All derivations of a sentence pair under given scores of phrase pairs, exactly.

The marginalisation that the paper calls impractical with a neural phrase model: with scores that
cost nothing to look up, one chart over ``(i, k, a, c)`` gives for every number of phrases the log
partition, the best derivation, exact samples, and the posterior of every phrase pair. How phrase
pairs are scored is left to others. ``passes`` runs the same compiled programs over a corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.derivations.lexical.kernels import bitext_kernels as kernels
from btg_seq2seq.derivations.lexical.kernels import layouts, sum_kernels
from btg_seq2seq.grammar import Segmentation, Tree
from btg_seq2seq.grammar.packing import span_count

Floats = NDArray[np.float64]


class BitextChart:
    """The derivations of one sentence pair with 1 to ``most`` phrases.

    Args:
        scores: ``[source spans, posts, posts]`` log weights of phrase pairs: row
            ``span_index(i, k)``, column ``a, c`` for the source units ``[i, k)`` and the target
            units ``[a, c)``. Minus infinity where there is no such phrase pair.
        most: largest number of phrases.
        log_orders: log weights of a straight and of an inverted node.
    """

    largest = sum_kernels.LARGEST  # weights beyond it are not safe

    def __init__(self, scores: Floats, most: int, log_orders: Sequence[float] = (0.0, 0.0)) -> None:
        posts = scores.shape[1]
        self.units = int((np.sqrt(8 * len(scores) + 1) - 1) / 2)
        if scores.shape != (span_count(self.units), posts, posts) or posts < 2:
            raise ValueError(f"scores have shape {scores.shape}, which is of no sentence pair")
        if np.isnan(scores).any() or (scores == np.inf).any():
            raise ValueError("scores must be finite, or -inf where there is no such phrase pair")
        self.most = min(most, self.units, posts - 1)
        if self.most < 1:
            raise ValueError(f"a derivation has one phrase or more, not {most}")
        self.layout, size = layouts.whole_layout(self.units, posts)
        is_span = np.broadcast_to(np.triu(np.ones((posts, posts), bool), 1), scores.shape)
        self._dense = np.nonzero(is_span)  # source spans, first and last target posts of cells
        self._places = self.layout.row[self._dense[:2]] + self._dense[2]
        self.scores = np.full(size, -np.inf)
        self.scores[self._places] = scores[self._dense]
        self._shape = scores.shape
        self.log_orders = np.array(log_orders, dtype=np.float64)

    @property
    def _sizes(self) -> tuple[Floats, layouts.Layout, int, int]:
        return self.log_orders, self.layout, self.units, self.most

    @cached_property
    def _maxima(self) -> tuple[Floats, Floats]:
        found: tuple[Floats, Floats] = sum_kernels.maxima(self.scores, *self._sizes)
        return found

    @cached_property
    def _sums(self) -> tuple[int, Floats, Floats, float]:
        found: tuple[int, Floats, Floats, float] = sum_kernels.sums(
            self.scores, *self._sizes, *self._maxima, self.largest
        )
        return found

    @cached_property
    def log_partitions(self) -> Floats:
        """Log of the summed weights of all derivations with 1, 2, ... phrases, ``[most]``."""
        semiring, leaf, cells, scale = self._sums
        found: Floats = sum_kernels.log_roots(
            semiring, leaf, cells, self.layout, self.units, self.most, scale
        )
        return found

    @property
    def log_maxima(self) -> Floats:
        """Log weight of the best derivation with 1, 2, ... phrases, ``[most]``."""
        return self._maxima[1]

    def best(self, phrases: int) -> tuple[Tree, Segmentation]:
        """The best derivation with this many phrases."""
        self._check(phrases)
        cells = self._maxima[0]
        return self._descend(kernels.LOG_MAX, self.scores, cells, phrases, np.zeros(phrases))

    def sample(self, phrases: int, uniforms: Floats) -> tuple[Tree, Segmentation]:
        """A derivation with this many phrases, drawn by its weight.

        ``uniforms`` are random numbers in [0, 1), ``[phrases - 1]`` or more.
        """
        self._check(phrases)
        semiring, leaf, cells, _ = self._sums
        return self._descend(semiring, leaf, cells, phrases, np.asarray(uniforms, np.float64))

    def tree_log_prob(self, tree: Tree) -> float:
        """Log-probability of a tree among those with as many phrases, whatever the segmentation."""
        self._check(tree.segments)
        phrases = np.array(tree.phrases)
        inverted = sum(node.inverted for node in tree.nodes)
        orders = (tree.segments - 1 - inverted, inverted) @ self.log_orders
        total = kernels.log_tree_weight(self.scores, self.layout, phrases) + orders
        return float(total - self.log_partitions[tree.segments - 1])

    def phrase_posteriors(self, count_weights: Floats) -> Floats:
        """Probability that a phrase pair is in the derivation, as ``scores``.

        ``count_weights``, ``[most]``: probability of each number of phrases.
        """
        weights = np.asarray(count_weights, dtype=np.float64)
        if weights.shape != (self.most,) or (weights < 0).any():
            raise ValueError(f"count_weights must be {self.most} numbers, none of them negative")
        for phrases in np.flatnonzero(weights) + 1:
            self._check(int(phrases))
        semiring, leaf, cells, _ = self._sums
        found, _ = sum_kernels.posteriors(semiring, leaf, cells, *self._sizes, weights)
        result = np.zeros(self._shape)
        result[self._dense] = found[self._places]
        return result

    def _check(self, phrases: int) -> None:
        if not 1 <= phrases <= self.most or self.log_maxima[phrases - 1] == -np.inf:
            raise ValueError(f"the sentence pair has no derivation with {phrases} phrases")

    def _descend(
        self, semiring: int, leaf: Floats, cells: Floats, phrases: int, uniforms: Floats
    ) -> tuple[Tree, Segmentation]:
        found = np.zeros((phrases, 4), np.int64)
        log_orders = self.log_orders
        orders = np.exp(log_orders) if semiring == kernels.SUM else log_orders
        kernels.descend(
            semiring, leaf, cells, orders, self.layout, self.units, phrases, uniforms, found
        )
        rows = found.tolist()
        tree = Tree.from_phrases([(i, k) for i, k, _, _ in rows])
        return tree, [(a, c) for _, _, a, c in rows]
