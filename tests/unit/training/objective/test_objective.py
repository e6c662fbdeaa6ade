"""The objective: its gradients, averaged over all that could be drawn, are those of the bound."""

import itertools

import pytest
import torch

from btg_seq2seq.derivations.batch import DerivationBatch, length_shares
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.derivations.parsers import Parsers, draw_segments
from btg_seq2seq.derivations.proposals import moved_trees
from btg_seq2seq.grammar import Leaf, Node, TreeBatch
from btg_seq2seq.model.families import default_config
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.training import BTGObjective, ObjectiveSettings
from btg_seq2seq.training.objective import objective, robust
from btg_seq2seq.training.settings.objective import Step, scheduled

END = 1
INPUT = {
    "input_ids": torch.tensor([[10, 11, 12, END]]),
    "attention_mask": torch.ones(1, 4, dtype=torch.long),
    "labels": torch.tensor([[20, 21, 22, END]]),
}
TREES = [
    Node(Leaf(0, split), Leaf(split, 3), inverted) for split in (1, 2) for inverted in (False, True)
]
SEGMENTATIONS = [[(0, 1), (1, 3)], [(0, 2), (2, 3)]]


def tiny_model(**settings):
    torch.manual_seed(0)
    config = default_config(30, hidden_size=16, layers=1, heads=2, dropout=0.0)
    model = BTGSeq2Seq.from_backbone(config, max_segments=2, **settings).double().eval()
    model.backbone.add_segment_ids(2, 3)
    with torch.no_grad():  # away from uniform trees
        for scorer in (model.prior, model.posterior, model.leaves):
            scorer.output.mul_(20)
    return model


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


def terms(model, pair, settings):
    return objective.paper_terms(
        model, pair, Step.at(settings, 0), Noise.fresh(1, pair.states.device)
    )


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
@pytest.mark.parametrize("phrase_encoding", ["alone", "sentence"])
def test_the_papers_estimator_is_unbiased(settings, phrase_encoding, monkeypatch):
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
        monkeypatch.setattr(objective.Parsers, "of", lambda *_, parsers=parsers: parsers)
        total = total + (weight * terms(model, pair, settings)["loss"]).sum()
        monkeypatch.undo()
    actual = gradients(model, total)
    assert expected.keys() == actual.keys()
    for name in expected:
        # T5's attention takes its softmax in float32, whatever the weights are.
        tolerance = 1e-6 if name.startswith("backbone") else 1e-10
        torch.testing.assert_close(actual[name], expected[name], rtol=tolerance, atol=tolerance)


def objective_at(model, step=0, **settings):
    model.objective = BTGObjective(ObjectiveSettings(**settings))
    model.objective.step = step
    return model(**INPUT, index=torch.tensor([7]))


def test_rewards_are_scaled():
    """A straight line: what is drawn, and so all the rest, stays the same."""
    model = tiny_model()
    losses = [
        objective_at(model, estimator="paper", reward_scale=scale, flat_weight=0.0).loss
        for scale in (0.0, 0.5, 1.0)
    ]
    none, half, whole = (
        torch.autograd.grad(loss, model.posterior.output, retain_graph=True)[0] for loss in losses
    )
    torch.testing.assert_close(whole - half, half - none)
    assert (whole - none).abs().max() > 1e-6
    assert losses[0] == losses[2]  # rewards have a gradient, but are no part of the bound


def test_the_papers_loss_is_the_bound():
    weights = {"kl_weight": 0.7, "entropy_weight": 0.4, "flat_weight": 0.0}
    terms = objective_at(tiny_model(), estimator="paper", **weights).terms
    bound = terms["phrases"] + 0.7 * terms["divergence"] - 0.4 * terms["leaf_entropy"]
    torch.testing.assert_close(terms["loss"], bound)


@pytest.mark.parametrize("uniform_steps", [0, 10])
def test_the_reverse_direction_is_weighed(uniform_steps):
    settings = {"reverse_weight": {0: 0.0, 4: 2.0}, "uniform_steps": uniform_steps}
    terms = objective_at(tiny_model(), step=1, **settings).terms
    others = terms["phrases"] + terms.get("parsing", 0)
    torch.testing.assert_close(terms["loss"], others + 0.5 * terms["reverse"])


def test_who_learns_from_the_reversed_pass():
    def learns(estimator, chosen=None):
        return BTGObjective(ObjectiveSettings(estimator, reversed_gradient=chosen)).learns_reversed

    assert learns("paper")
    assert not learns("robust")
    assert not learns("paper", False)
    assert learns("robust", True)


def test_nodes_are_turned_as_scheduled(monkeypatch):
    seen = []

    def spy(crf, turned, limit):
        seen.append(turned)
        return moved_trees(crf, turned, limit)

    monkeypatch.setattr(robust, "moved_trees", spy)
    for step in (0, 5, 10):
        objective_at(tiny_model(), step, turned={0: 0.4, 10: 0.2})
    assert seen == pytest.approx([0.4, 0.3, 0.2])


DIAGNOSTICS = {"flat", "parsed", "loss", "phrases", "divergence", "tree_entropy"}
DIAGNOSTICS |= {"leaf_entropy", "log_posterior", "reward_deviation"}
DIAGNOSTICS |= {f"phrases_from_{length}" for length in (1, 2, 4, 8)}


@pytest.mark.parametrize(
    ("estimator", "more"),
    [("paper", set()), ("robust", {"reverse", "parsing", "effective_samples"})],
)
def test_what_is_told_of_a_step(estimator, more):
    terms = objective_at(tiny_model(), estimator=estimator).terms
    assert terms.keys() == DIAGNOSTICS | more
    assert all(term.isfinite() for term in terms.values())
    assert terms["log_posterior"] < 0 < terms["tree_entropy"]
    assert terms["reward_deviation"] > 0


@pytest.mark.parametrize("estimator", ["paper", "robust"])
def test_a_model_that_has_lost_its_meaning_has_no_finite_loss(estimator):
    """It is the trainer's to say which lines did it; no parser may complain before."""
    model = tiny_model()
    with torch.no_grad():
        model.backbone.model.shared.weight[INPUT["input_ids"][0, 0]] = torch.nan
    model.objective = BTGObjective(ObjectiveSettings(estimator=estimator))
    assert model(**INPUT).loss.isnan()


def test_without_steps_every_pass_draws_anew():
    model, index = tiny_model(), torch.tensor([0])
    model.objective = BTGObjective(ObjectiveSettings(estimator="paper", flat_weight=0.0))
    drawn = {float(model(**INPUT, index=index).terms["phrases"]) for _ in range(20)}
    assert len(drawn) > 1
    model.objective.step = 3
    drawn = {float(model(**INPUT, index=index).terms["phrases"]) for _ in range(5)}
    assert len(drawn) == 1


def test_rewards_carry_no_gradient_into_the_seq2seq_model():
    """What the sampled score reaches of the backbone, it reaches through the parsers' features."""
    model = tiny_model()
    model.objective = BTGObjective(ObjectiveSettings(estimator="paper", flat_weight=0.0))
    torch.manual_seed(1)
    output = model(**INPUT)
    assert output.loss.isfinite()
    assert {"phrases", "divergence", "leaf_entropy", "flat"} <= output.terms.keys()
    assert all(not term.requires_grad for term in output.terms.values())


def test_gold_derivations_and_flat_weight():
    model = tiny_model()
    for weight in (0.0, 0.3, 1.0):
        settings = ObjectiveSettings(estimator="gold", flat_weight=weight)
        model.objective = BTGObjective(settings)
        output = model(**INPUT, trees=[TREES[1]], segmentations=[SEGMENTATIONS[0]])
        reading = model.read(**INPUT)
        flat = -reading.flat_log_prob[0]
        parsers = Parsers.of(model, reading.pair, torch.tensor([2]))
        gold = DerivationBatch.given(model, parsers, [TREES[1]], [SEGMENTATIONS[0]])
        parts = (
            gold.log_prob
            + parsers.prior.log_prob([TREES[1]])
            + parsers.posterior.log_prob([TREES[1]])
            + gold.leaves.log_prob([SEGMENTATIONS[0]])
        )
        expected = (weight * flat - (1 - weight) * parts[0]) / 4
        torch.testing.assert_close(output.loss, expected)


def test_a_sentence_that_cannot_be_cut_trains_flat():
    model = tiny_model()
    model.objective = BTGObjective(ObjectiveSettings(flat_weight=0.25))
    single = {**INPUT, "labels": torch.tensor([[20, END]])}
    output = model(**single)
    torch.testing.assert_close(output.loss, -model.read(**single).flat_log_prob[0] / 2)
    assert output.terms.keys() == {"flat", "parsed"}
    assert output.terms["parsed"] == 0
    # Beside another, the terms are those of the other.
    both = {
        "input_ids": INPUT["input_ids"].repeat(2, 1),
        "attention_mask": INPUT["attention_mask"].repeat(2, 1),
        "labels": torch.tensor([[20, END, IGNORED], [20, 21, END]]),
    }
    torch.manual_seed(0)
    output = model(**both)
    assert output.terms["parsed"] == 0.5
    assert sum(output.terms[f"phrases_from_{length}"] for length in (1, 2, 4, 8)) == 1


def test_segment_counts_are_drawn_for_each_sentence():
    torch.manual_seed(0)
    maximum = torch.tensor([1, 2, 3, 5] * 500)
    drawn = draw_segments(maximum, 0.5, torch.rand(len(maximum))).view(500, 4)
    assert drawn[:, 0].eq(1).all()
    assert drawn[:, 1].eq(2).all()
    assert set(drawn[:, 3].tolist()) == {2, 3, 4, 5}
    assert len({tuple(row) for row in drawn.tolist()}) > 3


def test_what_is_drawn_for_a_sentence_does_not_depend_on_its_batch():
    """Two sentences together give the terms that each gives alone: steps can be shared out."""
    model = tiny_model()
    both = {
        "input_ids": torch.tensor([[10, 11, 12, END], [13, 14, END, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]),
        "labels": torch.tensor([[20, 21, 22, END], [23, 24, END, -100]]),
        "index": torch.tensor([7, 3]),
    }
    lengths = (4, 3)
    for estimator in ("robust", "paper"):
        for uniform_steps in (0, 10):
            settings = ObjectiveSettings(estimator=estimator, uniform_steps=uniform_steps)
            model.objective = BTGObjective(settings, seed=5)
            model.objective.step = 2
            together = model(**both).loss
            apart = 0.0
            for row, length in enumerate(lengths):
                single = {
                    name: value[row : row + 1, :length] if value.dim() > 1 else value[row : row + 1]
                    for name, value in both.items()
                }
                apart = apart + model(**single, num_items_in_batch=7).loss
            torch.testing.assert_close(apart, together, rtol=1e-6, atol=1e-6)


def test_noise_is_uniform_and_each_number_its_own():
    noise = Noise.of(torch.arange(1000), seed=1, step=2)
    numbers = torch.cat([noise.uniforms(draw, 4) for draw in range(3)], 1)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert len(numbers.unique()) == numbers.numel()
    assert abs(numbers.mean() - 0.5) < 0.01
    assert abs(torch.corrcoef(numbers.T).fill_diagonal_(0)).max() < 0.12
    other = Noise.of(torch.arange(1000), seed=1, step=3).uniforms(0, 4)
    assert (other != noise.uniforms(0, 4)).all()
    assert torch.equal(noise.repeat(3)[torch.tensor([4])].keys, noise.repeat(3).keys[4:5])


def test_schedules_are_straight_lines_between_steps():
    schedule = {10: 1.0, 20: 0.5}
    assert [scheduled(schedule, step) for step in (0, 10, 15, 20, 99)] == [1, 1, 0.75, 0.5, 0.5]
    step = Step.at(ObjectiveSettings(flat_weight=schedule, flat_steps=12, uniform_steps=5), 15)
    assert step.flat_weight == 0.75
    assert step.is_uniform
    assert Step.at(ObjectiveSettings(flat_steps=3), 2).flat_weight == 1


def test_lengths_of_phrases_are_counted():
    phrases = torch.tensor([[[0, 1], [1, 4], [4, 13]], [[0, 2], [2, 2], [2, 2]]])
    shares = length_shares(phrases)
    assert shares["phrases_from_1"].tolist() == [pytest.approx(1 / 3), 0]
    assert shares["phrases_from_2"].tolist() == [pytest.approx(1 / 3), 1]
    assert shares["phrases_from_4"].tolist() == [0, 0]
    assert shares["phrases_from_8"].tolist() == [pytest.approx(1 / 3), 0]


def test_given_derivations_are_learned_from_whatever_the_estimator():
    model = tiny_model()
    model.objective = BTGObjective(ObjectiveSettings(estimator="robust"))
    output = model(**INPUT, trees=[TREES[1]], segmentations=[SEGMENTATIONS[0]])
    assert {"prior", "reverse"} <= output.terms.keys()
    model.objective = BTGObjective(ObjectiveSettings(estimator="paper"))
    output = model(**INPUT, trees=[TREES[1]], segmentations=[SEGMENTATIONS[0]])
    assert "prior" in output.terms
    assert "reverse" not in output.terms


def test_flat_steps_run_no_parser(monkeypatch):
    model = tiny_model()
    model.objective = BTGObjective(ObjectiveSettings(flat_steps=5))
    monkeypatch.setattr(model, "_parse", None)
    output = model(**INPUT)
    assert output.terms.keys() == {"flat", "parsed"}
    assert output.loss == output.terms["flat"]


def test_one_phrase_a_sentence_needs_no_parser(monkeypatch):
    model = tiny_model()
    model.objective = BTGObjective()
    model.config.max_segments = 1
    monkeypatch.setattr(model, "_parse", None)
    assert model(**INPUT).terms.keys() == {"flat", "parsed"}


def test_given_derivations_are_learned_from_the_start():
    steps = {"flat_steps": 2, "uniform_steps": 3}
    assert ObjectiveSettings("robust", **steps).untaught_steps == 5
    assert ObjectiveSettings("gold", **steps).untaught_steps == 2


def test_settings_are_checked():
    with pytest.raises(ValueError, match="flat_weight"):
        ObjectiveSettings(flat_weight=1.5)
    with pytest.raises(ValueError, match="leave-one-out"):
        ObjectiveSettings(estimator="paper", baseline="leave-one-out", samples=1)
    with pytest.raises(ValueError, match=r"objective\.turned must lie between 0 and 1, not 2"):
        ObjectiveSettings(turned={0: 0.3, 10: 2})
    with pytest.raises(ValueError, match="2 for robust"):
        ObjectiveSettings(estimator="robust", samples=1)


def test_the_package_gives_the_model_its_objective():
    assert isinstance(tiny_model().objective, BTGObjective)
    assert TreeBatch.from_trees(TREES).segments.eq(2).all()
