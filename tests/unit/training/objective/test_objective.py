"""The objective: from readings to losses, whatever the estimator."""

import pytest
import torch
from tiny_objectives import END, INPUT, tiny_model
from tiny_units import with_words

from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.training import BTGObjective, ObjectiveSettings


def test_gradients_of_the_reversed_pass():
    def learns(estimator, chosen=None):
        return BTGObjective(ObjectiveSettings(estimator, reversed_gradient=chosen)).learns_reversed

    assert learns("paper")
    assert not learns("robust")
    assert not learns("paper", False)
    assert learns("robust", True)


@pytest.mark.parametrize("estimator", ["paper", "robust"])
def test_a_model_that_has_lost_its_meaning_has_no_finite_loss(estimator):
    """The trainer reports the lines; no parser may raise an error before."""
    model = tiny_model()
    with torch.no_grad():
        model.backbone.model.shared.weight[INPUT["input_ids"][0, 0]] = torch.nan
    model.objective = BTGObjective(ObjectiveSettings(estimator=estimator))
    assert model(**INPUT).loss.isnan()


def test_without_steps_every_pass_draws_again():
    model, index = tiny_model(), torch.tensor([0])
    model.objective = BTGObjective(ObjectiveSettings(estimator="paper", flat_weight=0.0))
    drawn = {float(model(**INPUT, index=index).terms["phrases"]) for _ in range(20)}
    assert len(drawn) > 1
    model.objective.step = 3
    drawn = {float(model(**INPUT, index=index).terms["phrases"]) for _ in range(5)}
    assert len(drawn) == 1


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


@pytest.mark.parametrize("continuing", [(), (12, 21)])
def test_what_is_drawn_for_a_sentence_does_not_depend_on_its_batch(continuing):
    """Two sentences together give the terms that each gives alone: steps can be shared out."""
    model = with_words(tiny_model(), continuing)
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


def test_flat_steps_run_no_parser(monkeypatch):
    model = tiny_model()
    model.objective = BTGObjective(ObjectiveSettings(flat_steps=5))
    monkeypatch.setattr(model, "_parse", None)
    output = model(**INPUT)
    assert output.terms.keys() == {"flat", "parsed"}
    assert output.loss == output.terms["flat"]


def test_one_phrase_per_sentence_needs_no_parser(monkeypatch):
    model = tiny_model()
    model.objective = BTGObjective()
    model.config.max_segments = 1
    monkeypatch.setattr(model, "_parse", None)
    assert model(**INPUT).terms.keys() == {"flat", "parsed"}


def test_every_model_has_an_objective_of_its_own():
    models = [tiny_model() for _ in range(2)]
    assert all(isinstance(model.objective, BTGObjective) for model in models)
    assert models[0].objective is not models[1].objective
    chosen = BTGObjective(ObjectiveSettings("paper"))
    assert BTGSeq2Seq(models[0].config, objective=chosen).objective is chosen
