"""Lexical scores of given phrase pairs, compiled: log-probabilities in both directions."""

import numpy as np

from btg_seq2seq.derivations.lexical.kernels.corpus_kernels import EMPTY, UNKNOWN
from btg_seq2seq.derivations.lexical.kernels.table_kernels import find
from btg_seq2seq.grammar.kernels.compiled import compiled


@compiled
def score_pairs(
    begin, end, owners, x_words, x_ends, y_words, y_ends, tables, empty_x, empty_y, results
):
    """Score the strings ``begin`` to ``end``, each against the phrase that it translates.

    ``owners[s]`` is the phrase of string ``s``. Words are numbered as in the tables, -1 for unknown
    ones; those of a phrase or string are ``ends[s]`` to ``ends[s + 1]``. Results ``[strings, 2]``:

        sum over y of log((1 - EMPTY) mean over x of t(y | x) + EMPTY t(y | empty word))

    and the same with x and y exchanged.
    """
    begins, columns, forward, backward = tables
    for s in range(begin, end):
        x_begin, x_end = x_ends[owners[s]], x_ends[owners[s] + 1]
        y_begin, y_end = y_ends[s], y_ends[s + 1]
        to_x = np.zeros(x_end - x_begin)
        share = (1.0 - EMPTY) / max(x_end - x_begin, 1)
        reverse_share = (1.0 - EMPTY) / max(y_end - y_begin, 1)
        total = 0.0
        for y in range(y_begin, y_end):
            word, mean = y_words[y], 0.0
            for x in range(x_begin, x_end if word >= 0 else x_begin):
                entry = find(begins, columns, x_words[x], word) if x_words[x] >= 0 else -1
                if entry >= 0:
                    mean += forward[entry]
                    to_x[x - x_begin] += backward[entry]
            total += np.log(share * mean + EMPTY * (empty_y[word] if word >= 0 else UNKNOWN))
        results[s, 0] = total
        total = 0.0
        for x in range(x_begin, x_end):
            word = x_words[x]
            empty = empty_x[word] if word >= 0 else UNKNOWN
            total += np.log(reverse_share * to_x[x - x_begin] + EMPTY * empty)
        results[s, 1] = total
