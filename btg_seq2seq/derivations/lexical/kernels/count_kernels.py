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


@compiled
def phrase_keys(sentences, spans, tokens, ends, posts, post_ends):
    """A checksum of the tokens of each phrase of one side, with which ``pair_keys`` begin."""
    keys = np.zeros(len(sentences), np.uint64)
    for place in range(len(sentences)):
        begin, post = ends[sentences[place]], post_ends[sentences[place]]
        start, stop = spans[place]
        keys[place] = added(
            np.uint64(0), tokens, begin + posts[post + start], begin + posts[post + stop]
        )
    return keys


@compiled
def is_among(key, keys):
    """The place of a key in a rising array, or -1."""
    place = np.searchsorted(keys, key)
    return place if place < len(keys) and keys[place] == key else -1


@compiled
def known_places(
    sentences,
    sources,
    keys,
    longest,
    source,
    source_ends,
    posts,
    post_ends,
    target,
    target_ends,
    others,
    other_ends,
):
    """Places where some sentences have known phrase pairs: sentence, i, k, a, c and the pair.

    ``keys``: the checksums of the pairs; ``sources``: those of their source phrases. Both rise.
    ``longest``: most units of a phrase.
    """
    found = np.zeros((1024, 6), np.int64)
    count = 0
    for sentence in sentences:
        x, y = source_ends[sentence], target_ends[sentence]
        first, other = post_ends[sentence], other_ends[sentence]
        units = post_ends[sentence + 1] - first - 1
        written = other_ends[sentence + 1] - other - 1
        for i in range(units):
            for k in range(i + 1, min(units, i + longest) + 1):
                head = added(np.uint64(0), source, x + posts[first + i], x + posts[first + k])
                if is_among(head, sources) < 0:
                    continue
                for a in range(written):
                    for c in range(a + 1, min(written, a + longest) + 1):
                        key = added(head, target, y + others[other + a], y + others[other + c])
                        pair = is_among(key, keys)
                        if pair < 0:
                            continue
                        if count == len(found):
                            found = np.concatenate((found, np.zeros_like(found)))
                        found[count] = sentence, i, k, a, c, pair
                        count += 1
    return found[:count]
