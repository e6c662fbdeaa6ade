"""The robust estimator: unbiased weights, and losses that reach every part of the model."""

import pytest
import torch
from tiny_objectives import END, INPUT, TERMS, output_at, tiny_model
from torch import tensor

from btg_seq2seq.derivations.batch import DerivationBatch
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.derivations.proposals import moved_trees
from btg_seq2seq.grammar import Leaf, LeafCRF, Tree, TreeBatch
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.training import BTGObjective, ObjectiveSettings
from btg_seq2seq.training.objective import robust
from btg_seq2seq.training.objective.gold import GivenDerivations
from btg_seq2seq.training.objective.phases import Step


@pytest.mark.parametrize("samples", [2, 3])
@pytest.mark.parametrize("is_taught", [False, True])
@torch.no_grad()
def test_weights_estimate_the_sum_over_derivations(samples, is_taught):
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
    all_trees = list(map(Tree.parse, ("[0:1 1:3]", "<0:1 1:3>", "[0:2 2:3]", "<0:2 2:3>")))
    proposed = None
    if is_taught:  # by a teacher that draws uniformly, but knows nothing of every third sentence
        chosen = torch.randint(4, (many,)).tolist()
        trees = [all_trees[tree] if row % 3 else Leaf(0, 3) for row, tree in enumerate(chosen)]
        density = torch.full((many,), 0.25).log()
        given = GivenDerivations(trees, [[(0, 3)]] * many, density)
        proposed = robust.Proposed.of(given, segments)
        assert proposed.is_given.tolist() == [row % 3 > 0 for row in range(many)]
    draws, proposal = robust._draw_trees(parsers, samples, 0.3, noise, proposed)
    if is_taught:
        assert all(draws[-1][row] == trees[row] for row in range(many) if row % 3)
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
        for tree in all_trees
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


def test_nodes_are_turned_as_scheduled(monkeypatch):
    seen = []

    def spy(crf, turned, limit):
        seen.append(turned)
        return moved_trees(crf, turned, limit)

    monkeypatch.setattr(robust, "moved_trees", spy)
    for step in (0, 5, 10):
        output_at(tiny_model(), step, turned={0: 0.4, 10: 0.2})
    assert seen == pytest.approx([0.4, 0.3, 0.2])


def test_the_reverse_direction_is_weighted():
    terms = output_at(tiny_model(), step=1, reverse_weight={0: 0.0, 4: 2.0}).terms
    others = terms["phrases"] + terms["parsing"]
    torch.testing.assert_close(terms["cut_loss"], others + 0.5 * terms["reverse"])


def test_logged_terms():
    terms = output_at(tiny_model(), estimator="robust").terms
    assert terms.keys() == TERMS | {"reverse", "parsing", "effective_samples"}
    assert all(term.isfinite() and not term.requires_grad for term in terms.values())
    assert terms["log_posterior"] < 0 < terms["tree_entropy"]
    assert terms["reward_deviation"] > 0


def test_proposals_that_no_parser_allows_are_left_out():
    """A phrase over the limit, or more phrases than the model has: as if nothing was proposed."""
    model = tiny_model(max_phrase_length=2)
    model.objective = BTGObjective(ObjectiveSettings(samples=2))
    model.objective.step = 0
    density = tensor([-1.0], dtype=torch.double)
    loss = model(**INPUT, index=tensor([7])).loss
    for tree in ("[0:1 [1:2 2:3]]", "0:3"):
        leaves = [(i, i + 1) for i in range(Tree.parse(tree).segments)]
        given = {"trees": [tree], "segmentations": [leaves], "proposal_log_probs": density}
        torch.testing.assert_close(model(**INPUT, index=tensor([7]), **given).loss, loss)
    given = {"trees": ["<0:1 1:3>"], "segmentations": [[(0, 1), (1, 3)]]}
    proposed = model(**INPUT, index=tensor([7]), **given, proposal_log_probs=density).loss
    learned = model(**INPUT, index=tensor([7]), **given).loss
    assert len({float(value) for value in (loss, proposed, learned)}) == 3
