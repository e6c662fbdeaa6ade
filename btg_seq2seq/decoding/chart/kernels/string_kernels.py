"""Strings of a chart, compiled: hashes that compose, and tables that add up masses.

A string is identified by its length and two hashes; its tokens are never stored.
"""

import numpy as np

from btg_seq2seq.grammar.kernels.compiled import compiled

MODULUS = 2**61 - 1
FIRST_BASE, SECOND_BASE = 1_352_867_909_432_110_417, 876_543_210_987_654_321

# Columns of a string: two hashes, number of tokens, and its parts in target order. A leaf has a
# string of the pool instead of a first part, and -1 - packed span instead of a second. Two strings
# may meet if the bits of how the first ends and of what the second may follow have one in common.
HASH, OTHER_HASH, LENGTH, FIRST, SECOND, FOLLOWS, ENDS = 0, 1, 2, 3, 4, 5, 6
COLUMNS = 7


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
def larger(array, least):
    """Grow an array to at least ``least`` rows."""
    if array.shape[0] >= least:
        return array
    result = np.empty((max(2 * array.shape[0], least), array.shape[1]), array.dtype)
    result[: array.shape[0]] = array
    return result


@compiled
def find(table, base, name):
    """Find the slot of a string in a hash table; values below ``base`` are from earlier cells."""
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
def new_table(room, width):
    """Make a hash table for strings: slots, the strings, and their sums.

    A sum is stored as the log of its largest term, the sum of the terms relative to that one, and
    the log mass of the best derivation. ``width`` is 3, or 5 if probabilities are added up beside
    scores: the sum of these follows in the same form.
    """
    size = 16
    while size < 2 * room:
        size *= 2
    slots = np.zeros(size, np.int64)
    return slots, np.empty((room, COLUMNS), np.int64), np.empty((room, width), np.float64)


@compiled
def with_room(table, base, count, more):
    """Grow a table to hold ``more`` strings than it has."""
    slots, keys, sums = table
    keys, sums = larger(keys, count + more), larger(sums, count + more)
    while slots.shape[0] < 2 * (count + more):
        slots = np.zeros(2 * slots.shape[0], np.int64)
        for row in range(count):
            name = keys[row, HASH], keys[row, OTHER_HASH], keys[row, LENGTH]
            slots[find((slots, keys, sums), base, name)] = base + row
    return slots, keys, sums


@compiled
def put(table, base, count, name, parts, edges, mass, best, probability):
    """Add the mass of a derivation to its string; returns the number of strings.

    ``probability`` is the log-probability, for tables that add it up beside the mass.
    """
    slots, keys, sums = table
    place = find(table, base, name)
    if slots[place] < base:
        slots[place] = base + count
        keys[count, HASH], keys[count, OTHER_HASH], keys[count, LENGTH] = name
        keys[count, FIRST], keys[count, SECOND] = parts
        keys[count, FOLLOWS], keys[count, ENDS] = edges
        sums[count, 0], sums[count, 1], sums[count, 2] = mass, 1.0, best
        if sums.shape[1] > 3:
            sums[count, 3], sums[count, 4] = probability, 1.0
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
    if sums.shape[1] > 3:
        if probability > sums[row, 3]:
            sums[row, 4] = sums[row, 4] * np.exp(sums[row, 3] - probability) + 1.0
            sums[row, 3] = probability
        else:
            sums[row, 4] += np.exp(probability - sums[row, 3])
    return count


@compiled
def is_better(sums, keys, one, other):
    """Return whether string ``one`` has more mass; ties are broken by hash, deterministically."""
    if sums[one, 0] != sums[other, 0]:
        return sums[one, 0] > sums[other, 0]
    if keys[one, HASH] != keys[other, HASH]:
        return keys[one, HASH] < keys[other, HASH]
    return keys[one, OTHER_HASH] < keys[other, OTHER_HASH]


@compiled
def best_rows(sums, keys, count, beam):
    """Finish all sums, and find the ``beam`` strings with most mass, best first."""
    for row in range(count):
        if sums[row, 1] != 1.0:
            sums[row, 0] += np.log(sums[row, 1])
        if sums.shape[1] > 3:
            sums[row, 3] += np.log(sums[row, 4])
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
