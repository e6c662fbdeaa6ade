"""The tree CRF's dynamic programs on a CPU: Algorithm 1, its outside pass, and their tangents.

Sums run in linear space in float64; scores are shifted so that no product of weights overflows.
Eight sentences go through each loop together (see ``packs``), with tangents if a derivative in some
direction is wanted: that turns log Z into an expectation and marginals into their derivative.

A span ``(i, k)`` may hold m of a sentence's n leaves only if the words around it can hold the
others: ``m <= n - ceil(i / limit) - ceil((length - k) / limit)``. Other cells are never touched,
so that with three leaves the whole program is O(length^2).
"""

import numpy as np

from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.kernels.packed import span_count, span_index, split_index
from btg_seq2seq.grammar.kernels.packs import (
    PACK,
    add,
    exp,
    increase,
    load,
    multiply,
    new_store,
    read,
    real_maximum,
    real_sum,
    store,
    write,
    zero_like,
)
from btg_seq2seq.grammar.packing import EITHER, INVERTED, STRAIGHT


@compiled
def cell(shape, plane, leaves, k, i):
    """Index of the span ``(i, k)`` with ``leaves`` leaves in a table of ``shape``."""
    return (plane * shape[0] + leaves - 1) * shape[1] + span_index(i, k)


@compiled
def most_leaves(pack, sentences, longest):
    """Most leaves that any sentence of a pack may put on the span ``(i, k)``: ``[k, i]``."""
    most = np.zeros((longest + 1, longest), np.int64)
    for b in pack:
        length, segments, limit = sentences[b]
        for k in range(2, length + 1):
            for i in range(k - 1):
                around = (i + limit - 1) // limit + (length - k + limit - 1) // limit
                most[k, i] = max(most[k, i], min(segments - around, k - i))
    return most


@compiled
def fill_leaves(table, shape, pack, sentences, allowed, direction):
    """A leaf has weight 1 with either label, and 2 where both labels are possible."""
    for lane in range(len(pack)):
        length, _, limit = sentences[pack[lane]]
        for k in range(1, length + 1):
            for i in range(max(0, k - limit), k):
                if allowed.size > 0 and not allowed[pack[lane], span_index(i, k)]:
                    continue
                table[0][PACK * cell(shape, STRAIGHT, 1, k, i) + lane] = 1.0
                table[0][PACK * cell(shape, INVERTED, 1, k, i) + lane] = 1.0
                table[0][PACK * cell(shape, EITHER, 1, k, i) + lane] = 2.0
                if len(table) == 2:
                    table[-1][PACK * cell(shape, EITHER, 1, k, i) + lane] = 2.0 * direction[2]


@compiled
def gather_scores(buffer, pack, sentences, shifts, scores, k, j, width):
    """Shifted scores of the splits ``(i, j, k)``, ``i < width``: pack ``2 i + orientation``."""
    first = 2 * split_index(0, j, k)
    for lane in range(PACK):
        if lane < len(pack) and k <= sentences[pack[lane], 0]:
            b = pack[lane]
            row = scores[b, first : first + 2 * width]
            for t in range(2 * width):
                buffer[PACK * t + lane] = row[t] - shifts[b]
        else:
            for t in range(2 * width):
                buffer[PACK * t + lane] = -np.inf


@compiled
def fill_weights(weights, pack, sentences, shifts, potentials, direction, k, j, width):
    """Weights of the splits ``(i, j, k)``, ``i < width``: number ``2 i + orientation``."""
    buffer = weights[0][: PACK * 2 * width]
    gather_scores(buffer, pack, sentences, shifts, potentials[0], k, j, width)
    for t in range(PACK * 2 * width):
        buffer[t] = exp(buffer[t])
    if len(potentials) == 2:
        first = 2 * split_index(0, j, k)
        for lane in range(len(pack)):
            own = potentials[0][pack[lane], first : first + 2 * width]
            other = potentials[-1][pack[lane], first : first + 2 * width]
            for t in range(own.shape[0]):
                # A forbidden split has no weight and hence no tangent, whatever its value.
                weight = buffer[PACK * t + lane]
                value = direction[0] * own[t] + direction[1] * other[t]
                usable = weight > 0.0 and np.isfinite(value)
                weights[-1][PACK * t + lane] = weight * value if usable else 0.0


@compiled
def fill_inside(
    table, shape, weights, most, pack, sentences, allowed, shifts, potentials, direction
):
    """Algorithm 1 for one pack of sentences."""
    fill_leaves(table, shape, pack, sentences, allowed, direction)
    for k in range(2, most.shape[0]):
        for j in range(k - 1, 0, -1):
            close_span(table, shape, most, k, j)
            width = starts(most, k, j)
            fill_weights(weights, pack, sentences, shifts, potentials, direction, k, j, width)
            for i in range(width):
                straight_weight, inverted_weight = read(weights, 2 * i), read(weights, 2 * i + 1)
                for leaves in range(2, most[k, i] + 1):
                    straight, inverted = zero_like(table), zero_like(table)
                    for right in range(max(1, leaves - j + i), min(leaves - 1, k - j) + 1):
                        # S^m[i,k] += w_S I^l[i,j] (S + I)^r[j,k]
                        left_inverted = read(table, cell(shape, INVERTED, leaves - right, j, i))
                        right_either = read(table, cell(shape, EITHER, right, k, j))
                        straight = add(straight, multiply(left_inverted, right_either))
                        # I^m[i,k] += w_I (S + I)^l[i,j] S^r[j,k]
                        left_either = read(table, cell(shape, EITHER, leaves - right, j, i))
                        right_straight = read(table, cell(shape, STRAIGHT, right, k, j))
                        inverted = add(inverted, multiply(left_either, right_straight))
                    straight = multiply(straight, straight_weight)
                    inverted = multiply(inverted, inverted_weight)
                    increase(table, cell(shape, STRAIGHT, leaves, k, i), straight)
                    increase(table, cell(shape, INVERTED, leaves, k, i), inverted)
        close_span(table, shape, most, k, 0)


@compiled
def starts(most, k, j):
    """Number of starts ``i < j`` from which a span up to k may have two leaves or more."""
    width = j
    while width > 0 and most[k, width - 1] < 2:
        width -= 1
    return width


@compiled
def close_span(table, shape, most, k, i):
    """Add up both orientations of a finished span."""
    for leaves in range(2, most[k, i] + 1):
        straight = read(table, cell(shape, STRAIGHT, leaves, k, i))
        inverted = read(table, cell(shape, INVERTED, leaves, k, i))
        write(table, cell(shape, EITHER, leaves, k, i), add(straight, inverted))


@compiled
def fill_outside(
    adjoint,
    table,
    shape,
    weights,
    most,
    pack,
    sentences,
    shifts,
    potentials,
    direction,
    factors,
    gradients,
):
    """The reverse of ``fill_inside``: from the roots' adjoints to derivatives in log weights."""
    for k in range(most.shape[0] - 1, 1, -1):
        share_adjoint(adjoint, shape, most, k, 0)
        for j in range(1, k):
            width = starts(most, k, j)
            fill_weights(weights, pack, sentences, shifts, potentials, direction, k, j, width)
            for i in range(width):
                straight_weight, inverted_weight = read(weights, 2 * i), read(weights, 2 * i + 1)
                straight_total, inverted_total = zero_like(table), zero_like(table)
                for leaves in range(2, most[k, i] + 1):
                    straight = read(adjoint, cell(shape, STRAIGHT, leaves, k, i))
                    inverted = read(adjoint, cell(shape, INVERTED, leaves, k, i))
                    straight = multiply(straight, straight_weight)
                    inverted = multiply(inverted, inverted_weight)
                    for right in range(max(1, leaves - j + i), min(leaves - 1, k - j) + 1):
                        left_cell = cell(shape, INVERTED, leaves - right, j, i)
                        right_cell = cell(shape, EITHER, right, k, j)
                        share = push_down(adjoint, table, left_cell, right_cell, straight)
                        straight_total = add(straight_total, share)
                        left_cell = cell(shape, EITHER, leaves - right, j, i)
                        right_cell = cell(shape, STRAIGHT, right, k, j)
                        share = push_down(adjoint, table, left_cell, right_cell, inverted)
                        inverted_total = add(inverted_total, share)
                write(weights, 2 * i, straight_total)
                write(weights, 2 * i + 1, inverted_total)
            scatter_gradients(weights, pack, sentences, factors, gradients, k, j, width)
            share_adjoint(adjoint, shape, most, k, j)


@compiled
def push_down(adjoint, table, left_cell, right_cell, parent):
    """Pass a parent's adjoint, times its split's weight, on to its parts.

    Returns this pair of parts' share of the derivative in the split's log weight.
    """
    left, flow = read(table, left_cell), multiply(parent, read(table, right_cell))
    increase(adjoint, left_cell, flow)
    increase(adjoint, right_cell, multiply(parent, left))
    return multiply(flow, left)


@compiled
def share_adjoint(adjoint, shape, most, k, i):
    """A cell that holds either orientation passes its adjoint on to both."""
    for leaves in range(2, most[k, i] + 1):
        either = read(adjoint, cell(shape, EITHER, leaves, k, i))
        increase(adjoint, cell(shape, STRAIGHT, leaves, k, i), either)
        increase(adjoint, cell(shape, INVERTED, leaves, k, i), either)


@compiled
def scatter_gradients(totals, pack, sentences, factors, gradients, k, j, width):
    """From derivatives in the log weights, ``totals``, to each sentence's gradients.

    ``gradients[0]`` is ``factors[b, 0]`` times the derivative plus ``factors[b, 1]`` times its
    tangent; ``gradients[1]``, if it is there, ``factors[b, 2]`` times the derivative.
    """
    first = 2 * split_index(0, j, k)
    for lane in range(len(pack)):
        b = pack[lane]
        if k <= sentences[b, 0]:
            row = gradients[0][b, first : first + 2 * width]
            for t in range(row.shape[0]):
                total, tangent = totals[0][PACK * t + lane], totals[-1][PACK * t + lane]
                row[t] = factors[b, 0] * total + factors[b, 1] * tangent
            if len(gradients) == 2:
                row = gradients[-1][b, first : first + 2 * width]
                for t in range(row.shape[0]):
                    row[t] = factors[b, 2] * totals[0][PACK * t + lane]


@compiled
def copy_tables(table, shape, pack, sentences, tables):
    """From the packed table to ``tables[b, leaves - 1, plane, span]``."""
    for lane in range(len(pack)):
        b = pack[lane]
        length, segments, _ = sentences[b]
        for leaves in range(1, segments + 1):
            for plane in range(3):
                first = cell(shape, plane, leaves, 1, 0)
                for span in range(span_count(length)):
                    tables[b, leaves - 1, plane, span] = table[PACK * (first + span) + lane]


@compiled
def inside(begin, end, order, sentences, allowed, shifts, potentials, direction, roots, tables):
    """Inside weights of packs ``begin`` to ``end``; a pack is eight sentences in this ``order``.

    ``sentences[b]`` is length, segments, limit; ``allowed[b, span]``, unless empty, which spans may
    be leaves. ``potentials`` are the scores ``[batch, 2 splits]`` and, for tangents, other values
    of the same shape. Tangents are taken in the ``direction`` of ``direction[0]`` times the scores
    plus ``direction[1]`` times the others, and ``direction[2]`` for a leaf in second place.
    ``roots[b, part, leaves - 1]`` receives the weight of all trees; ``tables[b, leaves - 1, plane,
    span]``, unless empty, every cell.
    """
    longest, largest = np.max(sentences[:, 0]), np.max(sentences[:, 1])
    shape = (largest, span_count(longest))
    weights = new_store(potentials, PACK * 2 * longest)
    table = new_store(potentials, PACK * 3 * shape[0] * shape[1])
    for p in range(begin, end):
        pack = order[PACK * p : PACK * (p + 1)]
        for numbers in table:
            numbers[:] = 0.0
        most = most_leaves(pack, sentences, longest)
        fill_inside(
            *(table, shape, weights, most),
            *(pack, sentences, allowed, shifts, potentials, direction),
        )
        for lane in range(len(pack)):
            b = pack[lane]
            length, segments, _ = sentences[b]
            for leaves in range(1, segments + 1):
                root = PACK * cell(shape, EITHER, leaves, length, 0) + lane
                for part in range(len(table)):
                    roots[b, part, leaves - 1] = table[part][root]
        if tables.size > 0:
            copy_tables(table[0], shape, pack, sentences, tables)


@compiled
def outside(
    begin,
    end,
    order,
    sentences,
    allowed,
    shifts,
    potentials,
    direction,
    seeds,
    factors,
    gradients,
):
    """Gradients of packs ``begin`` to ``end``: the inside pass again, then the outside pass.

    ``seeds[b, part, leaves - 1]`` are the adjoints of the roots.
    """
    longest, largest = np.max(sentences[:, 0]), np.max(sentences[:, 1])
    shape = (largest, span_count(longest))
    weights = new_store(potentials, PACK * 2 * longest)
    table = new_store(potentials, PACK * 3 * shape[0] * shape[1])
    adjoint = new_store(potentials, PACK * 3 * shape[0] * shape[1])
    for p in range(begin, end):
        pack = order[PACK * p : PACK * (p + 1)]
        for part in range(len(table)):
            table[part][:] = 0.0
            adjoint[part][:] = 0.0
        most = most_leaves(pack, sentences, longest)
        fill_inside(
            *(table, shape, weights, most),
            *(pack, sentences, allowed, shifts, potentials, direction),
        )
        for lane in range(len(pack)):
            b = pack[lane]
            length, segments, _ = sentences[b]
            for leaves in range(1, segments + 1):
                for part in range(len(adjoint)):
                    root = PACK * cell(shape, EITHER, leaves, length, 0) + lane
                    adjoint[part][root] = seeds[b, part, leaves - 1]
        fill_outside(
            *(adjoint, table, shape, weights, most),
            *(pack, sentences, shifts, potentials, direction, factors, gradients),
        )


@compiled
def viterbi(begin, end, order, sentences, allowed, scores, tables):
    """Log weight of the best tree of every cell, ``tables[b, leaves - 1, plane, span]``."""
    longest, largest = np.max(sentences[:, 0]), np.max(sentences[:, 1])
    shape = (largest, span_count(longest))
    buffer, table = np.empty(PACK * 2 * longest), np.empty(PACK * 3 * shape[0] * shape[1])
    shifts = np.zeros(len(sentences))
    for p in range(begin, end):
        pack = order[PACK * p : PACK * (p + 1)]
        most = most_leaves(pack, sentences, longest)
        table[:] = 0.0
        fill_leaves((table,), shape, pack, sentences, allowed, (0.0, 0.0, 0.0))
        table[:] = np.log(table)
        for k in range(2, most.shape[0]):
            for j in range(k - 1, 0, -1):
                close_best_span(table, shape, most, k, j)
                width = starts(most, k, j)
                gather_scores(buffer, pack, sentences, shifts, scores, k, j, width)
                for i in range(width):
                    for leaves in range(2, most[k, i] + 1):
                        straight_cell = cell(shape, STRAIGHT, leaves, k, i)
                        inverted_cell = cell(shape, INVERTED, leaves, k, i)
                        straight, inverted = load(table, straight_cell), load(table, inverted_cell)
                        for right in range(max(1, leaves - j + i), min(leaves - 1, k - j) + 1):
                            left = load(table, cell(shape, INVERTED, leaves - right, j, i))
                            both = real_sum(left, load(table, cell(shape, EITHER, right, k, j)))
                            straight = real_maximum(straight, real_sum(both, load(buffer, 2 * i)))
                            left = load(table, cell(shape, EITHER, leaves - right, j, i))
                            both = real_sum(left, load(table, cell(shape, STRAIGHT, right, k, j)))
                            inverted = real_maximum(
                                inverted, real_sum(both, load(buffer, 2 * i + 1))
                            )
                        store(table, straight_cell, straight)
                        store(table, inverted_cell, inverted)
            close_best_span(table, shape, most, k, 0)
        copy_tables(table, shape, pack, sentences, tables)


@compiled
def close_best_span(table, shape, most, k, i):
    """The better orientation of a finished span."""
    for leaves in range(2, most[k, i] + 1):
        straight = load(table, cell(shape, STRAIGHT, leaves, k, i))
        inverted = load(table, cell(shape, INVERTED, leaves, k, i))
        store(table, cell(shape, EITHER, leaves, k, i), real_maximum(straight, inverted))
