"""The lexical teacher over ranges of a corpus, compiled: expectations and derivations.

Everything about a sentence pair is a function of this pair, the tables and the counts, so ranges
may be processed in any order, by any number of threads.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.derivations.lexical.kernels.bitext_kernels import (
    LOG_MAX,
    SUM,
    descend,
    log_add,
    log_tree_weight,
)
from btg_seq2seq.derivations.lexical.kernels.layouts import span, whole_layout
from btg_seq2seq.derivations.lexical.kernels.phrase_kernels import (
    lexical_scores,
    link_matrices,
    pruned_layout,
    written_scores,
)
from btg_seq2seq.derivations.lexical.kernels.sum_kernels import (
    LARGEST,
    log_roots,
    maxima,
    posteriors,
    sums,
)
from btg_seq2seq.grammar.kernels.compiled import compiled

EMPTY = 0.02  # share of the empty word
UNKNOWN = 1e-7  # frequency of a word that the tables do not know
FOUND = 1e-5  # least probability of a phrase pair to be listed
ROOM = 360_000  # cells of a pruned chart, with their padding
SEEN = 1e-6  # smaller counts are none
TIED = 0.1  # full stops that translate each other with at least this probability stay together


class Text(NamedTuple):
    """One side of a bitext, with words numbered as in the tables."""

    words: NDArray[np.int64]
    ends: NDArray[np.int64]
    posts: NDArray[np.int32]
    post_ends: NDArray[np.int64]
    stops: NDArray[np.bool_]  # whether a sentence ends in punctuation
    rates: NDArray[np.float64]  # frequencies of words
    empty: NDArray[np.float64]  # translations of the empty word


class Entries(NamedTuple):
    """Word-translation tables; see ``WordTables``."""

    begins: NDArray[np.int64]
    columns: NDArray[np.int32]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]


class Recurring(NamedTuple):
    """Phrase pairs of each sentence pair that recur in others; see ``PhrasePairCounts``."""

    ends: NDArray[np.int64]  # [sentences + 1]
    cells: NDArray[np.int16]  # [places, 4]: i, k, a, c
    pairs: NDArray[np.int64]  # [places]
    firsts: NDArray[np.int64]  # [places]: first place of the same pair in the sentence
    expected: NDArray[np.float32]  # [places]
    counts: NDArray[np.float64]  # [pairs]


class Grammar(NamedTuple):
    """Numbers that all sentence pairs share."""

    most: int
    limit: int
    beam: float
    small: int  # sentence pairs with at most this many pairs of units are not pruned
    concentration: float
    total: float  # phrase pairs of the corpus
    log_orders: NDArray[np.float64]  # [2]: straight, inverted
    log_counts: NDArray[np.float64]  # [most + 1, most + 1]: log p(n) by the most phrases, per tree


@compiled
def sentence_of(text, sentence):
    """Words, fenceposts, and log-probabilities of prefixes by the frequencies of words."""
    words = text.words[text.ends[sentence] : text.ends[sentence + 1]]
    posts = text.posts[text.post_ends[sentence] : text.post_ends[sentence + 1]]
    rates, empty = np.zeros(len(posts)), np.zeros(len(words))
    total = 0.0
    for unit in range(len(posts) - 1):
        for place in range(posts[unit], posts[unit + 1]):
            word = words[place]
            empty[place] = text.empty[word] if word >= 0 else UNKNOWN
            total += np.log(text.rates[word] if word >= 0 else UNKNOWN)
        rates[unit + 1] = total
    return words, posts, rates, empty


@compiled
def scored(sentence, source, target, entries, recurring, grammar):
    """Layout and scores of the phrase pairs of a sentence pair.

    The weight of a phrase pair is its count in *other* sentence pairs, plus ``concentration`` times
    its lexical probability, divided by the number of all phrase pairs.
    """
    x, x_posts, x_rates, x_empty = sentence_of(source, sentence)
    y, y_posts, y_rates, y_empty = sentence_of(target, sentence)
    units, posts = len(x_posts) - 1, len(y_posts)
    spans, others = units * (units + 1) // 2, posts * (posts - 1) // 2
    links = link_matrices(x, y, entries.begins, entries.columns, entries.forward, entries.backward)
    forward, backward = np.zeros((2, spans, posts)), np.zeros((2, others, units + 1))
    written_scores(links[0], y_empty, x_posts, y_posts, EMPTY, forward[0], forward[1])
    reverse = np.ascontiguousarray(links[1].T)
    written_scores(reverse, x_empty, y_posts, x_posts, EMPTY, backward[0], backward[1])
    if grammar.beam < np.inf and units * (posts - 1) > grammar.small:
        # A long sentence pair gets a narrower beam, until its chart fits the room.
        beam = grammar.beam
        layout, size = pruned_layout(forward, backward, units, posts, beam)
        while size > ROOM and beam > 1.0:
            beam *= 0.75
            layout, size = pruned_layout(forward, backward, units, posts, beam)
    else:
        layout, size = whole_layout(units, posts)
    scores = lexical_scores(layout, size, forward[0], backward[0], (x_rates, y_rates))
    scores += np.log(grammar.concentration)
    begin, end = recurring.ends[sentence], recurring.ends[sentence + 1]
    own = np.zeros(end - begin)
    for place in range(begin, end):
        own[recurring.firsts[place] - begin] += recurring.expected[place]
    for place in range(begin, end):
        count = recurring.counts[recurring.pairs[place]] - own[recurring.firsts[place] - begin]
        if count > SEEN:
            i, k, a, c = recurring.cells[place]
            here = span(i, k)
            if layout.low[here, a] <= c < layout.high[here, a]:
                at = layout.row[here, a] + c
                scores[at] = log_add(scores[at], np.log(count))
    scores -= np.log(grammar.total + grammar.concentration)
    has_stops = source.stops[sentence] and target.stops[sentence]
    if has_stops and links[:, x_posts[-2] :, y_posts[-2] :].min() > TIED:
        tie_ends(scores, layout, units)
    return units, layout, scores


@compiled
def tie_ends(scores, layout, units):
    """Leave out phrase pairs with the last unit of one side only: a full stop does not drift."""
    low, high, row = layout
    last = low.shape[1] - 1
    for k in range(1, units + 1):
        for i in range(k):
            here = span(i, k)
            for a in range(last):
                for c in range(low[here, a], high[here, a]):
                    if (k == units) != (c == last):
                        scores[row[here, a] + c] = -np.inf


@compiled
def limit_of(units, phrases, limit):
    """The longest phrase of a sentence cut into this many; see ``grammar.sizes``."""
    if phrases * limit >= units:
        return min(limit, units)
    return min(units, -(-2 * units // (phrases + 1)))


@compiled
def limited(scores, layout, units, source_limit, target_limit):
    """Scores without phrase pairs that are too long."""
    low, high, row = layout
    posts = low.shape[1]
    if source_limit >= units and target_limit >= posts - 1:
        return scores
    result = scores.copy()
    for k in range(1, units + 1):
        for i in range(k):
            here = span(i, k)
            for a in range(posts - 1):
                first = low[here, a]
                if k - i <= source_limit:
                    first = max(first, a + target_limit + 1)
                result[row[here, a] + first : row[here, a] + high[here, a]] = -np.inf
    return result


@compiled
def first_of_group(units, others, most, limit):
    """The smallest number of phrases with the same limits as ``most``."""
    n = most
    while n > 1:
        if limit_of(units, n - 1, limit) != limit_of(units, most, limit):
            break
        if limit_of(others, n - 1, limit) != limit_of(others, most, limit):
            break
        n -= 1
    return n


@compiled
def expect(begin, end, source, target, entries, recurring, grammar, is_used, results, found):
    """Expected phrase pairs of sentence pairs ``begin`` to ``end``.

    ``results``, ``[sentences, 4]``: log-likelihood, expected number of phrases, straight and
    inverted nodes. If ``found`` has room, ``[room, 6]``, all phrase pairs with a probability of
    ``FOUND`` or more are listed there: sentence, i, k, a, c and the probability; else those that
    ``recurring`` lists get their probability, which is not used before all are done.
    """
    listed = 0
    new = np.zeros(0, np.float32)
    if len(found) == 0:
        new = np.zeros(recurring.ends[end] - recurring.ends[begin], np.float32)
    for sentence in range(begin, end):
        if not is_used[sentence]:
            continue
        units, layout, scores = scored(sentence, source, target, entries, recurring, grammar)
        if grammar.beam < np.inf and len(scores) > ROOM:
            continue
        posts = layout.low.shape[1]
        others = posts - 1
        most = min(grammar.most, min(units, others))
        # Smaller numbers of phrases, for which the limits are relaxed, teach little.
        first = first_of_group(units, others, most, grammar.limit)
        limits = limit_of(units, most, grammar.limit), limit_of(others, most, grammar.limit)
        own = limited(scores, layout, units, limits[0], limits[1])
        # The scale of sums need not be exact: two phrases tell enough, and cost little.
        cells, log_maxima = maxima(own, grammar.log_orders, layout, units, min(most, 2))
        semiring, leaf, cells, scale = sums(
            own, grammar.log_orders, layout, units, most, cells, log_maxima, LARGEST
        )
        log_weights = log_roots(semiring, leaf, cells, layout, units, most, scale)
        log_weights += grammar.log_counts[most, 1 : most + 1]
        log_weights[: first - 1] = -np.inf
        highest = log_weights.max()
        if highest == -np.inf:
            continue
        weights = np.exp(log_weights - highest)
        results[sentence, 0] = highest + np.log(weights.sum())
        weights /= weights.sum()
        probabilities, used = posteriors(
            semiring, leaf, cells, grammar.log_orders, layout, units, most, weights
        )
        results[sentence, 2:] = used
        results[sentence, 1] = 0.0
        for n in range(1, most + 1):
            results[sentence, 1] += n * weights[n - 1]
        if len(found) == 0:
            for place in range(recurring.ends[sentence], recurring.ends[sentence + 1]):
                i, k, a, c = recurring.cells[place]
                here = span(i, k)
                if layout.low[here, a] <= c < layout.high[here, a]:
                    at = layout.row[here, a] + c
                    new[place - recurring.ends[begin]] = probabilities[at]
        else:
            listed = list_found(sentence, units, layout, probabilities, found, listed)
    return new, listed


@compiled
def list_found(sentence, units, layout, probabilities, found, listed):
    """List probable phrase pairs; ``listed`` goes on to count where ``found`` has no more room."""
    for k in range(1, units + 1):
        for i in range(k):
            here = span(i, k)
            for a in range(layout.low.shape[1] - 1):
                for c in range(layout.low[here, a], layout.high[here, a]):
                    probability = probabilities[layout.row[here, a] + c]
                    if probability >= FOUND:
                        if listed < len(found):
                            found[listed, 0], found[listed, 1] = sentence, i
                            found[listed, 2], found[listed, 3] = k, a
                            found[listed, 4], found[listed, 5] = c, probability
                        listed += 1
    return listed


@compiled
def derive(begin, end, source, target, entries, recurring, grammar, is_used, counts, uniforms, out):
    """Best and drawn derivations of sentence pairs ``begin`` to ``end``.

    ``counts``, ``[sentences of the range, draws]`` and ``uniforms``, ``[sentences of the range,
    draws, most]``: numbers of phrases to draw, and random numbers. ``out``: log partitions, log
    maxima, best phrases, drawn phrases, their log densities; see ``TaughtCorpus``.
    """
    log_partitions, log_maxima, best, drawn, densities = out
    for sentence in range(begin, end):
        rank = sentence - begin
        if not is_used[sentence]:
            continue
        units, layout, scores = scored(sentence, source, target, entries, recurring, grammar)
        others = layout.low.shape[1] - 1
        if grammar.beam < np.inf and len(scores) > ROOM:
            # The chart would be too large: the sentence pair is a phrase pair.
            log_partitions[rank, 0] = scores[layout.row[span(0, units), 0] + others]
            log_maxima[rank, 0] = log_partitions[rank, 0]
            best[rank, 0, 0] = (0, units, 0, others)
            continue
        most = min(grammar.most, min(units, others))
        log_orders = grammar.log_orders
        last = most
        while last > 0:
            first = first_of_group(units, others, last, grammar.limit)
            limits = limit_of(units, last, grammar.limit), limit_of(others, last, grammar.limit)
            own = limited(scores, layout, units, limits[0], limits[1])
            best_cells, best_roots = maxima(own, log_orders, layout, units, last)
            semiring, leaf, cells, scale = sums(
                own, log_orders, layout, units, last, best_cells, best_roots, LARGEST
            )
            roots = log_roots(semiring, leaf, cells, layout, units, last, scale)
            orders = np.exp(log_orders) if semiring == SUM else log_orders
            for n in range(first, last + 1):
                log_partitions[rank, n - 1], log_maxima[rank, n - 1] = (
                    roots[n - 1],
                    best_roots[n - 1],
                )
                if best_roots[n - 1] > -np.inf:
                    phrases = np.zeros((n, 4), np.int64)
                    nothing = np.zeros(n)
                    descend(
                        LOG_MAX, own, best_cells, log_orders, layout, units, n, nothing, phrases
                    )
                    best[rank, n - 1, :n] = phrases
            for draw in range(counts.shape[1]):
                n = counts[rank, draw]
                if first <= n <= last and best_roots[n - 1] > -np.inf:
                    phrases = np.zeros((n, 4), np.int64)
                    inverted = descend(
                        semiring,
                        leaf,
                        cells,
                        orders,
                        layout,
                        units,
                        n,
                        uniforms[rank, draw],
                        phrases,
                    )
                    drawn[rank, draw, :n] = phrases
                    weight = log_tree_weight(own, layout, phrases) - roots[n - 1]
                    weight += (n - 1 - inverted) * log_orders[0] + inverted * log_orders[1]
                    densities[rank, draw] = weight
            last = first - 1
