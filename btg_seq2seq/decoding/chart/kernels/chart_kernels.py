"""The chart of cky decoding, compiled: sums of probabilities over derivations, string by string.

A cell is a source span, a number of leaves and an orientation, and holds strings (see
``string_kernels``). Each has the log of its summed mass, and the best single derivation with
pointers to the parts. Masses are products of split weights (not normalised), so that all strings
of a cell share a factor; the roots are divided by the sum over all trees.

A cell is complete before it is pruned: all pairs of strings of all pairs of parts.

Masses are probabilities, or scores of features. With scores, the probability of each string is
added up beside its score, over the same derivations.
"""

import numpy as np

from btg_seq2seq.decoding.chart.kernels.string_kernels import (
    COLUMNS,
    ENDS,
    FIRST,
    FOLLOWS,
    HASH,
    LENGTH,
    OTHER_HASH,
    SECOND,
    best_rows,
    larger,
    multiply,
    new_table,
    put,
    reduce_sum,
    with_room,
)
from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.kernels.packed import span_count, span_index, split_index
from btg_seq2seq.grammar.packing import EITHER, INVERTED, STRAIGHT

LOG_TWO = np.log(2.0)
NEVER = 1 << 30  # more leaves than any tree has
# Columns of a string's masses: the sum over derivations, and the best of them. Where masses are
# scores, the log-probability follows.
MASS, BEST, PROBABILITY = 0, 1, 2


@compiled
def parts(i, j, k, orientation):
    """Parts of a split in target order, as packed spans, and the label of the first part.

    Normal form: a straight node has an inverted first part, an inverted node a straight one.
    """
    if orientation == STRAIGHT:
        return span_index(i, j), span_index(j, k), INVERTED
    return span_index(j, k), span_index(i, j), STRAIGHT


@compiled
def least_leaves(length, counts):
    """Fewest leaves that tile each span, ``[spans]``; a span is a leaf if its count is not 0."""
    least = np.full(span_count(length), NEVER, np.int64)
    for k in range(1, length + 1):
        for i in range(k - 1, -1, -1):
            fewest = NEVER
            if counts[span_index(i, k)] > 0:
                fewest = 1
            else:
                for j in range(i + 1, k):
                    fewest = min(fewest, least[span_index(i, j)] + least[span_index(j, k)])
            least[span_index(i, k)] = min(fewest, NEVER)
    return least


@compiled
def join(cell, part, weights, strings, masses, powers, table, base, count):
    """Put the concatenation of every string of ``cell`` and every string of ``part`` into a table.

    ``weights`` of the split are its score and its log-probability. Strings that would share a word
    where they meet are not joined. A table is its slots, strings and sums; returns it and the
    number of strings in it.
    """
    slots, keys, sums = table
    weight, split_probability = weights
    has_scores, probability = masses.shape[1] > PROBABILITY, 0.0
    width = part[1] - part[0]
    for a in range(cell[0], cell[1] if width > 0 else cell[0]):
        slots, keys, sums = with_room((slots, keys, sums), base, count, width)
        for b in range(part[0], part[1]):
            if strings[a, ENDS] & strings[b, FOLLOWS] == 0:
                continue
            length = strings[b, LENGTH]
            one = multiply(strings[a, HASH], powers[length, 0]) + strings[b, HASH]
            other = multiply(strings[a, OTHER_HASH], powers[length, 1]) + strings[b, OTHER_HASH]
            name = reduce_sum(one), reduce_sum(other), strings[a, LENGTH] + length
            mass = weight + masses[a, MASS] + masses[b, MASS]
            best = weight + masses[a, BEST] + masses[b, BEST]
            if has_scores:
                probability = split_probability + masses[a, PROBABILITY] + masses[b, PROBABILITY]
            edges = strings[a, FOLLOWS], strings[b, ENDS]
            count = put(
                (slots, keys, sums), base, count, name, (a, b), edges, mass, best, probability
            )
    return (slots, keys, sums), count


@compiled
def put_all(rows, factors, strings, masses, table, base, count):
    """Put the strings ``rows[0]:rows[1]`` of a cell into the table, times factors.

    ``factors`` are for scores and for log-probabilities.
    """
    has_scores, probability = masses.shape[1] > PROBABILITY, 0.0
    factor, probability_factor = factors
    table = with_room(table, base, count, rows[1] - rows[0])
    for row in range(rows[0], rows[1]):
        name = strings[row, HASH], strings[row, OTHER_HASH], strings[row, LENGTH]
        parts = strings[row, FIRST], strings[row, SECOND]
        edges = strings[row, FOLLOWS], strings[row, ENDS]
        mass, best = factor + masses[row, MASS], factor + masses[row, BEST]
        if has_scores:
            probability = probability_factor + masses[row, PROBABILITY]
        count = put(table, base, count, name, parts, edges, mass, best, probability)
    return table, count


@compiled
def close_cell(table, count, beam, strings, masses, used):
    """Append the best strings of a finished table to those of the chart."""
    _, keys, sums = table
    chosen = best_rows(sums, keys, count, beam)
    strings, masses = larger(strings, used + len(chosen)), larger(masses, used + len(chosen))
    for row in chosen:
        strings[used] = keys[row]
        masses[used, MASS], masses[used, BEST] = sums[row, 0], sums[row, 2]
        if masses.shape[1] > PROBABILITY:
            masses[used, PROBABILITY] = sums[row, 3]
        used += 1
    return strings, masses, used


@compiled
def fill_leaves(leaf_begins, leaf_counts, pool, grammar, strings, masses, begins, ends):
    """Fill the cells of one leaf; returns the number of strings.

    A leaf has the same strings with both labels; the plane for either label has twice the mass.
    """
    hashes, offsets, scores, log_probs, edges = pool
    used = 0
    for place in range(len(leaf_counts)):
        for plane in (STRAIGHT, EITHER):
            begins[0, plane, place] = used
            for s in range(leaf_begins[place], leaf_begins[place] + leaf_counts[place]):
                strings[used, HASH], strings[used, OTHER_HASH] = hashes[s, 0], hashes[s, 1]
                strings[used, LENGTH] = offsets[s + 1] - offsets[s]
                strings[used, FIRST], strings[used, SECOND] = s, -1 - place
                strings[used, FOLLOWS], strings[used, ENDS] = edges[s, 0], edges[s, 1]
                labels = LOG_TWO if plane == EITHER else 0.0
                masses[used, MASS] = masses[used, BEST] = scores[s] + grammar * labels
                if masses.shape[1] > PROBABILITY:
                    masses[used, PROBABILITY] = log_probs[s] + labels
                used += 1
            ends[0, plane, place] = used
    begins[0, INVERTED], ends[0, INVERTED] = begins[0, STRAIGHT], ends[0, STRAIGHT]
    return used


@compiled
def fill_chart(length, segments, scores, leaf_begins, leaf_counts, pool, grammar, beam, powers):
    """All cells of a sentence: strings, their masses, and where each cell's strings are.

    ``pool``: hashes, offsets, scores, log-probabilities and edges of the strings in leaves; no
    log-probabilities if they are the scores. ``grammar``: weight of the split scores. Rows
    ``begins[leaves - 1, plane, span]`` to ``ends`` of the strings belong to a cell.
    """
    width = 3 if len(pool[3]) > 0 else 2
    spans = len(leaf_counts)
    begins = np.zeros((segments, 3, spans), np.int64)
    ends = np.zeros((segments, 3, spans), np.int64)
    room = 2 * leaf_counts.sum() + 1024
    strings, masses = np.empty((room, COLUMNS), np.int64), np.empty((room, width), np.float64)
    used = fill_leaves(leaf_begins, leaf_counts, pool, grammar, strings, masses, begins, ends)
    table, base = new_table(1024, 2 * width - 1), 1
    least = least_leaves(length, leaf_counts)
    for k in range(2, length + 1):
        for i in range(k - 2, -1, -1):
            # The words around need leaves too: cells that no tree can use are not filled.
            before = least[span_index(0, i)] if i > 0 else 0
            behind = least[span_index(k, length)] if k < length else 0
            most, place = min(segments - before - behind, k - i), span_index(i, k)
            for leaves in range(max(2, least[place]), most + 1):
                cells = begins[leaves - 1], ends[leaves - 1]
                for orientation in (STRAIGHT, INVERTED):
                    count = 0
                    for j in range(i + 1, k):
                        weight = scores[split_index(i, j, k), orientation]
                        if weight == -np.inf:
                            continue
                        weights = grammar * weight, weight
                        one, other, label = parts(i, j, k, orientation)
                        for m in range(least[one], leaves - least[other] + 1):
                            first = begins[m - 1, label, one], ends[m - 1, label, one]
                            rest = leaves - m - 1
                            second = begins[rest, EITHER, other], ends[rest, EITHER, other]
                            table, count = join(
                                first, second, weights, strings, masses, powers, table, base, count
                            )
                    cells[0][orientation, place] = used
                    strings, masses, used = close_cell(table, count, beam, strings, masses, used)
                    cells[1][orientation, place] = used
                    base += count
                # Either orientation: the strings of both, which are adjacent.
                rows = cells[0][STRAIGHT, place], used
                table, count = put_all(rows, (0.0, 0.0), strings, masses, table, base, 0)
                cells[0][EITHER, place] = used
                strings, masses, used = close_cell(table, count, count, strings, masses, used)
                cells[1][EITHER, place] = used
                base += count
    return strings, masses, begins, ends


@compiled
def write_leaves(strings, first, second, leaves):
    """Write strings and packed spans of a derivation's leaves in target order, ``[leaves, 2]``."""
    stack, depth, count = np.empty((leaves.shape[0] + 1, 2), np.int64), 1, 0
    stack[0, 0], stack[0, 1] = first, second
    while depth > 0:
        depth -= 1
        first, second = stack[depth, 0], stack[depth, 1]
        if second < 0:
            leaves[count, 0], leaves[count, 1] = first, -1 - second
            count += 1
        else:
            stack[depth, 0], stack[depth, 1] = strings[second, FIRST], strings[second, SECOND]
            stack[depth + 1, 0] = strings[first, FIRST]
            stack[depth + 1, 1] = strings[first, SECOND]
            depth += 2
    return count


@compiled
def share(name, rows, factor, strings, masses):
    """Probability of the string ``name`` in the rows of a cell, times a factor."""
    mass = 0.0
    column = PROBABILITY if masses.shape[1] > PROBABILITY else MASS
    for row in range(rows[0], rows[1]):
        if (
            strings[row, HASH] == name[0]
            and strings[row, OTHER_HASH] == name[1]
            and strings[row, LENGTH] == name[2]
        ):
            mass += np.exp(factor + masses[row, column])
    return mass


@compiled
def decode(
    begin,
    end,
    sentences,
    scores,
    log_counts,
    leaf_begins,
    leaf_counts,
    hashes,
    offsets,
    string_scores,
    log_probs,
    edges,
    grammar,
    beam,
    powers,
    result_masses,
    result_sizes,
    result_leaves,
    posteriors,
):
    """Find the best strings of sentences ``begin`` to ``end``, mixed over numbers of leaves.

    ``sentences[b]`` is length, most leaves, first split and first span in the packed ``scores`` and
    leaves. ``leaf_begins`` and ``leaf_counts`` are the strings of the pool that a leaf can become;
    those of the whole sentence are for n = 1. ``log_counts[b, n - 1]`` is added to the log mass of
    trees with n leaves. ``log_probs`` is empty if the scores of strings are probabilities. Results
    ``[b, rank]``: masses (summed, best and, with scores, the log-probability), numbers of leaves,
    leaves as ``write_leaves`` writes them, and ``posteriors[b, rank, n - 1]``, the share of n
    leaves in the probability of the string.
    """
    pool = hashes, offsets, string_scores, log_probs, edges
    width = result_masses.shape[2]
    total = 3 if width > PROBABILITY else 0  # column of the summed probability
    for b in range(begin, end):
        length, segments, splits, spans = sentences[b]
        own = slice(spans, spans + span_count(length))
        strings, masses, begins, ends = fill_chart(
            *(length, segments, scores[splits:], leaf_begins[own], leaf_counts[own]),
            *(pool, grammar, beam, powers),
        )
        root, count, table = span_index(0, length), 0, new_table(64, 2 * width - 1)
        for n in range(1, segments + 1):
            # A sentence as one leaf takes either label, but there is only one such tree.
            plane = STRAIGHT if n == 1 else EITHER
            if log_counts[b, n - 1] > -np.inf:
                rows = begins[n - 1, plane, root], ends[n - 1, plane, root]
                factors = grammar * log_counts[b, n - 1], log_counts[b, n - 1]
                table, count = put_all(rows, factors, strings, masses, table, 1, count)
        _, keys, sums = table
        chosen = best_rows(sums, keys, count, result_masses.shape[1])
        for rank in range(len(chosen)):
            row = chosen[rank]
            result_masses[b, rank, MASS] = sums[row, 0]
            result_masses[b, rank, BEST] = sums[row, 2]
            if width > PROBABILITY:
                result_masses[b, rank, PROBABILITY] = sums[row, 3]
            result_sizes[b, rank] = write_leaves(
                strings, keys[row, FIRST], keys[row, SECOND], result_leaves[b, rank]
            )
            name = keys[row, HASH], keys[row, OTHER_HASH], keys[row, LENGTH]
            for n in range(1, segments + 1):
                plane = STRAIGHT if n == 1 else EITHER
                rows = begins[n - 1, plane, root], ends[n - 1, plane, root]
                factor = log_counts[b, n - 1] - sums[row, total]
                posteriors[b, rank, n - 1] = share(name, rows, factor, strings, masses)
