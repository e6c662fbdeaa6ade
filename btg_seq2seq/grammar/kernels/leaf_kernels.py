"""The leaf CRF's dynamic programs on a CPU: Algorithms 3 and 5, exact along each sentence's tree.

One inside table for each internal node of the tree. A tree has n leaves in target order, so node
``(u, m, v)`` covers the leaves u to v and splits them at m; the fencepost before leaf u lies where
the u leaves before it and the n - u behind it fit. A node at either end of the target therefore
costs O(length^2), the root O(length). Arithmetic is that of ``tree_kernels``, a sentence at a time.
"""

import numpy as np

from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.kernels.packed import span_count, span_index, split_index
from btg_seq2seq.grammar.kernels.packs import (
    add,
    exp,
    multiply,
    new_store,
    read_float,
    take_rows,
    write_float,
)


@compiled
def fenceposts(sentence, leaf):
    """First and last fencepost at which leaf number ``leaf`` may start."""
    length, segments, limit = sentence
    behind = segments - leaf
    return max(leaf, length - behind * limit), min(length - behind, leaf * limit)


@compiled
def node_fenceposts(sentence, leaf_splits, node):
    """First and last place of a node's start, split and stop in the target."""
    begin, middle, end = leaf_splits[node]
    return fenceposts(sentence, begin), fenceposts(sentence, middle), fenceposts(sentence, end)


@compiled
def child_rows(leaf_splits, node):
    """Rows of a node's parts in the table: 0 for a leaf, ``p + 1`` for node p."""
    begin, middle, end = leaf_splits[node]
    first = node + 2 if middle - begin > 1 else 0
    second = node + middle - begin + 1 if end - middle > 1 else 0
    return first, second


@compiled
def fill_leaf_row(table, sentence):
    """Row 0: which spans may be a leaf."""
    length, _, limit = sentence
    for c in range(1, length + 1):
        for a in range(max(0, c - limit), c):
            table[span_index(a, c)] = 1.0


@compiled
def fill_weights(weights, shift, potentials, direction, b, c, start, stop):
    """Weights of the splits ``(a, b, c)`` from ``a = start`` up to ``stop``."""
    first = split_index(0, b, c)
    row, buffer = potentials[0][first + start : first + stop], weights[0][start:stop]
    for t in range(row.shape[0]):
        buffer[t] = row[t] - shift
    for t in range(row.shape[0]):
        buffer[t] = exp(buffer[t])
    if len(potentials) == 2:
        other = potentials[-1][first + start : first + stop]
        for t in range(row.shape[0]):
            # A forbidden split has no weight and hence no tangent, whatever its value.
            value = direction[0] * row[t] + direction[1] * other[t]
            usable = buffer[t] > 0.0 and np.isfinite(value)
            weights[-1][start + t] = buffer[t] * value if usable else 0.0


@compiled
def fill_inside(table, spans, weights, sentence, leaf_splits, shift, potentials, direction):
    """Algorithm 3 for one sentence; row ``p + 1`` of the table belongs to node p."""
    fill_leaf_row(table[0], sentence)
    for node in range(sentence[1] - 2, -1, -1):
        row = (node + 1) * spans
        first, second = child_rows(leaf_splits, node)
        starts, middles, stops = node_fenceposts(sentence, leaf_splits, node)
        for c in range(stops[0], stops[1] + 1):
            for b in range(middles[0], min(middles[1], c - 1) + 1):
                end = min(starts[1] + 1, b)
                if table[0][second * spans + span_index(b, c)] == 0.0 or end <= starts[0]:
                    continue
                right = read_float(table, second * spans + span_index(b, c))
                fill_weights(weights, shift, potentials, direction, b, c, starts[0], end)
                for a in range(starts[0], end):
                    # T[a,c] += w T_first[a,b] T_second[b,c]
                    left = read_float(table, first * spans + span_index(a, b))
                    term = multiply(multiply(left, right), read_float(weights, a))
                    place = row + span_index(a, c)
                    write_float(table, place, add(read_float(table, place), term))


@compiled
def fill_outside(
    adjoint,
    table,
    spans,
    weights,
    sentence,
    leaf_splits,
    shift,
    potentials,
    direction,
    factors,
    gradients,
):
    """The reverse of ``fill_inside``: from the root's adjoint to derivatives in log weights."""
    for node in range(sentence[1] - 1):
        row = (node + 1) * spans
        first, second = child_rows(leaf_splits, node)
        starts, middles, stops = node_fenceposts(sentence, leaf_splits, node)
        for c in range(stops[0], stops[1] + 1):
            for b in range(middles[0], min(middles[1], c - 1) + 1):
                end = min(starts[1] + 1, b)
                right_place = second * spans + span_index(b, c)
                if table[0][right_place] == 0.0 or end <= starts[0]:
                    continue
                right, right_adjoint = (
                    read_float(table, right_place),
                    read_float(adjoint, right_place),
                )
                fill_weights(weights, shift, potentials, direction, b, c, starts[0], end)
                split = split_index(0, b, c)
                for a in range(starts[0], end):
                    parent = read_float(adjoint, row + span_index(a, c))
                    parent = multiply(parent, read_float(weights, a))
                    left_place = first * spans + span_index(a, b)
                    left, flow = read_float(table, left_place), multiply(parent, right)
                    left_adjoint = add(read_float(adjoint, left_place), flow)
                    write_float(adjoint, left_place, left_adjoint)
                    right_adjoint = add(right_adjoint, multiply(parent, left))
                    total = multiply(flow, left)
                    gradients[0][split + a] += factors[0] * total[0] + factors[1] * total[-1]
                    if len(gradients) == 2:
                        gradients[-1][split + a] += factors[2] * total[0]
                write_float(adjoint, right_place, right_adjoint)


@compiled
def inside(begin, end, sentences, leaf_splits, shifts, potentials, direction, roots, tables):
    """Inside weights of sentences ``begin`` to ``end``.

    ``sentences[b]`` is target length, segments, limit; ``leaf_splits`` ``[batch, nodes, 3]``;
    ``potentials`` and ``direction`` are those of ``tree_kernels.inside``, over ``[batch, splits]``.
    ``roots[b, part, 0]`` receives the weight of all segmentations; ``tables[b, row, span]``, unless
    empty, every cell (row 0: leaves, row ``p + 1``: node p).
    """
    longest, largest = np.max(sentences[:, 0]), np.max(sentences[:, 1])
    spans = span_count(longest)
    table = new_store(potentials, largest * spans)
    weights = new_store(potentials, longest)
    for s in range(begin, end):
        for part in range(len(table)):
            table[part][:] = 0.0
        length, segments, _ = sentences[s]
        mine = take_rows(potentials, s)
        fill_inside(table, spans, weights, sentences[s], leaf_splits[s], shifts[s], mine, direction)
        root = (spans if segments > 1 else 0) + span_index(0, length)
        for part in range(len(table)):
            roots[s, part, 0] = table[part][root]
        if tables.size > 0:
            for row in range(segments):
                tables[s, row] = table[0][row * spans : (row + 1) * spans]


@compiled
def outside(
    begin, end, sentences, leaf_splits, shifts, potentials, direction, seeds, factors, gradients
):
    """Gradients of sentences ``begin`` to ``end``: the inside pass again, then the outside pass.

    ``seeds[b, part, 0]`` is the adjoint of the root; ``gradients`` and ``factors`` are those of
    ``tree_kernels.scatter_gradients``.
    """
    longest, largest = np.max(sentences[:, 0]), np.max(sentences[:, 1])
    spans = span_count(longest)
    table, adjoint = new_store(potentials, largest * spans), new_store(potentials, largest * spans)
    weights = new_store(potentials, longest)
    for s in range(begin, end):
        for part in range(len(table)):
            table[part][:] = 0.0
            adjoint[part][:] = 0.0
        length, segments, _ = sentences[s]
        mine = take_rows(potentials, s)
        fill_inside(table, spans, weights, sentences[s], leaf_splits[s], shifts[s], mine, direction)
        root = (spans if segments > 1 else 0) + span_index(0, length)
        for part in range(len(table)):
            adjoint[part][root] = seeds[s, part, 0]
        fill_outside(
            *(adjoint, table, spans, weights, sentences[s], leaf_splits[s], shifts[s]),
            *(mine, direction, factors[s], take_rows(gradients, s)),
        )


@compiled
def viterbi(begin, end, sentences, leaf_splits, scores, tables):
    """Log weight of the best segmentation of every cell, ``tables[b, row, span]``."""
    for s in range(begin, end):
        table, sentence = tables[s], sentences[s]
        table[0] = 0.0
        fill_leaf_row(table[0], sentence)
        table[0] = np.log(table[0])
        for node in range(sentence[1] - 2, -1, -1):
            table[node + 1] = -np.inf
            first, second = child_rows(leaf_splits[s], node)
            starts, middles, stops = node_fenceposts(sentence, leaf_splits[s], node)
            for c in range(stops[0], stops[1] + 1):
                for b in range(middles[0], min(middles[1], c - 1) + 1):
                    right = table[second, span_index(b, c)]
                    split = split_index(0, b, c)
                    for a in range(starts[0], min(starts[1] + 1, b)):
                        value = table[first, span_index(a, b)] + right + scores[s, split + a]
                        place = span_index(a, c)
                        table[node + 1, place] = max(table[node + 1, place], value)
