"""Trees with allowed leaves, against an enumeration of all trees."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from listed_phrases import cases
from oracle import SPAN_INDEX, TreeOracle, phrases

from btg_seq2seq.decoding.chart import forests
from btg_seq2seq.decoding.chart.forests import (
    Forests,
    leaves_beside,
    possible_counts,
    tree_batches,
)


def allowed_spans(case):
    """The spans with translations, except for the whole sentence."""
    mask = np.zeros(case.length * (case.length + 1) // 2, bool)
    for span in case.table:
        mask[SPAN_INDEX[span]] = span != (0, case.length)
    return mask


def listed_trees(case, mask, n):
    """Log weight and packed leaves of every tree with n leaves, all of them allowed."""
    oracle = TreeOracle(torch.from_numpy(case.scores), case.length, n, case.limit)
    trees = [
        (weight, [SPAN_INDEX[phrase] for phrase in phrases(tree)])
        for tree, weight in zip(oracle.outcomes, oracle.log_weights.tolist(), strict=True)
    ]
    return [(weight, leaves) for weight, leaves in trees if mask[leaves].all()]


@given(st.lists(cases(), min_size=1, max_size=4), st.sampled_from([1, 2**22]))
def test_all_trees_with_allowed_leaves(batch, size):
    """Which numbers of leaves are possible; sums, best trees and leaf posteriors for each."""
    masks = [allowed_spans(case) for case in batch]
    counts = [
        possible_counts(case.length, mask, case.segments)
        for case, mask in zip(batch, masks, strict=True)
    ]
    most = [int(own.nonzero()[0].max(initial=-1)) + 1 for own in counts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forests, "MOST_SPLITS", size)
        batches = [*tree_batches([case.length for case in batch], most)]
    ranks = [rank for own in batches for rank in own]
    assert sorted(ranks) == [rank for rank, count in enumerate(most) if count > 1]
    assert size > 1 or all(len(own) == 1 for own in batches)
    for ranks in batches:
        found = Forests(
            [batch[rank].scores for rank in ranks],
            [batch[rank].length for rank in ranks],
            [most[rank] for rank in ranks],
            [masks[rank] for rank in ranks],
        )
        for row, rank in enumerate(ranks):
            case, mask = batch[rank], masks[rank]
            for n in range(2, case.segments + 1):
                trees = listed_trees(case, mask, n)
                assert bool(counts[rank][n - 1]) == bool(trees)
                if not trees:
                    assert n > most[rank] or found.log_partitions[row][n - 1] == -math.inf
                    continue
                total = float(np.logaddexp.reduce([weight for weight, _ in trees]))
                own = found.log_partitions[row][n - 1]
                assert own == pytest.approx(total, rel=1e-9, abs=1e-9)
                numbers = [[n] if other == row else [] for other in range(len(ranks))]
                assert {*np.flatnonzero(found.best_leaves(numbers)[row])} == {*max(trees)[1]}
                weights = [np.zeros(most[other]) for other in ranks]
                weights[row][n - 1] = 1.0
                expected = np.zeros(len(mask))
                for weight, leaves in trees:
                    expected[leaves] += math.exp(weight - total)
                posterior = found.leaf_posteriors(weights)[row]
                assert posterior == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_a_sentence_without_trees():
    assert possible_counts(1, np.array([False]), 1).tolist() == [False]
    assert possible_counts(2, np.array([True, False, True]), 2).tolist() == [False, True]
    assert [*tree_batches([1, 3], [0, 1])] == []


@given(st.lists(cases(), min_size=1, max_size=3), st.integers(0, 2**32 - 1))
def test_best_trees_with_a_leaf(batch, seed):
    """All leaves of the best tree with a wanted leaf, for each number of leaves that counts."""
    generator = np.random.default_rng(seed)
    masks, wanted = [allowed_spans(case) for case in batch], []
    for case, mask in zip(batch, masks, strict=True):
        wanted.append(generator.random(len(mask)) < 0.5)
        case.log_counts[generator.random(case.segments) < 0.3] = -np.inf
    found = leaves_beside(
        [case.scores for case in batch],
        [case.length for case in batch],
        [case.log_counts for case in batch],
        *(masks, wanted),
    )
    for case, mask, own, result in zip(batch, masks, wanted, found, strict=True):
        expected = set()
        for n in range(2, case.segments + 1):
            trees = listed_trees(case, mask, n)
            for leaf in np.flatnonzero(own) if case.log_counts[n - 1] > -np.inf else ():
                possible = [pair for pair in trees if leaf in pair[1]]
                expected.update(max(possible)[1] if possible else ())
        assert {*np.flatnonzero(result)} == expected
