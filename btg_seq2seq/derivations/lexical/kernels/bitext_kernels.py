"""The bitext grammar, compiled: inside, outside and descents over pairs of spans.

A cell ``(n, label, i, k, a, c)`` holds the weight of all derivations with n phrases that pair the
source units ``[i, k)`` with the target units ``[a, c)``. For given source spans the target spans
form a triangular matrix, and joining two parts is a product of such matrices::

    straight[n, i, k] = s * sum over j, m of first_inverted[m, i, j] @ either[n - m, j, k]
    inverted[n, i, k] = t * sum over j, m of first_straight[m, j, k] @ either[n - m, i, j]

with weights ``s`` and ``t`` of the two orders. Normal form: the part that comes first in the target
is a leaf or has the other label. A derivation with N phrases needs cells with N - 1 phrases only on
prefixes and suffixes of the source.

The layout says which cells exist, and where; see ``layouts``. Its rows are whole packs of columns,
so products are made of vector instructions.

Three semirings share the loops: sums of weights, and sums and maxima of their logarithms.
"""

import numpy as np

from btg_seq2seq.derivations.lexical.kernels.layouts import first_pack, span
from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.kernels.packs import (
    PACK,
    added_up,
    load,
    real_maximum,
    real_product,
    real_sum,
    splat,
    store,
)

STRAIGHT, INVERTED, EITHER = 0, 1, 2
SUM, LOG_SUM, LOG_MAX = 0, 1, 2


@compiled
def log_add(x, y):
    """Logarithm of the sum of two weights."""
    if x < y:
        x, y = y, x
    return x if y == -np.inf else x + np.log1p(np.exp(y - x))


@compiled
def add_product(semiring, out, left, right, order, layout, places, rows):
    """``out[a, c] += order * sum over b of first[a, b] * second[b, c]`` for ``a < rows``.

    ``places`` are the source spans of the result, of the first and of the second matrix. Cells in
    the padding of the result may get some weight, those of the second matrix must have none.
    """
    if semiring == LOG_SUM:
        add_log_product(out, left, right, order, layout, places, rows)
        return
    low, high, row = layout
    whole, one, other = places
    posts = low.shape[1]
    for a in range(rows):
        begin, end = low[one, a], high[one, a]
        if begin >= end:
            continue
        out_row, left_row = row[whole, a], row[one, a]
        for c in range(first_pack(low[whole, a], posts), high[whole, a], PACK):
            at = (out_row + c) // PACK
            result = load(out, at)
            for b in range(begin, min(end, c + PACK - 1)):
                if low[other, b] < c + PACK and high[other, b] > c:
                    seconds = load(right, (row[other, b] + c) // PACK)
                    weight = left[left_row + b]
                    if semiring == SUM:
                        result = real_sum(result, real_product(splat(weight * order), seconds))
                    else:
                        result = real_maximum(real_sum(splat(weight + order), seconds), result)
            store(out, at, result)


@compiled
def add_log_product(out, left, right, order, layout, places, rows):
    """The same for sums of logarithms."""
    low, high, row = layout
    whole, one, other = places
    for a in range(rows):
        out_row, left_row = row[whole, a], row[one, a]
        for b in range(low[one, a], high[one, a]):
            weight = left[left_row + b] + order
            right_row = row[other, b]
            if weight > -np.inf:
                first, last = max(low[whole, a], low[other, b]), min(high[whole, a], high[other, b])
                for c in range(first, last):
                    out[out_row + c] = log_add(out[out_row + c], weight + right[right_row + c])


@compiled
def plane(cells, leaf, n, label):
    """All cells with n phrases and a label, packed."""
    return leaf if n == 1 else cells[n - 2, label]


@compiled
def is_used(n, most, i, k, units):
    """Tell whether a derivation with ``most`` phrases or fewer can use cells of a source span."""
    if n == most:
        return i == 0 and k == units
    return n < most - 1 or i == 0 or k == units


@compiled
def fill(semiring, leaf, cells, orders, layout, units, most):
    """Inside weights of all cells that a derivation with ``most`` phrases or fewer can use.

    ``leaf``, ``[size]``: weights of phrase pairs, packed. ``cells``, ``[most - 1, 3, size]``, for
    2, 3, ... phrases, begin as the zero of the semiring. ``orders``: weights of straight and
    inverted nodes.
    """
    low, high, row = layout
    posts = low.shape[1]
    for n in range(2, most + 1):
        straight, inverted = cells[n - 2, STRAIGHT], cells[n - 2, INVERTED]
        either = cells[n - 2, EITHER]
        for k in range(n, units + 1):
            for i in range(k - n + 1):
                if not is_used(n, most, i, k, units):
                    continue
                rows = 1 if n == most else posts - 1
                here = span(i, k)
                for m in range(1, n):
                    first = plane(cells, leaf, m, INVERTED)
                    second = plane(cells, leaf, n - m, EITHER)
                    for j in range(i + m, k - (n - m) + 1):
                        places = (here, span(i, j), span(j, k))
                        add_product(
                            semiring,
                            straight,
                            first,
                            second,
                            orders[STRAIGHT],
                            layout,
                            places,
                            rows,
                        )
                    # On the source side the part that is first in the target comes second.
                    first = plane(cells, leaf, m, STRAIGHT)
                    for j in range(i + n - m, k - m + 1):
                        places = (here, span(j, k), span(i, j))
                        add_product(
                            semiring,
                            inverted,
                            first,
                            second,
                            orders[INVERTED],
                            layout,
                            places,
                            rows,
                        )
                for a in range(rows):
                    for at in range(row[here, a] + low[here, a], row[here, a] + high[here, a]):
                        if semiring == SUM:
                            either[at] = straight[at] + inverted[at]
                        elif semiring == LOG_SUM:
                            either[at] = log_add(straight[at], inverted[at])
                        else:
                            either[at] = max(straight[at], inverted[at])


@compiled
def add_gradients(semiring, outer, left, right, to_left, to_right, order, layout, places, rows):
    """Backward of ``add_product``, for sums. The padding of ``outer`` has no weight."""
    if semiring == LOG_SUM:
        add_log_gradients(outer, left, right, to_left, to_right, order, layout, places, rows)
        return
    low, high, row = layout
    whole, one, other = places
    posts = low.shape[1]
    for a in range(rows):
        begin, end = first_pack(low[whole, a], posts), high[whole, a]
        out_row, left_row = row[whole, a], row[one, a]
        for b in range(low[one, a], high[one, a]):
            weight = left[left_row + b]
            if weight == 0.0:
                # A first part without weight is in no derivation; nor is its own gradient used.
                continue
            weights, total = splat(weight * order), splat(0.0)
            right_row = row[other, b]
            first, last = max(begin, first_pack(low[other, b], posts)), min(end, high[other, b])
            for c in range(first, last, PACK):
                outers = load(outer, (out_row + c) // PACK)
                at = (right_row + c) // PACK
                total = real_sum(total, real_product(outers, load(right, at)))
                store(to_right, at, real_sum(load(to_right, at), real_product(weights, outers)))
            to_left[left_row + b] += order * added_up(total)


@compiled
def add_log_gradients(outer, left, right, to_left, to_right, order, layout, places, rows):
    """The same for sums of logarithms."""
    low, high, row = layout
    whole, one, other = places
    for a in range(rows):
        out_row, left_row = row[whole, a], row[one, a]
        for b in range(low[one, a], high[one, a]):
            weight = left[left_row + b]
            right_row = row[other, b]
            if weight > -np.inf:
                total = to_left[left_row + b]
                first, last = max(low[whole, a], low[other, b]), min(high[whole, a], high[other, b])
                for c in range(first, last):
                    at = right_row + c
                    total = log_add(total, order + outer[out_row + c] + right[at])
                    to_right[at] = log_add(to_right[at], order + weight + outer[out_row + c])
                to_left[left_row + b] = total


@compiled
def outside(semiring, leaf, cells, orders, layout, units, most, gradients, leaf_gradients):
    """Gradients of root weights, from those of ``gradients``, with respect to phrase pairs.

    ``gradients`` has the shape of ``cells`` and holds, at the roots (label EITHER), the weight of
    each number of phrases; ``leaf_gradients``, ``[size]``, is added to. For sums, of weights or of
    logarithms. Phrase pairs without weight may get no gradient.
    """
    low, high, row = layout
    posts = low.shape[1]
    for n in range(most, 1, -1):
        straight, inverted = gradients[n - 2, STRAIGHT], gradients[n - 2, INVERTED]
        either = gradients[n - 2, EITHER]
        for k in range(units, n - 1, -1):
            for i in range(k - n + 1):
                if not is_used(n, most, i, k, units):
                    continue
                rows = 1 if n == most else posts - 1
                here = span(i, k)
                largest = -np.inf
                for a in range(rows):
                    for at in range(row[here, a] + low[here, a], row[here, a] + high[here, a]):
                        if semiring == SUM:
                            straight[at] += either[at]
                            inverted[at] += either[at]
                        else:
                            straight[at] = log_add(straight[at], either[at])
                            inverted[at] = log_add(inverted[at], either[at])
                        largest = max(largest, straight[at], inverted[at])
                if largest == (0.0 if semiring == SUM else -np.inf):
                    continue
                for m in range(1, n):
                    first = plane(cells, leaf, m, INVERTED)
                    second = plane(cells, leaf, n - m, EITHER)
                    to_first = plane(gradients, leaf_gradients, m, INVERTED)
                    to_second = plane(gradients, leaf_gradients, n - m, EITHER)
                    for j in range(i + m, k - (n - m) + 1):
                        places = (here, span(i, j), span(j, k))
                        add_gradients(
                            semiring,
                            straight,
                            first,
                            second,
                            to_first,
                            to_second,
                            orders[STRAIGHT],
                            layout,
                            places,
                            rows,
                        )
                    first = plane(cells, leaf, m, STRAIGHT)
                    to_first = plane(gradients, leaf_gradients, m, STRAIGHT)
                    for j in range(i + n - m, k - m + 1):
                        places = (here, span(j, k), span(i, j))
                        add_gradients(
                            semiring,
                            inverted,
                            first,
                            second,
                            to_first,
                            to_second,
                            orders[INVERTED],
                            layout,
                            places,
                            rows,
                        )


@compiled
def descend(semiring, leaf, cells, orders, layout, units, n, uniforms, phrases):
    """One derivation with n phrases: drawn by its weight, or the best; its inverted nodes.

    ``phrases``, ``[n, 4]``, gets source and target spans in target order. ``uniforms`` are random
    numbers in [0, 1), one for each node; unused for maxima.
    """
    low, high, row = layout
    posts = low.shape[1]
    stack = np.zeros((n + 1, 6), np.int64)  # n, label, i, k, a, c
    stack[0] = (n, EITHER, 0, units, 0, posts - 1)
    size, written, node, inverted = 1, 0, 0, 0
    in_logs = semiring != SUM
    chosen = np.zeros(4, np.int64)  # orientation, phrases of the first part, j, b
    while size > 0:
        size -= 1
        count, label, i, k, a, c = stack[size]
        if count == 1:
            phrases[written] = (i, k, a, c)
            written += 1
            continue
        total = plane(cells, leaf, count, label)[row[span(i, k), a] + c]
        threshold = 0.0
        if semiring != LOG_MAX:
            threshold = uniforms[node] * (1.0 if in_logs else total)
        node += 1
        best, running, is_found = -np.inf, 0.0, False
        for orientation in (STRAIGHT, INVERTED):
            if (label != EITHER and label != orientation) or is_found:
                continue
            order = orders[orientation]
            for m in range(1, count):
                first = plane(cells, leaf, m, 1 - orientation)
                second = plane(cells, leaf, count - m, EITHER)
                for j in range(i + 1, k):
                    if is_found:
                        break
                    left, right = span(i, j), span(j, k)
                    one, other = (left, right) if orientation == STRAIGHT else (right, left)
                    for b in range(max(a + 1, low[one, a]), min(c, high[one, a])):
                        if c < low[other, b] or c >= high[other, b]:
                            continue
                        x, y = first[row[one, a] + b], second[row[other, b] + c]
                        weight = x + y + order if in_logs else x * y * order
                        if semiring == LOG_MAX:
                            if weight > best:
                                best = weight
                                chosen[:] = (orientation, m, j, b)
                            continue
                        share = np.exp(weight - total) if in_logs else weight
                        if share > 0.0:  # the last possible one, if rounding finds none
                            chosen[:] = (orientation, m, j, b)
                        running += share
                        if running > threshold:
                            is_found = True
                            break
        orientation, m, j, b = chosen
        inverted += orientation
        if orientation == STRAIGHT:
            stack[size] = (count - m, EITHER, j, k, b, c)
            stack[size + 1] = (m, INVERTED, i, j, a, b)
        else:
            stack[size] = (count - m, EITHER, i, j, b, c)
            stack[size + 1] = (m, STRAIGHT, j, k, a, b)
        size += 2
    return inverted


@compiled
def log_tree_weight(leaf, layout, phrases):
    """Log of the summed weight of all target segmentations along a tree, without its orders.

    ``leaf``: log weights. ``phrases``, ``[n, 2 or more]``: source phrases in target order. Nothing
    else of the tree matters::

        reached[t, c] = sum over a of reached[t - 1, a] * leaf[phrase t, a, c]
    """
    low, high, row = layout
    posts = low.shape[1]
    reached, ahead = np.full(posts, -np.inf), np.zeros(posts)
    reached[0] = 0.0
    for phrase in range(len(phrases)):
        here = span(phrases[phrase, 0], phrases[phrase, 1])
        ahead[:] = -np.inf
        for a in range(posts - 1):
            if reached[a] > -np.inf:
                for c in range(low[here, a], high[here, a]):
                    ahead[c] = log_add(ahead[c], reached[a] + leaf[row[here, a] + c])
        reached, ahead = ahead, reached
    return reached[posts - 1]
