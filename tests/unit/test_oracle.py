"""The oracle itself: counts known from combinatorics, sums done by hand, and Algorithm 1."""

import math

import pytest
import torch
from oracle import (
    SPLIT_INDEX,
    Branch,
    LeafOracle,
    Phrase,
    TreeOracle,
    bracketing,
    forest,
    log_inside,
    rule_log_probs,
)

LARGE_SCHROEDER = [1, 2, 6, 22, 90, 394]


def algorithm_1(scores, length, segments, limit):
    """log Z exactly as the paper's Algorithm 1 is printed, in probabilities."""
    inside = {}  # (start, stop, label, count) -> mass
    for start in range(length):
        for stop in range(start + 1, min(start + limit, length) + 1):
            inside[start, stop, "S", 1] = inside[start, stop, "I", 1] = 1.0
    for total in range(2, segments + 1):
        for i, j, k in SPLIT_INDEX:
            for first in range(1, total) if k <= length else ():
                second = total - first
                straight, inverted = scores[SPLIT_INDEX[i, j, k]].exp().tolist()
                for label in "SI":
                    for parent, score, left, right in (
                        ("S", straight, (i, j, "I", first), (j, k, label, second)),
                        ("I", inverted, (j, k, "S", first), (i, j, label, second)),
                    ):
                        mass = score * inside.get(left, 0.0) * inside.get(right, 0.0)
                        cell = (i, k, parent, total)
                        inside[cell] = inside.get(cell, 0.0) + mass
    return math.log(sum(inside.get((0, length, label, segments), 0.0) for label in "SI"))


def scores_for(length, seed=0):
    generator = torch.Generator().manual_seed(seed)
    size = math.comb(length + 1, 3)
    return torch.randn((size, 2), generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("segments", range(1, 7))
def test_trees_with_one_word_phrases_are_counted_by_the_large_schroeder_numbers(segments):
    assert len(forest(0, segments, segments, 1).trees) == LARGE_SCHROEDER[segments - 1]


@pytest.mark.parametrize(
    ("length", "segments", "limit"), [(5, 3, 5), (6, 4, 6), (6, 4, 2), (6, 3, 2)]
)
def test_trees_are_segmentations_times_reorderings(length, segments, limit):
    widths = torch.cartesian_prod(*[torch.arange(1, limit + 1)] * segments)
    segmentations = (widths.sum(-1) == length).sum().item()
    trees = forest(0, length, segments, limit).trees
    assert len(trees) == segmentations * LARGE_SCHROEDER[segments - 1]


@pytest.mark.parametrize(
    ("length", "segments", "limit"), [(1, 1, 1), (4, 2, 3), (5, 3, 5), (6, 4, 2)]
)
def test_log_partition_is_algorithm_1(length, segments, limit):
    scores = scores_for(length)
    actual = TreeOracle(scores, length, segments, limit).log_partition.item()
    assert actual == pytest.approx(algorithm_1(scores, length, segments, limit), abs=1e-12)


def test_two_words_by_hand():
    scores = torch.tensor([[0.5, -1.0]], dtype=torch.float64)
    oracle = TreeOracle(scores, 2, 2, 2)
    assert [bracketing(tree) for tree in oracle.outcomes] == ["[0:1 1:2]", "<0:1 1:2>"]
    total = math.exp(0.5) + math.exp(-1.0)
    # one leaf is second in either tree: twice the weight
    assert oracle.log_partition.item() == pytest.approx(math.log(2 * total))
    straight = math.exp(0.5) / total
    assert oracle.marginals.tolist() == [pytest.approx([straight, 1 - straight])]
    assert oracle.leaf_marginals.tolist() == pytest.approx([1, 0, 1])
    assert TreeOracle(scores, 2, 1, 2).log_partition.item() == pytest.approx(math.log(2))


def test_log_two_terms_of_three_words_by_hand():
    oracle = TreeOracle(torch.zeros(4, 2, dtype=torch.float64), 3, 3, 1)
    leaves_in_second_place = {
        "[0:1 [1:2 2:3]]": 1,
        "[0:1 <1:2 2:3>]": 1,
        "[<0:1 1:2> 2:3]": 2,
        "<<0:1 1:2> 2:3>": 1,
        "<[0:1 1:2] 2:3>": 1,
        "<0:1 [1:2 2:3]>": 2,
    }
    texts = [bracketing(tree) for tree in oracle.outcomes]
    weights = dict(zip(texts, oracle.log_weights.tolist(), strict=True))
    assert weights == pytest.approx({t: n * math.log(2) for t, n in leaves_in_second_place.items()})


def test_rule_probabilities_are_products_of_insides():
    scores, limit = scores_for(5), 2
    for orientation in (0, 1):
        rules = rule_log_probs(scores, 0, 5, 4, limit, orientation)
        assert sum(map(math.exp, rules.values())) == pytest.approx(1)
        for (first, second, middle, label), value in rules.items():
            near, far = (0, middle), (middle, 5)
            near, far = (far, near) if orientation else (near, far)
            expected = (
                scores[SPLIT_INDEX[0, middle, 5], orientation].item()
                + log_inside(scores, *near, first, limit, 1 - orientation)
                + log_inside(scores, *far, second, limit, label)
                - log_inside(scores, 0, 5, 4, limit, orientation)
            )
            assert value == pytest.approx(expected)


def test_leaves_follow_the_trees_own_nodes():
    # <0:1 [1:2 2:3]>: in target order the phrases 1:2 and 2:3 come first, as one node.
    tree = Branch(Phrase(0, 1), Branch(Phrase(1, 2), Phrase(2, 3), False), True)
    scores = torch.arange(10, dtype=torch.float64)
    oracle = LeafOracle(scores, 4, tree, 4)
    expected = {
        (0, 1, 2, 4): SPLIT_INDEX[0, 2, 4] + SPLIT_INDEX[0, 1, 2],
        (0, 1, 3, 4): SPLIT_INDEX[0, 3, 4] + SPLIT_INDEX[0, 1, 3],
        (0, 2, 3, 4): SPLIT_INDEX[0, 3, 4] + SPLIT_INDEX[0, 2, 3],
    }
    fenceposts = [(0, *(stop for _, stop in outcome)) for outcome in oracle.outcomes]
    assert dict(zip(fenceposts, oracle.log_weights.tolist(), strict=True)) == expected
