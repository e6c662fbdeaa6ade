"""Infeasible input is an error that names the sentence and the values, never a NaN."""

import math

import pytest
import torch
from checks import refused

from btg_seq2seq.grammar import (
    Leaf,
    LeafCRF,
    Tree,
    TreeCRF,
    phrase_length_limits,
    truncated_geometric,
)

pytestmark = pytest.mark.parametrize("kernels", ["fast", "portable"])
SPLITS = {3: 4, 4: 10, 5: 20}  # length -> number of splits
TWO, THREE = Tree.parse("[0:1 1:2]"), Tree.parse("[0:1 <1:2 2:3>]")


def tree_scores(batch=2, length=4):
    return torch.zeros(batch, SPLITS[length], 2, dtype=torch.float64)


def leaf_scores(batch=2, length=4):
    return torch.zeros(batch, SPLITS[length], dtype=torch.float64)


@pytest.mark.parametrize(
    "shape",
    [
        (2, 10),
        (2, 9, 2),
        (2, 11, 2),
        (2, 10, 3),
        (2, 10, 1),
        (3, 10, 2),
        (1, 10, 2),
        (10, 2),
        (20,),
    ],
)
def test_tree_crf_shape(kernels, shape):
    with refused(shape[0], shape[-1]):
        TreeCRF(torch.zeros(shape), [4, 3], [2, 2], kernels=kernels)


@pytest.mark.parametrize("shape", [(2, 10, 1), (2, 9), (2, 11), (3, 10), (1, 10), (10,)])
def test_leaf_crf_shape(kernels, shape):
    with refused(shape[0], shape[-1]):
        LeafCRF(torch.zeros(shape), [4, 3], [TWO, TWO], kernels=kernels)


@pytest.mark.parametrize(
    ("lengths", "segments"),
    [([4, 3, 2], [2, 2]), ([4, 3], [2, 2, 2]), ([4, 3], [2]), ([[4, 3]], [2, 2])],
)
def test_tree_crf_one_length_and_count_for_each_sentence(kernels, lengths, segments):
    with refused():
        TreeCRF(tree_scores(), lengths, segments, kernels=kernels)


@pytest.mark.parametrize(
    ("lengths", "trees"), [([4, 4, 4], [TWO, TWO]), ([4, 4], [TWO]), ([4], [TWO])]
)
def test_leaf_crf_one_length_and_tree_for_each_sentence(kernels, lengths, trees):
    with refused():
        LeafCRF(leaf_scores(), lengths, trees, kernels=kernels)


@pytest.mark.parametrize(
    ("lengths", "segments", "values"),
    [
        ([4, 0], [2, 1], ["0"]),
        ([4, -2], [2, 1], ["-2"]),
        ([4, 3], [2, 0], ["0"]),
        ([4, 3], [2, -1], ["-1"]),
        ([4, 3], [2, 4], ["3", "4"]),
    ],
)
def test_tree_crf_length_and_count(kernels, lengths, segments, values):
    with refused("sentence 1", *values):
        TreeCRF(tree_scores(), lengths, segments, kernels=kernels)


@pytest.mark.parametrize(
    ("lengths", "trees", "values"),
    [
        ([4, 0], [TWO, Leaf(0, 2)], ["0"]),
        ([4, -2], [TWO, Leaf(0, 2)], ["-2"]),
        ([4, 2], [TWO, THREE], ["2", "3"]),
    ],
)
def test_leaf_crf_length_and_count(kernels, lengths, trees, values):
    with refused("sentence 1", *values):
        LeafCRF(leaf_scores(), lengths, trees, kernels=kernels)


@pytest.mark.parametrize("limit", [0, -3])
def test_limit(kernels, limit):
    for build in (
        lambda: TreeCRF(tree_scores(), [4, 3], [2, 2], max_phrase_length=limit, kernels=kernels),
        lambda: LeafCRF(
            leaf_scores(), [4, 3], [TWO, TWO], max_phrase_length=limit, kernels=kernels
        ),
        lambda: phrase_length_limits(torch.tensor([4]), torch.tensor([2]), limit),
    ):
        with refused(limit):
            build()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_scores_that_are_no_scores(kernels, bad):
    """In the last split of a sentence's own; one further is padding, where anything goes."""
    own, padding = SPLITS[3] - 1, SPLITS[3]
    trees, leaves = tree_scores(), leaf_scores()
    trees[1, padding:], leaves[1, padding:] = bad, bad
    assert TreeCRF(trees, [4, 3], [2, 2], kernels=kernels).log_partition.isfinite().all()
    assert LeafCRF(leaves, [4, 3], [TWO, TWO], kernels=kernels).log_partition.isfinite().all()
    trees[1, own, 1], leaves[1, own] = bad, bad
    with refused("sentence 1", "nan" if math.isnan(bad) else "inf"):
        assert TreeCRF(trees, [4, 3], [2, 2], kernels=kernels).log_partition is not None
    with refused("sentence 1", "nan" if math.isnan(bad) else "inf"):
        assert LeafCRF(leaves, [4, 3], [TWO, TWO], kernels=kernels).log_partition is not None


def test_no_tree_left(kernels):
    scores = tree_scores()
    scores[1, [1, 2]] = -math.inf  # 0:1:3 and 0:2:3, the only splits of all three words
    with refused("sentence 1"):
        assert TreeCRF(scores, [4, 3], [2, 2], kernels=kernels).log_partition is not None


def test_no_tree_left_because_of_the_limit(kernels):
    """Only 0:2:4 respects the limit, and it is forbidden."""
    scores = tree_scores()
    scores[1, 5] = -math.inf
    assert TreeCRF(scores, [4, 4], [2, 2], kernels=kernels).log_partition.isfinite().all()
    with refused("sentence 1"):
        assert TreeCRF(scores, [4, 4], [2, 2], 2, kernels).log_partition is not None


def test_no_segmentation_left(kernels):
    scores = leaf_scores()
    scores[1, [1, 2]] = -math.inf
    with refused("sentence 1"):
        assert LeafCRF(scores, [4, 3], [TWO, TWO], kernels=kernels).log_partition is not None


@pytest.mark.parametrize(
    ("tree", "values"),
    [("[0:1 1:2]", ["2", "3"]), ("[0:1 [1:2 2:3]]", ["3", "2"]), ("0:3", ["1", "2"])],
)
def test_log_prob_of_another_length_or_count(kernels, tree, values):
    crf = TreeCRF(tree_scores(), [4, 3], [2, 2], kernels=kernels)
    with refused("sentence 1", *values):
        crf.log_prob([Tree.parse("[0:1 1:4]"), Tree.parse(tree)])


@pytest.mark.parametrize("texts", [["[0:1 1:4]"], ["[0:1 1:4]", "[0:1 1:3]", "[0:1 1:3]"]])
def test_log_prob_of_too_few_or_too_many_trees(kernels, texts):
    crf = TreeCRF(tree_scores(), [4, 3], [2, 2], kernels=kernels)
    with refused():
        crf.log_prob([Tree.parse(text) for text in texts])


@pytest.mark.parametrize("segmentation", [[(0, 1), (1, 2)], [(0, 3)], [(0, 1), (1, 2), (2, 3)]])
def test_log_prob_of_another_segmentation(kernels, segmentation):
    crf = LeafCRF(leaf_scores(), [4, 3], [TWO, TWO], kernels=kernels)
    with refused("sentence 1"):
        crf.log_prob([[(0, 1), (1, 4)], segmentation])


@pytest.mark.parametrize(("lengths", "segments"), [([4, 4], [2, 2]), ([4, 3], [2, 3]), ([4], [2])])
def test_kl_between_different_sentences(kernels, lengths, segments):
    crf = TreeCRF(tree_scores(), [4, 3], [2, 2], kernels=kernels)
    other = TreeCRF(tree_scores(len(lengths)), lengths, segments, kernels=kernels)
    with refused():
        crf.kl(other)


@pytest.mark.parametrize("shape", [(2, 10), (2, 9, 2), (1, 10, 2), (2, 10, 3)])
def test_expectation_of_values_of_another_shape(kernels, shape):
    crf = TreeCRF(tree_scores(), [4, 3], [2, 2], kernels=kernels)
    with refused():
        crf.expectation(torch.zeros(shape, dtype=torch.float64))


def test_unknown_kernels(kernels):
    with refused(f"{kernels}er"):
        TreeCRF(tree_scores(), [4, 3], [2, 2], kernels=f"{kernels}er")
    with refused(f"{kernels}er"):
        LeafCRF(leaf_scores(), [4, 3], [TWO, TWO], kernels=f"{kernels}er")


def test_truncated_geometric_from_two_needs_two(kernels):
    with refused("sentence 1", "2"):
        truncated_geometric(0.5, torch.tensor([3, 1, 2]), at_least=2)
