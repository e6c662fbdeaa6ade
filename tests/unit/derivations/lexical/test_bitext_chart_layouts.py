"""Charts of which only some cells are kept, against plain recursions over the same cells."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.derivations.lexical.kernels import layouts, sum_kernels
from btg_seq2seq.derivations.lexical.kernels.bitext_kernels import LOG_SUM, SUM

STRAIGHT, INVERTED, EITHER = range(3)


def random_layout(units, posts, random):
    """Rows of any width, the empty one among them; the whole sentence pair is kept."""
    spans = units * (units + 1) // 2
    low = np.zeros((spans, posts), np.int32)
    high = np.zeros((spans, posts), np.int32)
    for here in range(spans):
        for a in range(posts - 1):
            low[here, a], high[here, a] = np.sort(random.integers(a + 1, posts + 1, 2))
    low[-units, 0], high[-units, 0] = min(low[-units, 0], posts - 1), posts
    return layouts.packed(low, high)


class Recursion:
    """Sums over derivations whose every node is kept, as the grammar defines them."""

    def __init__(self, layout, scores, orders, add):
        self.layout, self.scores, self.orders, self.add = layout, scores, orders, add

    def is_kept(self, i, k, a, c):
        here = layouts.span(i, k)
        return self.layout.low[here, a] <= c < self.layout.high[here, a]

    def leaf(self, i, k, a, c):
        return self.scores[self.layout.row[layouts.span(i, k), a] + c]

    @cache  # noqa: B019
    def weight(self, n, label, i, k, a, c):
        if not self.is_kept(i, k, a, c):
            return -np.inf
        if n == 1:
            return self.leaf(i, k, a, c)
        total = -np.inf
        for way in (STRAIGHT, INVERTED) if label == EITHER else (label,):
            for m in range(1, n):
                for j in range(i + 1, k):
                    for b in range(a + 1, c):
                        one, other = ((i, j), (j, k)) if way == STRAIGHT else ((j, k), (i, j))
                        first = self.weight(m, 1 - way, *one, a, b)
                        second = self.weight(n - m, EITHER, *other, b, c)
                        total = self.add(total, first + second + self.orders[way])
        return total


@pytest.mark.parametrize("largest", [sum_kernels.LARGEST, 0.0])  # the last: only logarithms
@given(st.integers(2, 4), st.integers(3, 12), st.integers(0, 2**32 - 1))
def test_cells_that_are_not_kept_are_in_no_derivation(largest, units, posts, seed):
    random = np.random.default_rng(seed)
    layout, size = random_layout(units, posts, random)
    most = min(3, units, posts - 1)
    orders = np.log([0.3, 0.7])
    scores = np.full(size, -np.inf)
    for here in range(len(layout.low)):
        for a in range(posts):
            for c in range(layout.low[here, a], layout.high[here, a]):
                scores[layout.row[here, a] + c] = 3 * random.normal()
    whole = (0, units, 0, posts - 1)
    best_cells, best = sum_kernels.maxima(scores, orders, layout, units, most)
    plain = Recursion(layout, scores, orders, max)
    expected = [plain.weight(n, EITHER, *whole) for n in range(1, most + 1)]
    np.testing.assert_allclose(best, expected)
    semiring, leaf, cells, scale = sum_kernels.sums(
        scores, orders, layout, units, most, best_cells, best, largest
    )
    assert semiring == (SUM if largest else LOG_SUM)
    found = sum_kernels.log_roots(semiring, leaf, cells, layout, units, most, scale)
    plain = Recursion(layout, scores, orders, np.logaddexp)
    expected = [plain.weight(n, EITHER, *whole) for n in range(1, most + 1)]
    np.testing.assert_allclose(found, expected)
    # The posterior of a phrase pair is the derivative of the log partition by its score.
    weights = np.where(np.isfinite(found), np.arange(1.0, most + 1), 0.0)
    sizes = (orders, layout, units, most)
    posteriors, _ = sum_kernels.posteriors(semiring, leaf, cells, *sizes, weights)
    for place in random.choice(np.flatnonzero(np.isfinite(scores)), 3):
        changed = scores.copy()
        values = []
        for step in (-1e-4, 1e-4):
            changed[place] = scores[place] + step
            moved = Recursion(layout, changed, orders, np.logaddexp)
            roots = [moved.weight(n, EITHER, *whole) for n in range(1, most + 1)]
            values.append(sum(w * r for w, r in zip(weights, roots, strict=True) if w))
        slope = (values[1] - values[0]) / 2e-4
        assert posteriors[place] == pytest.approx(slope, abs=1e-5)
    assert (posteriors[~np.isfinite(scores)] == 0).all()
