"""The paper's estimator: its gradients, averaged over all samples, are those of the bound."""

import itertools

import pytest
import torch
from tiny_objectives import INPUT, SEGMENTATIONS, TERMS, TREES, output_at, tiny_model

from btg_seq2seq.derivations.batch import DerivationBatch
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers
from btg_seq2seq.training import ObjectiveSettings
from btg_seq2seq.training.objective import paper
from btg_seq2seq.training.objective.phases import Step


def derivations(model, parsers):
    """Every derivation with two leaves, with its log-probability under the posterior."""
    for tree, segmentation in itertools.product(TREES, SEGMENTATIONS):
        given = DerivationBatch.given(model, parsers, [tree], [segmentation])
        log_prob = parsers.posterior.log_prob([tree]) + given.leaves.log_prob([segmentation])
        yield given, log_prob


def exact_bound(model, entropy_weight, kl_weight):
    """-ELBO at n = 2 by enumeration, without a single sample."""
    pair = model.read(**INPUT).pair
    parsers = Parsers.of(model, pair, torch.tensor([2]))
    bound = -kl_weight * parsers.posterior.kl(parsers.prior)
    for derivation, log_prob in derivations(model, parsers):
        tree = parsers.posterior.log_prob(derivation.trees).exp()
        bound = bound + log_prob.exp() * derivation.log_prob
        entropy = derivation.leaves.entropy / len(SEGMENTATIONS)
        bound = bound + entropy_weight * tree * entropy
    return -bound.sum()


def loss(model, pair, settings):
    noise = Noise.fresh(1, pair.states.device)
    return paper.PaperEstimator().terms(model, pair, Step.at(settings, 0), noise).loss


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    "settings",
    [
        ObjectiveSettings("paper", baseline="self-critical", samples=1),
        ObjectiveSettings("paper", baseline="leave-one-out", samples=2),
        ObjectiveSettings(
            "paper", baseline="self-critical", samples=1, entropy_weight=0.3, kl_weight=0.6
        ),
    ],
)
@pytest.mark.parametrize("phrase_encoding", ["alone", "sentence", "both"])
def test_gradients_are_unbiased(settings, phrase_encoding, monkeypatch):
    model = tiny_model(phrase_encoding=phrase_encoding)
    weights = settings.entropy_weight, settings.kl_weight
    expected = gradients(model, exact_bound(model, *weights))
    # Every way the samples could have come out, weighted by its probability.
    total = torch.zeros((), dtype=torch.float64)
    for choice in itertools.product(range(8), repeat=settings.samples):
        pair = model.read(**INPUT).pair
        parsers = Parsers.of(model, pair, torch.tensor([2]))
        every = list(derivations(model, parsers))
        drawn = iter([every[index][0] for index in choice])
        weight = sum(every[index][1] for index in choice).exp().detach()
        monkeypatch.setattr(DerivationBatch, "sample", lambda *_, drawn=drawn: next(drawn))
        monkeypatch.setattr(paper.Parsers, "of", lambda *_, parsers=parsers: parsers)
        total = total + (weight * loss(model, pair, settings)).sum()
        monkeypatch.undo()
    actual = gradients(model, total)
    assert expected.keys() == actual.keys()
    for name in expected:
        # T5's attention takes its softmax in float32, whatever the weights are.
        tolerance = 1e-6 if name.startswith("backbone") else 1e-10
        torch.testing.assert_close(actual[name], expected[name], rtol=tolerance, atol=tolerance)


def test_rewards_are_scaled():
    """A straight line: samples, and so everything else, stay the same."""
    model = tiny_model()
    losses = [
        output_at(model, estimator="paper", reward_scale=scale, flat_weight=0.0).loss
        for scale in (0.0, 0.5, 1.0)
    ]
    none, half, whole = (
        torch.autograd.grad(loss, model.posterior.output, retain_graph=True)[0] for loss in losses
    )
    torch.testing.assert_close(whole - half, half - none)
    assert (whole - none).abs().max() > 1e-6
    assert losses[0] == losses[2]  # rewards have a gradient, but are no part of the bound


def test_the_loss_is_the_bound():
    weights = {"kl_weight": 0.7, "entropy_weight": 0.4, "flat_weight": 0.0}
    terms = output_at(tiny_model(), estimator="paper", **weights).terms
    bound = terms["phrases"] + 0.7 * terms["divergence"] - 0.4 * terms["leaf_entropy"]
    torch.testing.assert_close(terms["cut_loss"], bound)


def test_logged_terms():
    terms = output_at(tiny_model(), estimator="paper").terms
    assert terms.keys() == TERMS
    assert all(term.isfinite() and not term.requires_grad for term in terms.values())
    assert terms["log_posterior"] < 0 < terms["tree_entropy"]
    assert terms["reward_deviation"] > 0
