"""The bitext grammar, compiled: inside, outside and descents over pairs of spans.

A cell ``(n, label, i, k, a, c)`` holds the weight of all derivations with n phrases that pair the
source units ``[i, k)`` with the target units ``[a, c)``. For given source spans the target spans
form a triangular matrix, and joining two parts is a product of such matrices::

    straight[n, i, k] = sum over j, m of first_inverted[m, i, j] @ either[n - m, j, k]
    inverted[n, i, k] = sum over j, m of first_straight[m, j, k] @ either[n - m, i, j]

Normal form: the part that comes first in the target is a leaf or has the other label. A derivation
with N phrases needs cells with N - 1 phrases only on prefixes and suffixes of the source.

Four semirings share the loops: sums and maxima, of weights or of their logarithms.
"""

import numpy as np

from btg_seq2seq.grammar.kernels.compiled import compiled

STRAIGHT, INVERTED, EITHER = 0, 1, 2
SUM, MAX, LOG_SUM, LOG_MAX = 0, 1, 2, 3


@compiled
def span(i, k):
    """Packed index of the source span ``[i, k)``; see ``grammar.packing``."""
    return k * (k - 1) // 2 + i


@compiled
def log_add(x, y):
    """Logarithm of the sum of two weights."""
    if x < y:
        x, y = y, x
    return x if y == -np.inf else x + np.log1p(np.exp(y - x))


@compiled
def add_product(semiring, out, first, second, rows):
    """``out[a, c] += sum over b of first[a, b] * second[b, c]`` for ``a < rows``, ``a < b < c``."""
    posts = out.shape[0]
    for a in range(min(rows, posts - 2)):
        for b in range(a + 1, posts - 1):
            weight = first[a, b]
            if semiring == SUM:
                if weight != 0.0:
                    for c in range(b + 1, posts):
                        out[a, c] += weight * second[b, c]
            elif semiring == MAX:
                if weight != 0.0:
                    for c in range(b + 1, posts):
                        out[a, c] = max(out[a, c], weight * second[b, c])
            elif weight > -np.inf:
                for c in range(b + 1, posts):
                    if semiring == LOG_SUM:
                        out[a, c] = log_add(out[a, c], weight + second[b, c])
                    else:
                        out[a, c] = max(out[a, c], weight + second[b, c])


@compiled
def table(cells, leaf, n, label, place):
    """The matrix of a source span, with n phrases."""
    return leaf[place] if n == 1 else cells[n - 2, label, place]


@compiled
def fill(semiring, leaf, cells, units, most):
    """Inside weights of all cells that a derivation with ``most`` phrases or fewer can use.

    ``leaf``, ``[spans, posts, posts]``: weights of phrase pairs. ``cells``, ``[most - 1, 3, spans,
    posts, posts]``, for 2, 3, ... phrases, begin as the zero of the semiring.
    """
    posts = leaf.shape[1]
    for n in range(2, most + 1):
        for k in range(n, units + 1):
            for i in range(k - n + 1):
                if n >= most - 1 and i > 0 and k < units:
                    continue
                if n == most and (i > 0 or k < units):
                    continue
                rows = 1 if n == most else posts
                place = span(i, k)
                straight = cells[n - 2, STRAIGHT, place]
                inverted = cells[n - 2, INVERTED, place]
                for m in range(1, n):
                    for j in range(i + m, k - (n - m) + 1):
                        left, right = span(i, j), span(j, k)
                        add_product(
                            semiring,
                            straight,
                            table(cells, leaf, m, INVERTED, left),
                            table(cells, leaf, n - m, EITHER, right),
                            rows,
                        )
                    # On the source side the part that is first in the target comes second.
                    for j in range(i + n - m, k - m + 1):
                        left, right = span(i, j), span(j, k)
                        add_product(
                            semiring,
                            inverted,
                            table(cells, leaf, m, STRAIGHT, right),
                            table(cells, leaf, n - m, EITHER, left),
                            rows,
                        )
                either = cells[n - 2, EITHER, place]
                for a in range(rows):
                    for c in range(a + 1, posts):
                        if semiring == SUM:
                            either[a, c] = straight[a, c] + inverted[a, c]
                        elif semiring == LOG_SUM:
                            either[a, c] = log_add(straight[a, c], inverted[a, c])
                        else:
                            either[a, c] = max(straight[a, c], inverted[a, c])


@compiled
def add_gradients(semiring, outer, first, second, first_gradient, second_gradient, rows):
    """Backward of ``add_product``, for sums."""
    posts = outer.shape[0]
    for a in range(min(rows, posts - 2)):
        for b in range(a + 1, posts - 1):
            weight = first[a, b]
            if semiring == SUM:
                total = 0.0
                for c in range(b + 1, posts):
                    total += outer[a, c] * second[b, c]
                    second_gradient[b, c] += weight * outer[a, c]
                first_gradient[a, b] += total
            else:
                total = first_gradient[a, b]
                for c in range(b + 1, posts):
                    total = log_add(total, outer[a, c] + second[b, c])
                    second_gradient[b, c] = log_add(second_gradient[b, c], weight + outer[a, c])
                first_gradient[a, b] = total


@compiled
def outside(semiring, leaf, cells, units, most, gradients, leaf_gradients):
    """Gradients of root weights, from those of ``gradients``, with respect to phrase pairs.

    ``gradients`` has the shape of ``cells`` and holds, at the roots (label EITHER), the weight of
    each number of phrases; ``leaf_gradients``, ``[spans, posts, posts]``, is added to. For sums,
    of weights or of logarithms.
    """
    posts = leaf.shape[1]
    for n in range(most, 1, -1):
        for k in range(units, n - 1, -1):
            for i in range(k - n + 1):
                if n >= most - 1 and i > 0 and k < units:
                    continue
                if n == most and (i > 0 or k < units):
                    continue
                rows = 1 if n == most else posts
                place = span(i, k)
                either = gradients[n - 2, EITHER, place]
                straight = gradients[n - 2, STRAIGHT, place]
                inverted = gradients[n - 2, INVERTED, place]
                largest = -np.inf
                for a in range(rows):
                    for c in range(a + 1, posts):
                        if semiring == SUM:
                            straight[a, c] += either[a, c]
                            inverted[a, c] += either[a, c]
                        else:
                            straight[a, c] = log_add(straight[a, c], either[a, c])
                            inverted[a, c] = log_add(inverted[a, c], either[a, c])
                        largest = max(largest, straight[a, c], inverted[a, c])
                if largest == (0.0 if semiring == SUM else -np.inf):
                    continue
                for m in range(1, n):
                    for j in range(i + m, k - (n - m) + 1):
                        left, right = span(i, j), span(j, k)
                        add_gradients(
                            semiring,
                            straight,
                            table(cells, leaf, m, INVERTED, left),
                            table(cells, leaf, n - m, EITHER, right),
                            table(gradients, leaf_gradients, m, INVERTED, left),
                            table(gradients, leaf_gradients, n - m, EITHER, right),
                            rows,
                        )
                    for j in range(i + n - m, k - m + 1):
                        left, right = span(i, j), span(j, k)
                        add_gradients(
                            semiring,
                            inverted,
                            table(cells, leaf, m, STRAIGHT, right),
                            table(cells, leaf, n - m, EITHER, left),
                            table(gradients, leaf_gradients, m, STRAIGHT, right),
                            table(gradients, leaf_gradients, n - m, EITHER, left),
                            rows,
                        )


@compiled
def descend(semiring, leaf, cells, units, n, uniforms, phrases):
    """One derivation with n phrases: drawn by its weight, or the best.

    ``phrases``, ``[n, 4]``, gets source and target spans in target order. ``uniforms`` are random
    numbers in [0, 1), one for each node; unused for maxima.
    """
    posts = leaf.shape[1]
    stack = np.zeros((n + 1, 6), np.int64)  # n, label, i, k, a, c
    stack[0] = (n, EITHER, 0, units, 0, posts - 1)
    size, written, node = 1, 0, 0
    in_logs = semiring == LOG_SUM or semiring == LOG_MAX
    takes_best = semiring == MAX or semiring == LOG_MAX
    while size > 0:
        size -= 1
        count, label, i, k, a, c = stack[size]
        if count == 1:
            phrases[written] = (i, k, a, c)
            written += 1
            continue
        total = table(cells, leaf, count, label, span(i, k))[a, c]
        threshold = 0.0
        if not takes_best:
            threshold = uniforms[node] * (1.0 if in_logs else total)
        node += 1
        chosen = np.zeros(4, np.int64)  # orientation, phrases of the first part, j, b
        best, running, is_found = -np.inf, 0.0, False
        for orientation in (STRAIGHT, INVERTED):
            if label != EITHER and label != orientation:
                continue
            for m in range(1, count):
                for j in range(i + 1, k):
                    left, right = span(i, j), span(j, k)
                    one, other = (left, right) if orientation == STRAIGHT else (right, left)
                    first = table(cells, leaf, m, 1 - orientation, one)
                    second = table(cells, leaf, count - m, EITHER, other)
                    for b in range(a + 1, c):
                        if in_logs:
                            weight = first[a, b] + second[b, c]
                        else:
                            weight = first[a, b] * second[b, c]
                        if takes_best:
                            if weight > best:
                                best = weight
                                chosen[:] = (orientation, m, j, b)
                        elif not is_found:
                            share = np.exp(weight - total) if in_logs else weight
                            if share > 0.0:  # the last possible one, if rounding finds none
                                chosen[:] = (orientation, m, j, b)
                            running += share
                            is_found = running > threshold
        orientation, m, j, b = chosen
        parts = ((i, j), (j, k))
        first_part, second_part = parts[orientation], parts[1 - orientation]
        stack[size] = (count - m, EITHER, second_part[0], second_part[1], b, c)
        stack[size + 1] = (m, 1 - orientation, first_part[0], first_part[1], a, b)
        size += 2
