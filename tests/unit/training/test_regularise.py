"""Regularisation reaches every pass of training, and nothing else."""

from dataclasses import replace

import pytest
import torch
from tiny_objectives import GIVEN, INPUT, tiny_model

from btg_seq2seq.training import BTGObjective, ObjectiveSettings
from btg_seq2seq.training.regularise import WordDropout, regularise
from btg_seq2seq.training.settings.config import ModelConfig, OptimisationConfig, TrainConfig

SPECIAL = (0, 1, 2, 3)


def regularised(smoothing=0.0, **settings):
    model = tiny_model()
    config = TrainConfig("run", model=ModelConfig(**settings))
    config.optimisation = replace(config.optimisation, label_smoothing=smoothing)
    regularise(model, config, SPECIAL)
    return model


@pytest.mark.parametrize("kind", ["attention_dropout", "activation_dropout", "word_dropout"])
def test_every_kind_of_dropout_acts_in_training_alone(kind):
    model = regularised(**{kind: 0.5})

    def is_random():
        return not torch.equal(*(model.read(**INPUT).flat_log_prob for _ in "ab"))

    assert not is_random()
    model.train()
    assert is_random()


def test_whole_tokens_are_dropped_but_no_special_ones():
    tokens = torch.arange(40).repeat(50, 1)
    embedded = torch.ones(50, 40, 3)
    module = torch.nn.Embedding(40, 3)
    torch.manual_seed(0)
    dropped = WordDropout(0.25, SPECIAL)(module.train(), (tokens,), embedded)
    assert torch.equal(dropped.amin(-1), dropped.amax(-1))
    assert (dropped[:, :4] == 1).all()
    assert 0.2 < float((dropped[:, 4:] == 0).double().mean()) < 0.3
    assert WordDropout(0.25, SPECIAL)(module.eval(), (tokens,), embedded) is embedded


def test_a_model_whose_words_are_all_dropped_learns_and_stays_finite():
    model = regularised(word_dropout=1.0).train()
    loss = -model.read(**INPUT).flat_log_prob.sum()
    loss.backward()
    gradient = model.backbone.model.shared.weight.grad
    assert gradient.isfinite().all()
    assert gradient[20].abs().sum() > 0  # as a label


@pytest.mark.parametrize("estimator", ["robust", "paper", "gold"])
@pytest.mark.parametrize("uniform_steps", [0, 9])
def test_smoothing_changes_gradients_and_no_term(estimator, uniform_steps):
    """Losses, rewards and weights of every estimator are those without it."""
    outputs, gradients = [], []
    for smoothing in (0.0, 0.2):
        model = regularised(smoothing=smoothing).train()
        settings = ObjectiveSettings(estimator, uniform_steps=uniform_steps, flat_weight=0.0)
        model.objective = BTGObjective(settings)
        model.objective.step = 0
        given = GIVEN if estimator == "gold" else {}
        outputs.append(model(**INPUT, index=torch.tensor([7]), **given))
        outputs[-1].loss.backward()
        gradients.append(dict(model.named_parameters()))
    plain, smoothed = outputs
    assert torch.equal(plain.loss, smoothed.loss)
    assert plain.terms == smoothed.terms
    embeddings = "backbone.model.shared.weight"
    assert not torch.equal(*(each[embeddings].grad for each in gradients))
    for name, weight in gradients[0].items():
        if weight.grad is not None and name.startswith(("prior.", "posterior.", "leaves.")):
            torch.testing.assert_close(weight.grad, gradients[1][name].grad)


def test_optimisation_alone_does_not_change_dropout():
    model = tiny_model()
    before = [len(module._forward_hooks) for module in model.backbone.modules()]
    regularise(model, TrainConfig("run", optimisation=OptimisationConfig(label_smoothing=0.1)), ())
    assert model.backbone.label_smoothing == 0.1
    assert [len(module._forward_hooks) for module in model.backbone.modules()] == before


def test_encoder_and_decoder_do_not_see_dropped_words():
    model = regularised(word_dropout=1.0).train()
    backbone, mask = model.backbone, INPUT["attention_mask"]
    states = backbone.encode(INPUT["input_ids"], mask)
    other = INPUT["input_ids"].clone()
    other[0, :3] = torch.tensor([15, 16, 17])
    assert torch.equal(states, backbone.encode(other, mask))
    decoded = [
        backbone.decode_labels(labels, states, mask)
        for labels in (INPUT["labels"], other)  # their first three tokens are inputs
    ]
    assert torch.equal(*decoded)
