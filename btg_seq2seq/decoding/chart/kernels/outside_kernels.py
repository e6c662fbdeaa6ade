"""The best trees that have a given span as a leaf, compiled: one pass for all spans.

A rest is a tree without what is inside of a span. The weight of the best rest depends on its number
of leaves and on the label that it requires of the span, but not on the inside. So the rests of all
spans are found together, from the root down. A rest and its span as a leaf are a tree.
"""

# numba types these functions when it compiles them.

import numpy as np

from btg_seq2seq.decoding.chart.kernels.chart_kernels import (
    BEST,
    LOG_TWO,
    fill_chart,
    parts,
    write_leaves,
)
from btg_seq2seq.decoding.chart.kernels.string_kernels import FIRST, SECOND
from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.kernels.packed import span_count, span_index, split_index
from btg_seq2seq.grammar.packing import EITHER, INVERTED, STRAIGHT

# Origin of a rest: leaves, label and span of the parent's rest, and the row of the sibling.
LEAVES, LABEL, PARENT, SIBLING = 0, 1, 2, 3


@compiled
def offer(rests, origins, weight, sibling, masses, parent):
    """Extend the parent's rest by a sibling, and keep the result if it is better."""
    if sibling[0] < sibling[1]:
        value = weight + masses[sibling[0], BEST]
        if value > rests[0]:
            rests[0] = value
            origins[0, LEAVES], origins[0, LABEL], origins[0, PARENT] = parent
            origins[0, SIBLING] = sibling[0]


@compiled
def best_rests(length, segments, scores, masses, begins, ends):
    """Compute log weights ``[leaves, label, span]`` of the best rests, and origins ``[..., 4]``."""
    spans = span_count(length)
    rests = np.full((segments, 3, spans), -np.inf)
    origins = np.zeros((segments, 3, spans, 4), np.int64)
    rests[0, EITHER, span_index(0, length)] = 0.0
    for k in range(length, 1, -1):
        for i in range(k - 1):
            place = span_index(i, k)
            for leaves in range(segments - 1):
                for orientation in (STRAIGHT, INVERTED):
                    label = EITHER
                    if rests[leaves, orientation, place] > rests[leaves, EITHER, place]:
                        label = orientation
                    rest, parent = rests[leaves, label, place], (leaves, label, place)
                    for j in range(i + 1, k if rest > -np.inf else i + 1):
                        weight = rest + scores[split_index(i, j, k), orientation]
                        if weight == -np.inf:
                            continue
                        one, other, asked = parts(i, j, k, orientation)
                        for m in range(1, segments - leaves):
                            second = begins[m - 1, EITHER, other], ends[m - 1, EITHER, other]
                            first = begins[m - 1, asked, one], ends[m - 1, asked, one]
                            offer(
                                rests[leaves + m, asked, one:],
                                origins[leaves + m, asked, one:],
                                *(weight, second, masses, parent),
                            )
                            offer(
                                rests[leaves + m, EITHER, other:],
                                origins[leaves + m, EITHER, other:],
                                *(weight, first, masses, parent),
                            )
    return rests, origins


@compiled
def keep_trees(begin, end, sentences, scores, log_counts, leaf_counts, wanted, kept):
    """Mark all leaves of the best tree with each wanted leaf, for every number of leaves.

    ``leaf_counts``, ``wanted`` and ``kept`` are packed by spans, 0 or 1; trees with n leaves count
    where ``log_counts[b, n - 1]`` is finite. A wanted leaf that no tree can have is not marked.
    """
    edges = np.ones((1, 2), np.int64)
    pool = np.zeros((1, 2), np.int64), np.zeros(2, np.int64), np.zeros(1), np.zeros(0), edges
    powers = np.ones((1, 2), np.int64)
    for b in range(begin, end):
        length, segments, splits, spans = sentences[b]
        own = leaf_counts[spans : spans + span_count(length)]
        strings, masses, begins, ends = fill_chart(
            length, segments, scores[splits:], np.zeros_like(own), own, pool, 1.0, 1, powers
        )
        rests, origins = best_rests(length, segments, scores[splits:], masses, begins, ends)
        leaves = np.empty((segments, 2), np.int64)
        for leaf in range(len(own)):
            if wanted[spans + leaf] == 0 or own[leaf] == 0:
                continue
            for n in range(2, segments + 1):
                label, best = EITHER, rests[n - 1, EITHER, leaf] + LOG_TWO
                for other in (STRAIGHT, INVERTED):
                    if rests[n - 1, other, leaf] > best:
                        label, best = other, rests[n - 1, other, leaf]
                if best == -np.inf or log_counts[b, n - 1] == -np.inf:
                    continue
                kept[spans + leaf] = 1
                rest, place = n - 1, leaf
                while rest > 0:
                    rest, label, place, row = origins[rest, label, place]
                    first, second = strings[row, FIRST], strings[row, SECOND]
                    for written in range(write_leaves(strings, first, second, leaves)):
                        kept[spans + leaves[written, 1]] = 1
