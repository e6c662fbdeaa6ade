"""Evaluation mode: no dropout, no gradients, and the mode from before afterwards."""

import pytest
import torch
from torch import nn

from btg_seq2seq.modes import evaluating


@pytest.mark.parametrize("training", [False, True])
def test_the_mode_is_restored(training):
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).train(training)
    with evaluating(model):
        assert not any(module.training for module in model.modules())
        assert not model(torch.ones(1, 2)).requires_grad
    assert all(module.training == training for module in model.modules())
    assert model(torch.ones(1, 2)).requires_grad


def test_the_mode_is_restored_after_an_error():
    model = nn.Dropout(0.5).train()
    with pytest.raises(KeyError), evaluating(model):
        raise KeyError
    assert model.training
    assert torch.is_grad_enabled()
