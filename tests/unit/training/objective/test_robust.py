"""The robust estimator and its proposals."""

import pytest
import torch
from torch import tensor

from btg_seq2seq.derivations.batch import DerivationBatch
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.derivations.proposals import moved_leaves, moved_trees
from btg_seq2seq.grammar import LeafCRF, Tree, TreeBatch, TreeCRF, splits
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training import BTGObjective, ObjectiveSettings
from btg_seq2seq.training.objective import robust
from btg_seq2seq.training.settings.objective import Step

END = 1
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


@pytest.mark.parametrize("samples", [2, 3])
@torch.no_grad()
def test_weights_estimate_the_sum_over_derivations(samples):
    """Importance sampling is unbiased: its mean is the sum over all trees and segmentations."""
    torch.manual_seed(0)
    config = default_config(40, hidden_size=16, layers=1, heads=2, dropout=0.0)
    model = BTGSeq2Seq.from_backbone(config, max_segments=2).double().eval()
    model.backbone.add_segment_ids(2, 3)
    for scorer in (model.prior, model.posterior, model.leaves):
        scorer.output.mul_(8)
    many = 2000
    inputs = [tensor([[10, 11, 12, END]]), torch.ones(1, 4, dtype=int), tensor([[20, 21, 22, END]])]
    pair = model.read(*(each.expand(many, -1) for each in inputs)).pair
    segments = torch.full((many,), 2)
    parsers, noise = Parsers.of(model, pair, segments), Noise.of(torch.arange(many), 0, 0)
    draws, proposal = robust._draw_trees(parsers, samples, 0.3, noise)
    several, trees = pair.repeat(samples), TreeBatch.interleaved(draws)
    leaves = LeafCRF(several.leaf_scores, several.target.lengths, trees)
    step = Step.at(ObjectiveSettings(samples=samples, summed_length=0), 0)
    _, log_sum = robust._draw_targets(model, pair, several, leaves, step, noise.repeat(samples))
    score = log_sum.view(many, samples) + robust._log_probs(parsers.prior, draws)
    estimates = (score - proposal).exp().mean(1)
    one = pair[torch.arange(1)]
    parsers = Parsers.of(model, one, segments[:1])
    exact = sum(
        float((given.log_prob + parsers.prior.log_prob([tree])).exp())
        for tree in map(Tree.parse, ("[0:1 1:3]", "<0:1 1:3>", "[0:2 2:3]", "<0:2 2:3>"))
        for middle in (1, 2)
        for given in [DerivationBatch.given(model, parsers, [tree], [[(0, middle), (middle, 3)]])]
    )
    error = float(estimates.std()) / many**0.5
    assert abs(float(estimates.mean()) - exact) < 4 * error
    assert error < 0.05 * exact


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_losses_reach_every_part_of_the_model(dtype):
    torch.manual_seed(0)
    config = default_config(40, hidden_size=16, layers=1, heads=2, dropout=0.0)
    model = BTGSeq2Seq.from_backbone(config, max_segments=3).to(dtype)
    model.backbone.add_segment_ids(2, 3)
    model.objective = BTGObjective(ObjectiveSettings(estimator="robust", samples=4))
    inputs = {
        "input_ids": tensor([[10, 11, 12, 13, END], [14, 15, END, 0, 0], [16, END, 0, 0, 0]]),
        "attention_mask": tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]]),
        "labels": tensor(
            [[20, 21, 22, 28, 29, END], [23, 24, 23, 24, END, -100], [25, 26, 27, 27, 27, END]]
        ),
    }
    output = model(**inputs)
    output.loss.backward()
    assert [name for name, p in model.named_parameters() if p.grad is None] == []
    assert all(p.grad.isfinite().all() for p in model.parameters())
    assert 1 <= output.terms["effective_samples"] <= 4
    for name in ("prior", "posterior", "leaves"):
        assert getattr(model, name).output.grad.abs().sum() > 0
