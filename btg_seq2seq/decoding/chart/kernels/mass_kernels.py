"""The mass of a given target string: the chart again, over pairs of a source and a target span.

The translation of a phrase is known except for its begin and end in the target. So a cell holds a
table over target spans instead of strings, and nothing is pruned. Log space throughout.
"""

import numpy as np

from btg_seq2seq.decoding.chart.kernels.chart_kernels import (
    LOG_TWO,
    least_leaves,
    parts,
)
from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.kernels.packed import span_count, span_index, split_index
from btg_seq2seq.grammar.packing import EITHER, INVERTED, STRAIGHT

NEGLIGIBLE = -40.0  # a term e^-40 times the sum does not change it


@compiled
def log_add(one, other):
    """Log of the sum of two exponentials."""
    if one < other:
        one, other = other, one
    if other == -np.inf or other - one < NEGLIGIBLE:
        return one
    return one + np.log1p(np.exp(other - one))


@compiled
def join(mass, best, first, second, weight, whole):
    """Add all ways to concatenate two parts: tables ``[2, begin, end]``.

    With ``whole``, only the whole target matters.
    """
    size = mass.shape[0]
    for a in range(1 if whole else size):
        for c in range(size - 1 if whole else a + 2, size):
            for b in range(a + 1, c):
                term = weight + first[0, a, b] + second[0, b, c]
                if term > -np.inf:
                    mass[a, c] = log_add(mass[a, c], term)
                    best[a, c] = max(best[a, c], weight + first[1, a, b] + second[1, b, c])


@compiled
def layout(length, segments, leaf_places):
    """Number the cells: ``places[leaves - 1, plane, span]``, -1 where there is none.

    Also returns the number of cells, and the least and the most leaves of each span.
    """
    spans = span_count(length)
    counts = np.zeros(spans, np.int64)
    counts[leaf_places] = 1
    least = least_leaves(length, counts)
    places = np.full((segments, 3, spans), -1, np.int64)
    most = np.zeros(spans, np.int64)
    cells = 2 * len(leaf_places)
    for k in range(2, length + 1):
        for i in range(k - 1):
            before = least[span_index(0, i)] if i > 0 else 0
            behind = least[span_index(k, length)] if k < length else 0
            place = span_index(i, k)
            most[place] = min(segments - before - behind, k - i)
            for m in range(max(2, least[place]), most[place] + 1):
                for plane in (STRAIGHT, INVERTED, EITHER):
                    places[m - 1, plane, place] = cells
                    cells += 1
    for l in range(len(leaf_places)):  # noqa: E741
        places[0, STRAIGHT, leaf_places[l]] = places[0, INVERTED, leaf_places[l]] = 2 * l
        places[0, EITHER, leaf_places[l]] = 2 * l + 1
    return places, cells, least, most


@compiled
def fill(length, segments, scores, leaves, leaf_places, size):
    """Tables ``[cell, 2, begin, end]`` of log mass and best derivation, and where cells are.

    ``leaves[l]`` is the table of the leaf ``leaf_places[l]`` (a packed span).
    """
    places, cells, least, most = layout(length, segments, leaf_places)
    tables = np.full((cells, 2, size, size), -np.inf)
    for l in range(len(leaf_places)):  # noqa: E741
        tables[2 * l] = leaves[l]  # its mass is that of the best derivation
        tables[2 * l + 1] = leaves[l] + LOG_TWO
    for k in range(2, length + 1):
        for i in range(k - 2, -1, -1):
            place = span_index(i, k)
            for m in range(max(2, least[place]), most[place] + 1):
                for orientation in (STRAIGHT, INVERTED):
                    own = tables[places[m - 1, orientation, place]]
                    for j in range(i + 1, k):
                        weight = scores[split_index(i, j, k), orientation]
                        for f in range(1, m if weight > -np.inf else 1):
                            one, other = cells_of(places, orientation, f, m, i, j, k)
                            if one >= 0 and other >= 0:
                                is_whole = k - i == length
                                join(own[0], own[1], tables[one], tables[other], weight, is_whole)
                straight = tables[places[m - 1, STRAIGHT, place]]
                inverted = tables[places[m - 1, INVERTED, place]]
                either = tables[places[m - 1, EITHER, place]]
                for a in range(size):
                    for c in range(size):
                        either[0, a, c] = log_add(straight[0, a, c], inverted[0, a, c])
                        either[1, a, c] = max(straight[1, a, c], inverted[1, a, c])
    return tables, places


@compiled
def cells_of(places, orientation, f, m, i, j, k):
    """Cells of the first part, with f of m leaves, and of the second, in target order."""
    one, other, label = parts(i, j, k, orientation)
    return places[f - 1, label, one], places[m - f - 1, EITHER, other]


@compiled
def target_masses(length, segments, scores, leaves, leaf_places, size, log_masses, bests, records):
    """Compute log mass and best derivation of the target for n = 2, 3, ... leaves.

    ``records[n - 1, rank]``: packed source span, begin and end in the target, in target order.
    """
    tables, places = fill(length, segments, scores, leaves, leaf_places, size)
    root = span_index(0, length)
    for n in range(2, segments + 1):
        cell = places[n - 1, EITHER, root]
        if cell >= 0:
            log_masses[n - 1] = tables[cell, 0, 0, size - 1]
            bests[n - 1] = tables[cell, 1, 0, size - 1]
            if bests[n - 1] > -np.inf:
                descend(length, n, scores, tables, places, size, records[n - 1])


@compiled
def descend(length, n, scores, tables, places, size, record):
    """Write the leaves of the best derivation with n leaves."""
    # Cells still to be split: start, stop, leaves, plane, begin and end in the target.
    stack, depth, count = np.empty((n + 1, 6), np.int64), 1, 0
    stack[0] = np.array([0, length, n, EITHER, 0, size - 1])
    while depth > 0:
        depth -= 1
        i, k, m, plane, a, c = stack[depth]
        if m == 1:
            record[count, 0], record[count, 1], record[count, 2] = span_index(i, k), a, c
            count += 1
            continue
        best, choice = -np.inf, (STRAIGHT, i, 0, a)
        for orientation in (STRAIGHT, INVERTED):
            if plane != EITHER and plane != orientation:
                continue
            for j in range(i + 1, k):
                weight = scores[split_index(i, j, k), orientation]
                for f in range(1, m):
                    one, other = cells_of(places, orientation, f, m, i, j, k)
                    if one < 0 or other < 0:
                        continue
                    for b in range(a + 1, c):
                        term = weight + tables[one, 1, a, b] + tables[other, 1, b, c]
                        if term > best:
                            best, choice = term, (orientation, j, f, b)
        orientation, j, f, b = choice
        if orientation == STRAIGHT:
            first, second = (i, j, f, INVERTED, a, b), (j, k, m - f, EITHER, b, c)
        else:
            first, second = (j, k, f, STRAIGHT, a, b), (i, j, m - f, EITHER, b, c)
        for column in range(6):
            stack[depth, column], stack[depth + 1, column] = second[column], first[column]
        depth += 2
