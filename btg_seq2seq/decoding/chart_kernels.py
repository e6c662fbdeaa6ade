"""The chart of cky decoding, compiled: sums of probabilities over derivations, string by string.

A cell is a source span, a number of leaves and an orientation, and holds strings. A string is
known by its length and two hashes that are composed when strings are joined; its tokens are never
written down. Each string has the log of its summed mass, and the best single derivation with
pointers to the parts. Masses are products of split weights (not normalised), so that all strings
of a cell share a factor; the roots are divided by the sum over all trees.

A cell is complete before it is pruned: all pairs of strings of all pairs of parts.
"""

import numpy as np

from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.packing import EITHER, INVERTED, STRAIGHT

MODULUS = 2**61 - 1
FIRST_BASE, SECOND_BASE = 1_352_867_909_432_110_417, 876_543_210_987_654_321
LOG_TWO = np.log(2.0)
NEVER = 1 << 30  # more leaves than any tree has

# Columns of a string: two hashes, tokens, and its parts in target order. A leaf has a string of the
# pool instead of a first part, and -1 - packed span instead of a second.
HASH, OTHER_HASH, LENGTH, FIRST, SECOND = 0, 1, 2, 3, 4
# Of its masses: the sum over derivations, and the best of them.
MASS, BEST = 0, 1


@compiled
def multiply(a, b):
    """``a b`` modulo 2^61 - 1, without a product of more than 63 bits."""
    low = (1 << 31) - 1
    a_high, a_low, b_high, b_low = a >> 31, a & low, b >> 31, b & low
    middle = a_low * b_high + a_high * b_low
    total = 2 * a_high * b_high + (middle >> 30) + ((middle & (low >> 1)) << 31) + a_low * b_low
    return reduce_sum(total)


@compiled
def reduce_sum(total):
    """A number below 2^63, modulo 2^61 - 1."""
    total = (total >> 61) + (total & MODULUS)
    return total - MODULUS if total >= MODULUS else total


@compiled
def hash_strings(begin, end, offsets, tokens, hashes):
    """Hashes ``[strings, 2]`` of the strings ``tokens[offsets[s]:offsets[s + 1]]``."""
    for s in range(begin, end):
        first, second = 0, 0
        for t in range(offsets[s], offsets[s + 1]):
            first = reduce_sum(multiply(first, FIRST_BASE) + tokens[t] + 1)
            second = reduce_sum(multiply(second, SECOND_BASE) + tokens[t] + 1)
        hashes[s, 0], hashes[s, 1] = first, second


@compiled
def base_powers(longest):
    """Powers of both bases, ``[longest + 1, 2]``."""
    powers = np.ones((longest + 1, 2), np.int64)
    for t in range(longest):
        powers[t + 1, 0] = multiply(powers[t, 0], FIRST_BASE)
        powers[t + 1, 1] = multiply(powers[t, 1], SECOND_BASE)
    return powers


@compiled
def span(i, k):
    """Packed index of ``[i, k)``."""
    return k * (k - 1) // 2 + i


@compiled
def split(i, j, k):
    """Packed index of the split of ``[i, k)`` at j."""
    return k * (k - 1) * (k - 2) // 6 + j * (j - 1) // 2 + i


@compiled
def larger(array, least):
    """The same rows with room for at least so many."""
    if array.shape[0] >= least:
        return array
    result = np.empty((max(2 * array.shape[0], least), array.shape[1]), array.dtype)
    result[: array.shape[0]] = array
    return result


@compiled
def find(table, base, name):
    """The slot of a string in a hash table; what is below ``base`` is from an earlier cell."""
    slots, keys, _ = table
    mask = slots.shape[0] - 1
    place = (name[0] ^ (name[1] >> 7)) & mask
    while slots[place] >= base:
        row = slots[place] - base
        if (
            keys[row, HASH] == name[0]
            and keys[row, OTHER_HASH] == name[1]
            and keys[row, LENGTH] == name[2]
        ):
            break
        place = (place + 1) & mask
    return place


@compiled
def new_table(room):
    """A hash table for strings: slots, the strings, and their sums.

    A sum is kept as the log of its largest term, the terms' sum relative to that one, and the best
    derivation's log mass.
    """
    size = 16
    while size < 2 * room:
        size *= 2
    slots = np.zeros(size, np.int64)
    return slots, np.empty((room, 5), np.int64), np.empty((room, 3), np.float64)


@compiled
def with_room(table, base, count, more):
    """The same table with room for so many more strings."""
    slots, keys, sums = table
    keys, sums = larger(keys, count + more), larger(sums, count + more)
    while slots.shape[0] < 2 * (count + more):
        slots = np.zeros(2 * slots.shape[0], np.int64)
        for row in range(count):
            name = keys[row, HASH], keys[row, OTHER_HASH], keys[row, LENGTH]
            slots[find((slots, keys, sums), base, name)] = base + row
    return slots, keys, sums


@compiled
def put(table, base, count, name, parts, mass, best):
    """Add the mass of a derivation to its string; returns the number of strings."""
    slots, keys, sums = table
    place = find(table, base, name)
    if slots[place] < base:
        slots[place] = base + count
        keys[count, HASH], keys[count, OTHER_HASH], keys[count, LENGTH] = name
        keys[count, FIRST], keys[count, SECOND] = parts
        sums[count, 0], sums[count, 1], sums[count, 2] = mass, 1.0, best
        return count + 1
    row = slots[place] - base
    if mass > sums[row, 0]:
        sums[row, 1] = sums[row, 1] * np.exp(sums[row, 0] - mass) + 1.0
        sums[row, 0] = mass
    else:
        sums[row, 1] += np.exp(mass - sums[row, 0])
    if best > sums[row, 2]:
        sums[row, 2] = best
        keys[row, FIRST], keys[row, SECOND] = parts
    return count


@compiled
def is_better(sums, keys, one, other):
    """Whether string ``one`` has more mass; ties go by hash, so that they never go by chance."""
    if sums[one, 0] != sums[other, 0]:
        return sums[one, 0] > sums[other, 0]
    if keys[one, HASH] != keys[other, HASH]:
        return keys[one, HASH] < keys[other, HASH]
    return keys[one, OTHER_HASH] < keys[other, OTHER_HASH]


@compiled
def best_rows(sums, keys, count, beam):
    """The ``beam`` strings with most mass, best first; finishes their sums."""
    for row in range(count):
        if sums[row, 1] != 1.0:
            sums[row, 0] += np.log(sums[row, 1])
    size = min(count, beam)
    chosen = np.empty(size, np.int64)
    used = 0
    for row in range(count):
        if used == size and not is_better(sums, keys, row, chosen[size - 1]):
            continue
        place = used if used < size else size - 1
        while place > 0 and is_better(sums, keys, row, chosen[place - 1]):
            chosen[place] = chosen[place - 1]
            place -= 1
        chosen[place] = row
        used = min(used + 1, size)
    return chosen


@compiled
def least_leaves(length, counts):
    """Fewest leaves that cover each span, ``[spans]``, where ``counts[span]`` leaves exist."""
    least = np.full(length * (length + 1) // 2, NEVER, np.int64)
    for k in range(1, length + 1):
        for i in range(k - 1, -1, -1):
            fewest = NEVER
            if counts[span(i, k)] > 0:
                fewest = 1
            else:
                for j in range(i + 1, k):
                    fewest = min(fewest, least[span(i, j)] + least[span(j, k)])
            least[span(i, k)] = min(fewest, NEVER)
    return least


@compiled
def join(cell, part, weight, strings, masses, powers, table, base, count):
    """Put every pair of strings of two cells, ``part[0]:part[1]`` first, into the table.

    A table is its slots, strings and sums; returns it and the number of strings in it.
    """
    slots, keys, sums = table
    width = part[1] - part[0]
    for a in range(cell[0], cell[1] if width > 0 else cell[0]):
        slots, keys, sums = with_room((slots, keys, sums), base, count, width)
        for b in range(part[0], part[1]):
            length = strings[b, LENGTH]
            one = multiply(strings[a, HASH], powers[length, 0]) + strings[b, HASH]
            other = multiply(strings[a, OTHER_HASH], powers[length, 1]) + strings[b, OTHER_HASH]
            name = reduce_sum(one), reduce_sum(other), strings[a, LENGTH] + length
            mass = weight + masses[a, MASS] + masses[b, MASS]
            best = weight + masses[a, BEST] + masses[b, BEST]
            count = put((slots, keys, sums), base, count, name, (a, b), mass, best)
    return (slots, keys, sums), count


@compiled
def put_all(rows, factor, strings, masses, table, base, count):
    """Put the strings ``rows[0]:rows[1]`` of a cell into the table, times a factor."""
    table = with_room(table, base, count, rows[1] - rows[0])
    for row in range(rows[0], rows[1]):
        name = strings[row, HASH], strings[row, OTHER_HASH], strings[row, LENGTH]
        parts = strings[row, FIRST], strings[row, SECOND]
        mass, best = factor + masses[row, MASS], factor + masses[row, BEST]
        count = put(table, base, count, name, parts, mass, best)
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
        used += 1
    return strings, masses, used


@compiled
def fill_leaves(leaf_begins, leaf_counts, pool, strings, masses, begins, ends):
    """Cells of one leaf; returns how many strings there are.

    A leaf has the same strings with both labels; the plane of either label has the sums.
    """
    hashes, offsets, log_probs = pool
    used = 0
    for place in range(len(leaf_counts)):
        for plane in (STRAIGHT, EITHER):
            begins[0, plane, place] = used
            for s in range(leaf_begins[place], leaf_begins[place] + leaf_counts[place]):
                strings[used, HASH], strings[used, OTHER_HASH] = hashes[s, 0], hashes[s, 1]
                strings[used, LENGTH] = offsets[s + 1] - offsets[s]
                strings[used, FIRST], strings[used, SECOND] = s, -1 - place
                mass = log_probs[s] + (LOG_TWO if plane == EITHER else 0.0)
                masses[used, MASS] = masses[used, BEST] = mass
                used += 1
            ends[0, plane, place] = used
    begins[0, INVERTED], ends[0, INVERTED] = begins[0, STRAIGHT], ends[0, STRAIGHT]
    return used


@compiled
def fill_chart(length, segments, scores, leaf_begins, leaf_counts, pool, beam, powers):
    """All cells of a sentence: strings, their masses, and where each cell's strings are.

    ``pool``: hashes, offsets and log-probabilities of the strings in leaves. Rows
    ``begins[leaves - 1, plane, span]`` to ``ends`` of the strings belong to a cell.
    """
    spans = len(leaf_counts)
    begins = np.zeros((segments, 3, spans), np.int64)
    ends = np.zeros((segments, 3, spans), np.int64)
    room = 2 * leaf_counts.sum() + 1024
    strings, masses = np.empty((room, 5), np.int64), np.empty((room, 2), np.float64)
    used = fill_leaves(leaf_begins, leaf_counts, pool, strings, masses, begins, ends)
    table, base = new_table(1024), 1
    least = least_leaves(length, leaf_counts)
    for k in range(2, length + 1):
        for i in range(k - 2, -1, -1):
            # The words around need leaves too: what no tree can use is never filled.
            before = least[span(0, i)] if i > 0 else 0
            behind = least[span(k, length)] if k < length else 0
            most, place = min(segments - before - behind, k - i), span(i, k)
            for leaves in range(max(2, least[place]), most + 1):
                cells = begins[leaves - 1], ends[leaves - 1]
                for orientation in (STRAIGHT, INVERTED):
                    count = 0
                    for j in range(i + 1, k):
                        weight = scores[split(i, j, k), orientation]
                        if weight == -np.inf:
                            continue
                        # Straight: inverted left part first. Inverted: straight right part first.
                        if orientation == STRAIGHT:
                            one, other, label = span(i, j), span(j, k), INVERTED
                        else:
                            one, other, label = span(j, k), span(i, j), STRAIGHT
                        for m in range(least[one], leaves - least[other] + 1):
                            first = begins[m - 1, label, one], ends[m - 1, label, one]
                            rest = leaves - m - 1
                            second = begins[rest, EITHER, other], ends[rest, EITHER, other]
                            table, count = join(
                                first, second, weight, strings, masses, powers, table, base, count
                            )
                    cells[0][orientation, place] = used
                    strings, masses, used = close_cell(table, count, beam, strings, masses, used)
                    cells[1][orientation, place] = used
                    base += count
                # Either orientation: the strings of both, which stand side by side.
                rows = cells[0][STRAIGHT, place], used
                table, count = put_all(rows, 0.0, strings, masses, table, base, 0)
                cells[0][EITHER, place] = used
                strings, masses, used = close_cell(table, count, count, strings, masses, used)
                cells[1][EITHER, place] = used
                base += count
    return strings, masses, begins, ends


@compiled
def write_leaves(strings, first, second, leaves):
    """Strings and packed spans of a derivation's leaves in target order, ``[leaves, 2]``."""
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
    """Mass, times a factor, that the rows of a cell give to the string ``name``."""
    mass = 0.0
    for row in range(rows[0], rows[1]):
        if (
            strings[row, HASH] == name[0]
            and strings[row, OTHER_HASH] == name[1]
            and strings[row, LENGTH] == name[2]
        ):
            mass += np.exp(factor + masses[row, MASS])
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
    log_probs,
    beam,
    powers,
    result_masses,
    result_sizes,
    result_leaves,
    posteriors,
):
    """The best strings of sentences ``begin`` to ``end``, mixed over numbers of leaves.

    ``sentences[b]``: length, most leaves, and where its splits and spans begin in the packed
    ``scores`` and leaves. ``leaf_begins`` and ``leaf_counts``: strings of the pool that a leaf can
    become; those of the whole sentence are for n = 1.
    ``log_counts[b, n - 1]`` is added to the mass of trees with n leaves. Results: ``[b, rank]``
    masses, numbers of leaves, and leaves as ``write_leaves`` has them; ``posteriors[b, n - 1]``,
    the share of n leaves in the best string.
    """
    pool = hashes, offsets, log_probs
    for b in range(begin, end):
        length, segments, splits, spans = sentences[b]
        own = slice(spans, spans + length * (length + 1) // 2)
        strings, masses, begins, ends = fill_chart(
            *(length, segments, scores[splits:], leaf_begins[own], leaf_counts[own]),
            *(pool, beam, powers),
        )
        root, count, table = span(0, length), 0, new_table(64)
        for n in range(1, segments + 1):
            # A sentence as one leaf takes either label, but there is only one such tree.
            plane = STRAIGHT if n == 1 else EITHER
            if log_counts[b, n - 1] > -np.inf:
                rows = begins[n - 1, plane, root], ends[n - 1, plane, root]
                factor = log_counts[b, n - 1]
                table, count = put_all(rows, factor, strings, masses, table, 1, count)
        _, keys, sums = table
        chosen = best_rows(sums, keys, count, result_masses.shape[1])
        for rank in range(len(chosen)):
            row = chosen[rank]
            result_masses[b, rank] = sums[row, 0]
            result_sizes[b, rank] = write_leaves(
                strings, keys[row, FIRST], keys[row, SECOND], result_leaves[b, rank]
            )
        if count > 0:
            best = chosen[0]
            name = keys[best, HASH], keys[best, OTHER_HASH], keys[best, LENGTH]
            for n in range(1, segments + 1):
                plane = STRAIGHT if n == 1 else EITHER
                rows = begins[n - 1, plane, root], ends[n - 1, plane, root]
                factor = log_counts[b, n - 1] - sums[best, 0]
                posteriors[b, n - 1] = share(name, rows, factor, strings, masses)


@compiled
def best_trees(begin, end, sentences, scores, leaf_counts, log_partitions, leaves):
    """For each number of leaves, the sum over all trees and the leaves of the best one.

    The chart again, with the empty string in every leaf that ``leaf_counts`` (0 or 1) allows.
    ``log_partitions[b, n - 1]``; ``leaves[b, n - 1]`` as ``write_leaves`` has them.
    """
    pool = np.zeros((1, 2), np.int64), np.zeros(2, np.int64), np.zeros(1)
    powers = np.ones((1, 2), np.int64)
    for b in range(begin, end):
        length, segments, splits, spans = sentences[b]
        own = leaf_counts[spans : spans + length * (length + 1) // 2]
        strings, masses, begins, ends = fill_chart(
            length, segments, scores[splits:], np.zeros_like(own), own, pool, 1, powers
        )
        root = span(0, length)
        for n in range(1, segments + 1):
            row = begins[n - 1, EITHER, root]
            if row < ends[n - 1, EITHER, root]:
                log_partitions[b, n - 1] = masses[row, MASS]
                first, second = strings[row, FIRST], strings[row, SECOND]
                write_leaves(strings, first, second, leaves[b, n - 1])
