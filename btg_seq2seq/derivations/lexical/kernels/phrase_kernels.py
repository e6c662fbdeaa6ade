"""Scores of phrase pairs, compiled: lexical probabilities of all pairs of spans.

The lexical probability of a phrase pair is the geometric mean of two stories: the source phrase is
written word by word and each target word by a word of it, or the other way round.
"""

import numpy as np

from btg_seq2seq.derivations.lexical.kernels.layouts import packed, span
from btg_seq2seq.derivations.lexical.kernels.table_kernels import find
from btg_seq2seq.grammar.kernels.compiled import compiled

STOP = 0.25  # probability that a phrase ends after a unit


@compiled
def link_matrices(source, target, begins, columns, forward, backward):
    """t(y | x) and t(x | y) for all words of a sentence pair, ``[2, source, target]``."""
    links = np.zeros((2, len(source), len(target)))
    for x in range(len(source)):
        if source[x] < 0:
            continue
        for y in range(len(target)):
            entry = find(begins, columns, source[x], target[y]) if target[y] >= 0 else -1
            if entry >= 0:
                links[0, x, y] = forward[entry]
                links[1, x, y] = backward[entry]
    return links


@compiled
def written_scores(links, empty, posts, other_posts, null, insides, outsides):
    """Log-probabilities of prefixes of the written side, for each span of the read side.

    ``links``, ``[read, written]``: word-translation probabilities; ``empty``, ``[written]``: those
    of the empty word, which has the share ``null``. ``insides`` and ``outsides``, ``[spans of
    posts, other_posts]``: given the words of the span, and given all other words.
    """
    read, written = links.shape
    sums = np.zeros((read + 1, written))
    for x in range(read):
        for y in range(written):
            sums[x + 1, y] = sums[x, y] + links[x, y]
    units = len(posts) - 1
    for k in range(1, units + 1):
        for i in range(k):
            here = span(i, k)
            size = posts[k] - posts[i]
            inside_share = (1.0 - null) / size
            outside_share = (1.0 - null) / max(read - size, 1)
            inner = outer = 0.0
            insides[here, 0] = outsides[here, 0] = 0.0
            for post in range(1, len(other_posts)):
                for y in range(other_posts[post - 1], other_posts[post]):
                    inside = sums[posts[k], y] - sums[posts[i], y]
                    outside = max(sums[read, y] - inside, 0.0)
                    inner += np.log(inside_share * max(inside, 0.0) + null * empty[y])
                    outer += np.log(outside_share * outside + null * empty[y])
                insides[here, post], outsides[here, post] = inner, outer


@compiled
def lexical_scores(layout, size, forward, backward, rates):
    """Log-probabilities of all phrase pairs of a layout, packed: ``[size]``.

    ``forward``, ``[source spans, target posts]`` and ``backward``, ``[target spans, source posts]``
    come from ``written_scores``; ``rates`` are the log-probabilities of prefixes of source and
    target by the frequencies of their words. Lengths have a geometric distribution.
    """
    low, high, row = layout
    source_rates, target_rates = rates
    scores = np.full(size, -np.inf)
    goes_on, stop = np.log1p(-STOP), 2 * np.log(STOP)
    for k in range(1, len(source_rates)):
        for i in range(k):
            here = span(i, k)
            own = source_rates[k] - source_rates[i]
            for a in range(low.shape[1] - 1):
                for c in range(low[here, a], high[here, a]):
                    there = span(a, c)
                    story = own + forward[here, c] - forward[here, a]
                    other = target_rates[c] - target_rates[a]
                    other += backward[there, k] - backward[there, i]
                    length = stop + (k - i + c - a - 2) * goes_on
                    scores[row[here, a] + c] = 0.5 * (story + other) + length
    return scores


@compiled
def pruned_layout(forward, backward, units, posts, beam):
    """The layout of promising cells, and their number.

    The words in a pair of spans are explained by each other, and all other words by each other
    (Zhang and Gildea 2005). A cell is pruned if this is less likely, by ``beam`` nats, than for the
    best target span of the same source span. ``forward`` and ``backward``: scores inside and
    outside, from ``written_scores``.
    """
    spans = units * (units + 1) // 2
    low, high = np.zeros((spans, posts), np.int32), np.zeros((spans, posts), np.int32)
    inner, outer = forward
    other_inner, other_outer = backward
    estimates = np.zeros((posts, posts))
    for k in range(1, units + 1):
        for i in range(k):
            here = span(i, k)
            best = -np.inf
            for a in range(posts - 1):
                for c in range(a + 1, posts):
                    there = span(a, c)
                    inside = inner[here, c] - inner[here, a]
                    inside += other_inner[there, k] - other_inner[there, i]
                    outside = outer[here, posts - 1] - outer[here, c] + outer[here, a]
                    outside += other_outer[there, units] - other_outer[there, k]
                    outside += other_outer[there, i]
                    estimates[a, c] = 0.5 * (inside + outside)
                    best = max(best, estimates[a, c])
            for a in range(posts - 1):
                low[here, a] = posts
                for c in range(a + 1, posts):
                    if estimates[a, c] >= best - beam:
                        low[here, a] = min(low[here, a], c)
                        high[here, a] = c + 1
    whole = span(0, units)
    low[whole, 0], high[whole, 0] = min(low[whole, 0], posts - 1), posts
    return packed(low, high)
