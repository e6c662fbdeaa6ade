"""The moving average of weights: its values, its use, its file."""

import pytest
import torch
from transformers import TrainerControl, TrainerState

from btg_seq2seq.errors import UserError
from btg_seq2seq.training.loop.weight_average import WEIGHTS_FILE, WeightAverage


def tied_model():
    torch.manual_seed(0)
    model = torch.nn.ModuleDict({"in": torch.nn.Linear(3, 3), "out": torch.nn.Linear(3, 3)})
    model["out"].weight = model["in"].weight
    return model


def update(average, model, step, shift):
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(shift)
    state = TrainerState(global_step=step)
    average.on_optimizer_step(None, state, TrainerControl())


def test_the_average_of_weights_by_hand():
    model = tied_model()
    average = WeightAverage(model, 0.5)
    expected = model["in"].bias.detach().clone()
    for step, shift in enumerate([1.0, -3.0, 0.25]):
        update(average, model, step, shift)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * model["in"].bias.detach()
    last = model["in"].bias.detach().clone()
    with average.in_use():
        torch.testing.assert_close(model["in"].bias.detach(), expected)
        assert model["out"].weight is model["in"].weight
    assert torch.equal(model["in"].bias, last)
    assert len(average.averages) == 3  # tied weights once


def test_the_weights_come_back_after_an_error():
    model = tied_model()
    average = WeightAverage(model, 0.5)
    update(average, model, 0, 1.0)
    last = model["in"].weight.detach().clone()
    with pytest.raises(RuntimeError), average.in_use():
        raise RuntimeError
    assert torch.equal(model["in"].weight, last)


def test_both_are_there_again_after_saving(tmp_path):
    model = tied_model()
    average = WeightAverage(model, 0.5)
    update(average, model, 4, 1.0)
    average.save(tmp_path)
    with average.in_use():
        averages = {name: weight.clone() for name, weight in model.state_dict().items()}

    other = tied_model()
    other.load_state_dict(averages)  # as the model of a checkpoint is
    loaded = WeightAverage(other, 0.5)
    loaded.load(tmp_path)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, other.state_dict()[name])
    for one, another in zip(average.averages, loaded.averages, strict=True):
        assert torch.equal(one, another)


def test_weights_of_another_model_are_refused(tmp_path):
    WeightAverage(torch.nn.Linear(2, 2), 0.5).save(tmp_path)
    with pytest.raises(UserError, match=WEIGHTS_FILE):
        WeightAverage(tied_model(), 0.5).load(tmp_path)
