"""Places of recurring phrase pairs, compiled."""

import numpy as np

from btg_seq2seq.grammar.kernels.compiled import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled
def mixed(number):
    """Scramble a 64-bit number: the finaliser of splitmix64."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@compiled
def added(key, tokens, begin, end):
    """Go on with a checksum over more tokens."""
    for place in range(begin, end):
        key = mixed(key + np.uint64(tokens[place]) + GOLDEN)
    return mixed(key ^ GOLDEN)


@compiled
def pair_keys(
    sentences, cells, source, source_ends, posts, post_ends, target, target_ends, others, other_ends
):
    """A checksum of the tokens of each phrase pair, ``[places]``."""
    keys = np.zeros(len(sentences), np.uint64)
    for place in range(len(sentences)):
        sentence = sentences[place]
        i, k, a, c = cells[place]
        begin, post = source_ends[sentence], post_ends[sentence]
        key = added(np.uint64(0), source, begin + posts[post + i], begin + posts[post + k])
        begin, post = target_ends[sentence], other_ends[sentence]
        keys[place] = added(key, target, begin + others[post + a], begin + others[post + c])
    return keys


@compiled
def in_several(keys, order, sentences):
    """Mask of the keys that occur in two sentences or more; ``order`` sorts the keys."""
    result = np.zeros(len(keys), np.bool_)
    begin = 0
    while begin < len(keys):
        key, sentence = keys[order[begin]], sentences[order[begin]]
        end, several = begin, False
        while end < len(keys) and keys[order[end]] == key:
            several |= sentences[order[end]] != sentence
            end += 1
        if several:
            result[order[begin:end]] = True
        begin = end
    return result


@compiled
def first_places(ends, pairs):
    """For each place, the first one in its sentence with the same pair."""
    firsts = np.arange(len(pairs))
    for sentence in range(len(ends) - 1):
        begin, end = ends[sentence], ends[sentence + 1]
        order = begin + np.argsort(pairs[begin:end], kind="mergesort")
        for rank in range(1, len(order)):
            if pairs[order[rank]] == pairs[order[rank - 1]]:
                firsts[order[rank]] = firsts[order[rank - 1]]
    return firsts
