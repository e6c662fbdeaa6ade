"""Charts of one sentence pair, compiled: maxima, sums in a safe range, phrase posteriors.

Sums are taken over weights, which is many times faster than over logarithms. Every derivation
covers every unit once, so each unit may have a share of the scores taken away: shares of the best
derivation make its weight 1, and what underflows is nothing beside it. Should a sum leave the safe
range all the same, it is taken over logarithms.
"""

import numpy as np

from btg_seq2seq.derivations.lexical.kernels.bitext_kernels import (
    EITHER,
    LOG_MAX,
    LOG_SUM,
    SUM,
    descend,
    fill,
    outside,
)
from btg_seq2seq.derivations.lexical.kernels.layouts import span
from btg_seq2seq.grammar.kernels.compiled import compiled

LARGEST, SMALLEST = np.exp(600.0), np.exp(-500.0)


@compiled
def filled(semiring, leaf, log_orders, layout, units, most):
    """The cells of a chart, ``[most - 1, 3, size]``."""
    zero = 0.0 if semiring == SUM else -np.inf
    cells = np.full((max(most - 1, 1), 3, len(leaf)), zero)
    orders = np.exp(log_orders) if semiring == SUM else log_orders
    fill(semiring, leaf, cells, orders, layout, units, most)
    return cells


@compiled
def root_weights(leaf, cells, layout, units, most):
    """Weights of the whole sentence pair with 1, 2, ... phrases, ``[most]``."""
    root = layout.row[span(0, units), 0] + layout.low.shape[1] - 1
    roots = np.empty(most)
    roots[0] = leaf[root]
    for n in range(2, most + 1):
        roots[n - 1] = cells[n - 2, EITHER, root]
    return roots


@compiled
def unit_shares(scores, layout, units, phrases):
    """Shares of each unit in the scores of a derivation, summed over prefixes of both sides."""
    posts = layout.low.shape[1]
    source, target = np.zeros(units + 1), np.zeros(posts)
    for phrase in range(len(phrases)):
        i, k, a, c = phrases[phrase]
        share = scores[layout.row[span(i, k), a] + c] / (k - i + c - a)
        source[i + 1 : k + 1] = share
        target[a + 1 : c + 1] = share
    return np.cumsum(source), np.cumsum(target)


@compiled
def reduced(scores, layout, units, source, target):
    """Weights of phrase pairs without the shares of their units."""
    low, high, row = layout
    leaf = np.zeros(len(scores))
    for k in range(1, units + 1):
        for i in range(k):
            here = span(i, k)
            own = source[k] - source[i]
            for a in range(low.shape[1] - 1):
                for c in range(low[here, a], high[here, a]):
                    at = row[here, a] + c
                    leaf[at] = np.exp(scores[at] - own - (target[c] - target[a]))
    return leaf


@compiled
def is_safe(roots, cells, log_maxima, largest):
    """Tell whether sums of weights stayed in range; ``log_maxima`` say which must not be 0."""
    for n in range(len(roots)):
        if (n >= len(log_maxima) or log_maxima[n] > -np.inf) and not SMALLEST < roots[n] < largest:
            return False
    highest = 0.0
    for weight in cells.flat:
        highest = max(highest, weight)
    return highest < largest


@compiled
def maxima(scores, log_orders, layout, units, most):
    """Cells of the best derivations, and the log weights of those of the whole, ``[most]``."""
    cells = filled(LOG_MAX, scores, log_orders, layout, units, most)
    return cells, root_weights(scores, cells, layout, units, most)


@compiled
def sums(scores, log_orders, layout, units, most, best_cells, log_maxima, largest):
    """Sums over all derivations: semiring, weights of phrase pairs, cells, log of the scale.

    ``best_cells`` and ``log_maxima`` come from ``maxima``, perhaps for fewer phrases.
    """
    n = len(log_maxima)  # shares come from the derivation with the most phrases
    while n > 1 and log_maxima[n - 1] == -np.inf:
        n -= 1
    if log_maxima[n - 1] > -np.inf:
        phrases = np.zeros((n, 4), np.int64)
        uniforms = np.zeros(n)
        descend(LOG_MAX, scores, best_cells, log_orders, layout, units, n, uniforms, phrases)
        source, target = unit_shares(scores, layout, units, phrases)
        leaf = reduced(scores, layout, units, source, target)
        cells = filled(SUM, leaf, log_orders, layout, units, most)
        if is_safe(root_weights(leaf, cells, layout, units, most), cells, log_maxima, largest):
            return SUM, leaf, cells, source[-1] + target[-1]
    return LOG_SUM, scores, filled(LOG_SUM, scores, log_orders, layout, units, most), 0.0


@compiled
def log_roots(semiring, leaf, cells, layout, units, most, scale):
    """Log weights of the whole sentence pair with 1, 2, ... phrases, ``[most]``."""
    roots = root_weights(leaf, cells, layout, units, most)
    return np.log(roots) + scale if semiring == SUM else roots


@compiled
def posteriors(semiring, leaf, cells, log_orders, layout, units, most, count_weights):
    """Probability that each phrase pair is in the derivation, ``[size]``, and expected orders.

    ``count_weights``, ``[most]``: probability of each number of phrases; 0 where there is none.
    """
    roots = root_weights(leaf, cells, layout, units, most)
    root = layout.row[span(0, units), 0] + layout.low.shape[1] - 1
    zero = 0.0 if semiring == SUM else -np.inf
    gradients, result = np.full(cells.shape, zero), np.full(len(leaf), zero)
    for n in range(1, most + 1):
        if count_weights[n - 1] > 0.0:
            if semiring == SUM:
                outer = count_weights[n - 1] / roots[n - 1]
            else:
                outer = np.log(count_weights[n - 1]) - roots[n - 1]
            if n == 1:
                result[root] = outer
            else:
                gradients[n - 2, EITHER, root] = outer
    orders = np.exp(log_orders) if semiring == SUM else log_orders
    outside(semiring, leaf, cells, orders, layout, units, most, gradients, result)
    used = np.zeros(2)  # expected numbers of straight and inverted nodes
    for label in range(2):
        for n in range(most - 1):
            for at in range(len(leaf)):
                if semiring == SUM:
                    used[label] += gradients[n, label, at] * cells[n, label, at]
                else:
                    used[label] += np.exp(gradients[n, label, at] + cells[n, label, at])
    for at in range(len(leaf)):
        value = result[at] * leaf[at] if semiring == SUM else np.exp(result[at] + leaf[at])
        result[at] = value
    return result, used
