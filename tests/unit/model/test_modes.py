"""Evaluation mode ends as it began."""

import pytest
import torch
from torch import nn

from btg_seq2seq.model.modes import evaluating


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_is_restored(training):
    model = nn.Dropout(0.5).train(training)
    with evaluating(model):
        assert not model.training
        assert not torch.is_grad_enabled()
    assert model.training == training
    assert torch.is_grad_enabled()


def test_the_mode_is_restored_after_an_error():
    model = nn.Dropout(0.5).train()
    with pytest.raises(ZeroDivisionError), evaluating(model):
        raise ZeroDivisionError
    assert model.training
    assert torch.is_grad_enabled()
