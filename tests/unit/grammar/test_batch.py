"""Batches of trees and of segmentations: tensors inside, plain objects outside."""

import pytest
import torch
from checks import refused
from hypothesis import given
from hypothesis import strategies as st
from strategies import public_trees

from btg_seq2seq.grammar import Leaf, Node, SegmentationBatch, Tree, TreeBatch

batches_of_trees = st.lists(public_trees(), min_size=1, max_size=4)


@given(batches_of_trees)
def test_trees_come_back(trees):
    batch = TreeBatch.from_trees(trees)
    assert len(batch) == len(trees)
    assert list(batch) == trees
    assert [batch[index] for index in range(len(trees))] == trees
    assert batch[-1] == trees[-1]
    assert trees[0] in batch
    with pytest.raises(IndexError):
        batch[len(trees)]


@given(batches_of_trees)
def test_tensors_agree_with_the_trees(trees):
    batch = TreeBatch.from_trees(trees)
    most = max(tree.segments for tree in trees)
    assert batch.splits.shape == (len(trees), most - 1, 3)
    assert batch.inverted.shape == batch.first_segments.shape == (len(trees), most - 1)
    assert batch.inverted.dtype == torch.bool
    assert batch.phrases.shape == (len(trees), most, 2)
    assert batch.segments.tolist() == [tree.segments for tree in trees]
    assert batch.lengths.tolist() == [tree.stop for tree in trees]
    for index, tree in enumerate(trees):
        own = slice(len(tree.nodes))
        splits = [[node.start, node.split, node.stop] for node in tree.nodes]
        assert batch.splits[index, own].tolist() == splits
        assert batch.inverted[index, own].tolist() == [node.inverted for node in tree.nodes]
        firsts = [node.first.segments for node in tree.nodes]
        assert batch.first_segments[index, own].tolist() == firsts
        padding = [[0, 0]] * (most - tree.segments)
        assert batch.phrases[index].tolist() == [*map(list, tree.phrases), *padding]


def test_mixed_sizes():
    trees = [Leaf(0, 3), Node(Leaf(0, 1), Leaf(1, 2), inverted=True)]
    batch = TreeBatch.from_trees(trees)
    assert batch.phrases.tolist() == [[[0, 3], [0, 0]], [[1, 2], [0, 1]]]
    assert [str(tree) for tree in batch] == ["0:3", "<0:1 1:2>"]


@st.composite
def segmentations(draw):
    cuts = sorted(draw(st.sets(st.integers(1, 9), min_size=1, max_size=6)))
    return list(zip([0, *cuts], cuts, strict=False))


@given(st.lists(segmentations(), min_size=1, max_size=4))
def test_segmentations_come_back(lists):
    batch = SegmentationBatch.from_lists(lists)
    assert len(batch) == len(lists)
    assert list(batch) == lists
    assert batch[-1] == lists[-1]
    with pytest.raises(IndexError):
        batch[len(lists)]
    assert batch.segments.tolist() == [len(phrases) for phrases in lists]
    assert batch.fenceposts.shape == (len(lists), max(map(len, lists)) + 1)
    for row, phrases in zip(batch.fenceposts.tolist(), lists, strict=True):
        assert row[: len(phrases) + 1] == [0, *(stop for _, stop in phrases)]


@pytest.mark.parametrize("broken", [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 1), (1, 1)]])
def test_a_segmentation_is_contiguous(broken):
    with refused():
        SegmentationBatch.from_lists([[(0, 1)], broken])


def test_trees_are_chosen_sentence_by_sentence():
    """Also where one batch has fewer nodes than the other."""
    deep = ["[0:1 <1:2 2:4>]", "[0:1 [1:2 2:4]]", "0:4"]
    shallow = ["<0:3 3:4>", "0:4", "[0:2 2:4]"]
    one, other = (TreeBatch.from_trees(map(Tree.parse, trees)) for trees in (deep, shallow))
    chosen = one.where(torch.tensor([True, False, True]), other)
    assert list(map(str, chosen)) == [deep[0], shallow[1], deep[2]]
    chosen = other.where(torch.tensor([True, False, True]), one)
    assert list(map(str, chosen)) == [shallow[0], deep[1], shallow[2]]
