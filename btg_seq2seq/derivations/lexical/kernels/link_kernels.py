"""Links between words, compiled: posteriors and expectations of a model with positions.

As IBM model 1, but a word is rather written by one at the same place of the other sentence: the
share of a word falls with its distance, ``exp(-tension * |(x + 0.5) / X - (y + 0.5) / Y|)``.
"""

import numpy as np

from btg_seq2seq.derivations.lexical.kernels.table_kernels import find
from btg_seq2seq.grammar.kernels.compiled import compiled

EMPTY = 0.08  # share of the empty word


@compiled
def distances(sources, targets):
    """Distances of relative positions, ``[sources, targets]``."""
    result = np.empty((sources, targets))
    for x in range(sources):
        for y in range(targets):
            result[x, y] = abs((x + 0.5) / sources - (y + 0.5) / targets)
    return result


@compiled
def nearness(distance, tension):
    """Shares of source words for each target word, and the reverse: two ``[source, target]``."""
    weights = np.exp(-tension * distance)
    return weights / weights.sum(0), weights / weights.sum(1).reshape(-1, 1)


@compiled
def link_posteriors(source, target, entries, nulls, tension):
    """Probabilities that x wrote y and that y wrote x, ``[2, source, target]``, and of no word.

    ``entries``: see ``WordTables.entries``; ``nulls``: target and source words of the empty word.
    The last two results, ``[target]`` and ``[source]``, are probabilities of the empty word.
    """
    begins, columns, forward, backward = entries
    near, near_reverse = nearness(distances(len(source), len(target)), tension)
    links = np.zeros((2, len(source), len(target)))
    to_target, to_source = EMPTY * nulls[0][target], EMPTY * nulls[1][source]
    for x in range(len(source)):
        for y in range(len(target)):
            entry = find(begins, columns, source[x], target[y])
            links[0, x, y] = (1 - EMPTY) * forward[entry] * near[x, y]
            links[1, x, y] = (1 - EMPTY) * backward[entry] * near_reverse[x, y]
    for y in range(len(target)):
        total = links[0, :, y].sum() + to_target[y]
        links[0, :, y] /= total
        to_target[y] /= total
    for x in range(len(source)):
        total = links[1, x].sum() + to_source[x]
        links[1, x] /= total
        to_source[x] /= total
    return links, to_target, to_source


@compiled
def expect_links(texts, entries, nulls, tension, tensions, counts, gains):
    """Add the expected links of all sentence pairs to ``counts``.

    ``texts``: words and ends of source and target. ``gains``, ``[tensions]``: the expected
    log-probability of the places of links, for each of the tensions.
    """
    source, source_ends, target, target_ends = texts
    to_forward, to_backward, to_target, to_source = counts
    for sentence in range(len(source_ends) - 1):
        xs = source[source_ends[sentence] : source_ends[sentence + 1]]
        ys = target[target_ends[sentence] : target_ends[sentence + 1]]
        if len(xs) == 0 or len(ys) == 0:
            continue
        links, no_source, no_target = link_posteriors(xs, ys, entries, nulls, tension)
        for x in range(len(xs)):
            to_source[xs[x]] += no_target[x]
            for y in range(len(ys)):
                entry = find(entries[0], entries[1], xs[x], ys[y])
                to_forward[entry] += links[0, x, y]
                to_backward[entry] += links[1, x, y]
        for y in range(len(ys)):
            to_target[ys[y]] += no_source[y]
        distance = distances(len(xs), len(ys))
        for place in range(len(tensions)):
            near, near_reverse = nearness(distance, tensions[place])
            gains[place] += (links[0] * np.log(near)).sum()
            gains[place] += (links[1] * np.log(near_reverse)).sum()
