"""Word-translation tables, compiled: expectations of IBM model 1 over sparse tables.

A table has one entry for each pair of words that occur together in some sentence pair, sorted by
source word, then target word: those of source word ``x`` are ``begins[x]`` to ``begins[x + 1]``.
"""

import numpy as np

from btg_seq2seq.grammar.kernels.compiled import compiled


@compiled
def find(begins, columns, x, y):
    """The entry of a pair of words, or -1."""
    first, last = begins[x], begins[x + 1]
    while first < last:
        middle = (first + last) // 2
        if columns[middle] < y:
            first = middle + 1
        else:
            last = middle
    return first if first < begins[x + 1] and columns[first] == y else -1


@compiled
def occurrences(source, source_ends, target, target_ends, pairs):
    """All pairs of words of all sentence pairs, as ``x << 32 | y``."""
    at = 0
    for sentence in range(len(source_ends) - 1):
        for x in range(source_ends[sentence], source_ends[sentence + 1]):
            for y in range(target_ends[sentence], target_ends[sentence + 1]):
                pairs[at] = np.int64(source[x]) << 32 | np.int64(target[y])
                at += 1


@compiled
def expect(
    source, source_ends, target, target_ends, entries, forward, backward, nulls, agree, counts
):
    """Add the expected links of IBM model 1 in both directions.

    ``entries``: the entry of each pair of words of each sentence pair, in order. ``forward`` and
    ``backward``: t(y | x) and t(x | y) of each entry; ``nulls``: those of the empty word.
    ``counts`` gets links forward, backward, of the empty source word, of the empty target word. If
    ``agree``, a link counts by the product of its probabilities in the two directions.
    """
    to_forward, to_backward, to_target, to_source = counts
    null_target, null_source = nulls
    at = 0
    for sentence in range(len(source_ends) - 1):
        x_begin, x_end = source_ends[sentence], source_ends[sentence + 1]
        y_begin, y_end = target_ends[sentence], target_ends[sentence + 1]
        width = y_end - y_begin
        y_totals = np.zeros(width)
        x_totals = np.zeros(x_end - x_begin)
        for y in range(width):
            y_totals[y] = null_target[target[y_begin + y]]
        for x in range(x_end - x_begin):
            total = null_source[source[x_begin + x]]
            for y in range(width):
                entry = entries[at + x * width + y]
                y_totals[y] += forward[entry]
                total += backward[entry]
            x_totals[x] = total
        for y in range(width):
            word = target[y_begin + y]
            to_target[word] += null_target[word] / y_totals[y]
        for x in range(x_end - x_begin):
            word = source[x_begin + x]
            to_source[word] += null_source[word] / x_totals[x]
            for y in range(width):
                entry = entries[at + x * width + y]
                one, other = forward[entry] / y_totals[y], backward[entry] / x_totals[x]
                if agree:
                    both = one * other
                    to_forward[entry] += both
                    to_backward[entry] += both
                else:
                    to_forward[entry] += one
                    to_backward[entry] += other
        at += (x_end - x_begin) * width
