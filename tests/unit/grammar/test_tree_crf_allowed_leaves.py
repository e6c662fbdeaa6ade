"""Leaves that are not allowed: what is refused, and scores so far apart that linear space fails."""

import math

import pytest
import torch
from checks import assert_close, refused
from hypothesis import given
from hypothesis import strategies as st
from oracle import SPAN_INDEX, TreeOracle
from strategies import leaf_masks, random_scores
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.grammar import Tree, TreeCRF

pytestmark = pytest.mark.parametrize("kernels", ["fast", "portable"])
SCORES = torch.zeros(2, 10, 2, dtype=torch.float64)


def mask_without(*leaves, batch=2, length=4):
    """All spans but these, in the last sentence."""
    masks = torch.ones(batch, math.comb(length + 1, 2), dtype=torch.bool)
    masks[-1, [SPAN_INDEX[leaf] for leaf in leaves]] = False
    return masks


@pytest.mark.parametrize(
    "masks",
    [torch.ones(2, 9), torch.ones(2, 10), torch.ones(2, 11).bool(), torch.ones(1, 10).bool()],
)
def test_shape_and_type(kernels, masks):
    with refused("allowed_leaves must be bool", 2, 10):
        TreeCRF(SCORES, [4, 3], [2, 2], kernels=kernels, allowed_leaves=masks)


@pytest.mark.parametrize(
    ("without", "segments", "limit"),
    [
        ([(0, 1), (0, 2), (0, 3)], 2, None),  # nothing begins the sentence
        ([(1, 4), (2, 4), (3, 4)], 2, None),
        ([(0, 1)], 4, None),
        ([(0, 4)], 1, None),
        ([(0, 2)], 2, 2),  # and longer ones are over the limit
    ],
)
def test_a_sentence_without_trees(kernels, without, segments, limit):
    with refused("sentence 1", "allowed leaves", segments):
        sizes = [4, 4], [2, segments]
        masks = mask_without(*without)
        TreeCRF(SCORES, *sizes, limit, kernels=kernels, allowed_leaves=masks)


def test_different_masks_are_not_compared(kernels):
    crf, other, without = (
        TreeCRF(SCORES, [4, 4], [2, 2], kernels=kernels, allowed_leaves=masks)
        for masks in (mask_without((0, 1)), mask_without((0, 2)), None)
    )
    for second in (other, without):
        with pytest.raises(ValueError, match="allowed leaves"):
            crf.kl(second)


def test_impossible_numbers_of_leaves(kernels):
    """Two leaves are not possible, but one and three are."""
    masks = mask_without((0, 1), (0, 2), batch=1, length=3)
    masks[0, SPAN_INDEX[0, 1]] = True
    masks[0, SPAN_INDEX[1, 3]] = False
    crf = TreeCRF(SCORES[:1, :4], [3], [3], kernels=kernels, allowed_leaves=masks)
    assert crf.log_partitions.isfinite().tolist() == [[True, False, True]]
    with refused("sentence 0: 2 leaves have weight 1.0"):
        crf.leaf_marginals(torch.tensor([[0.0, 1.0, 0.0]]))
    tree = Tree.parse("[0:1 [1:2 2:3]]")
    assert crf.log_prob([tree]).isfinite()


@given(data=st.data())
def test_scores_far_apart(kernels, data):
    """The best splits belong to trees that are not allowed: linear space would lose the others."""
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**32 - 1)))
    length, segments = data.draw(st.integers(4, 6)), data.draw(st.integers(2, 4))
    (mask,) = data.draw(leaf_masks([length], [segments], generator))
    scores = random_scores(generator, (math.comb(length + 1, 3), 2), 1000.0)
    allowed = frozenset(span for span, i in SPAN_INDEX.items() if i < len(mask) and mask[i])
    oracle = TreeOracle(scores, length, segments, allowed)
    crf = TreeCRF(scores[None], [length], [segments], kernels=kernels, allowed_leaves=mask[None])
    assert_close(crf.log_partition[0], oracle.log_partition, 1000.0)
    assert_close(crf.entropy[0], oracle.entropy, 1000.0)
    assert_close(crf.leaf_marginals()[0], oracle.leaf_marginals, 1000.0)
    assert_close(crf.log_prob(crf.argmax)[0], oracle.log_probs.max(), 1000.0)


@given(data=st.data())
def test_best_trees_of_every_number_of_leaves(kernels, data):
    """They are the argmaxes of distributions with these numbers of leaves."""
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**32 - 1)))
    lengths, segments = [6, 3, 1, 5], [4, 3, 1, 2]
    masks = pad_sequence(data.draw(leaf_masks(lengths, segments, generator)), batch_first=True)
    scores = random_scores(generator, (4, math.comb(7, 3), 2), 3.0)
    crf = TreeCRF(scores, lengths, segments, kernels=kernels, allowed_leaves=masks)
    rows = (crf.log_partitions > -math.inf).nonzero()
    found = crf.best_trees(rows[:, 0], rows[:, 1] + 1)
    for (sentence, leaves), tree in zip(rows.tolist(), found, strict=True):
        length = lengths[sentence]
        alone = TreeCRF(
            scores[[sentence], : math.comb(length + 1, 3)],
            [length],
            [leaves + 1],
            allowed_leaves=masks[[sentence], : math.comb(length + 1, 2)],
        )
        assert tree == alone.argmax[0]
    with refused("sentence 0: every way to cut its 1 tokens into 4 segments"):
        crf.best_trees(torch.tensor([2]), torch.tensor([4]))
