"""Sentences with phrase translations that can be listed, so that every derivation can be."""

import math
from collections import defaultdict
from itertools import pairwise, product

import numpy as np
import torch
from hypothesis import strategies as st
from oracle import SPAN_INDEX, forest, phrases

from btg_seq2seq.decoding.chart.charts import Chart

STRINGS = [(a,) for a in (0, 1)] + [(a, b) for a in (0, 1) for b in (0, 1)]


class Case:
    """A sentence with scores and a table of phrases; everything is drawn from one seed."""

    def __init__(self, seed, length, segments, limit, scale, missing):
        generator = np.random.default_rng(seed)
        self.length, self.segments, self.limit = length, segments, limit
        self.scores = generator.normal(0, scale, (math.comb(length + 1, 3), 2))
        self.log_counts = generator.normal(0, 1, segments)
        self.table = {}
        for span in SPAN_INDEX:
            whole = span == (0, length)
            if span[1] > length or (span[1] - span[0] > limit and not whole):
                continue
            if generator.random() < missing and not whole:
                continue
            chosen = generator.permutation(len(STRINGS))[: generator.integers(1, 4)]
            self.table[span] = {
                STRINGS[s]: float(-generator.exponential(max(scale, 1.0))) for s in chosen
            }

    def chart(self, pool, features=None):
        """The chart; ``features`` are those of each string of each span, if it is ranked."""
        spans = self.length * (self.length + 1) // 2
        begins, counts = np.zeros((2, spans), np.int64)
        for span, strings in self.table.items():
            tokens = [token for string in strings for token in string]
            rows = None if features is None else np.array([features[span, one] for one in strings])
            begins[SPAN_INDEX[span]] = pool.add(
                tokens, [*map(len, strings)], [*strings.values()], features=rows
            )
            counts[SPAN_INDEX[span]] = len(strings)
        args = (self.length, self.segments, self.scores, begins, counts, self.log_counts)
        return Chart(*args)

    def derivations(self, meets=lambda before, after: True):
        """(string, log mass, leaves) of every tree with every choice of phrases.

        Neighbours in the target must be able to meet.
        """
        whole = self.table[(0, self.length)]
        for string, log_prob in whole.items():
            yield string, self.log_counts[0] + log_prob, [(0, self.length)]
        for n in range(2, self.segments + 1):
            listed = forest(0, self.length, n, self.limit)
            weights = listed.log_weights(torch.from_numpy(self.scores)).tolist()
            for tree, weight in zip(listed.trees, weights, strict=True):
                leaves = [tuple(phrase) for phrase in phrases(tree)]
                if not all(leaf in self.table for leaf in leaves):
                    continue
                for choice in product(*(self.table[leaf].items() for leaf in leaves)):
                    if not all(meets(one[-1], two[0]) for (one, _), (two, _) in pairwise(choice)):
                        continue
                    string = tuple(token for part, _ in choice for token in part)
                    log_prob = sum(log_prob for _, log_prob in choice)
                    yield string, self.log_counts[n - 1] + weight + log_prob, leaves

    def enumerate(self, *meets):
        masses, best = defaultdict(list), {}
        for string, mass, leaves in self.derivations(*meets):
            masses[string].append((mass, len(leaves)))
            if string not in best or mass > best[string]:
                best[string] = mass
        return masses, best


@st.composite
def cases(draw, max_length=5, scales=(0.3, 2.0, 60.0, 2000.0)):
    length = draw(st.integers(1, max_length))
    segments = draw(st.integers(1, min(length, 4)))
    limit = draw(st.integers(-(-length // segments), length))
    missing = draw(st.sampled_from([0.0, 0.3]))
    seed = draw(st.integers(0, 2**32 - 1))
    return Case(seed, length, segments, limit, draw(st.sampled_from(scales)), missing)
