"""Proposals near a parser: likelier the nearer they are, and proper distributions."""

import torch
from torch import tensor

from btg_seq2seq.derivations.proposals import moved_leaves, moved_trees
from btg_seq2seq.grammar import LeafCRF, Tree, TreeBatch, TreeCRF, splits

TREE = Tree.parse("[0:3 <3:5 5:9>]")


def sure(tree, length):
    """A tree CRF that is certain of one tree, beside a shorter sentence."""
    scores = torch.zeros(2, len(splits(length)), 2)
    place = {tuple(split): index for index, split in enumerate(splits(length).tolist())}
    for node in tree.nodes:
        scores[0, place[node.start, node.split, node.stop], int(node.inverted)] = 50.0
    return TreeCRF(scores, [length, 4], [tree.segments, 2])


def test_moved_trees_are_likelier_the_nearer_they_are():
    moved = moved_trees(sure(TREE, 9), turned=0.3)
    other = Tree.parse("[0:2 2:4]")

    def log_prob(text):
        return moved.log_prob([Tree.parse(text), other])[0]

    itself, near = log_prob(str(TREE)), log_prob("[0:3 <3:6 6:9>]")
    farther, elsewhere = log_prob("[0:3 <3:7 7:9>]"), log_prob("<0:7 [7:8 8:9]>")
    assert itself > near > farther > elsewhere
    assert itself > log_prob("[0:2 <2:5 5:9>]") > elsewhere  # a boundary that two nodes share
    # Every sentence meets every orientation now and then.
    for turned in ("[0:3 [3:5 5:9]]", "<0:3 [3:5 5:9]>"):
        assert itself > log_prob(turned)
        assert log_prob(turned).exp() > 0.1 * itself.exp()
    assert itself.exp() > 0.005
    turned = Tree.parse("[0:3 [3:5 5:9]]")
    seldom = moved_trees(sure(TREE, 9), turned=0.0).log_prob([turned, other])[0]
    assert seldom < log_prob(str(turned)) - 3


def test_moved_leaves_are_likelier_the_nearer_they_are():
    trees = TreeBatch.from_trees([TREE])
    scores = torch.zeros(1, len(splits(9)))
    place = {tuple(split): index for index, split in enumerate(splits(9).tolist())}
    scores[0, place[0, 4, 9]] = scores[0, place[4, 6, 9]] = 50.0
    moved = moved_leaves(LeafCRF(scores, [9], trees))
    itself, near, far = (
        moved.log_prob([[(0, 4), (4, middle), (middle, 9)]])[0] for middle in (6, 7, 8)
    )
    assert itself > near > far


def test_proposals_are_distributions_without_gradients():
    scores = torch.randn(2, len(splits(5)), 2, requires_grad=True)
    crf = TreeCRF(scores, [5, 3], [2, 3], max_phrase_length=4)
    moved = moved_trees(crf, turned=0.3)
    assert not moved.split_scores.requires_grad
    every = [Tree.parse(f"{a}0:{j} {j}:5{b}") for j in range(1, 5) for a, b in ("[]", "<>")]
    only = Tree.parse("[0:1 [1:2 2:3]]")
    total = sum(moved.log_prob([tree, only])[0].exp() for tree in every)
    torch.testing.assert_close(total, tensor(1.0))
