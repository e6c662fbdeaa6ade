"""Dropout by 16 bits: the same distribution as torch's, from the same generator."""

import pytest
import torch
from torch import nn

from btg_seq2seq.training.dropout import CPUDropout, kept, use_cpu_dropout


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9])
def test_shares_and_means_are_those_of_dropout(share):
    torch.manual_seed(0)
    dropped = CPUDropout(share)(torch.ones(1000, 1001))
    deviation = (share * (1 - share) / dropped.numel()) ** 0.5
    assert abs(float((dropped == 0).double().mean()) - share) < 5 * deviation + 2**-17
    assert float(dropped.double().mean()) == pytest.approx(1, abs=5 * deviation / (1 - share))
    assert len(dropped.unique()) == 2


def test_every_16_bits_are_drawn_alike_and_independently():
    torch.manual_seed(1)
    quarters = kept(400_000, 2**14).view(-1, 4).double()
    assert (quarters.mean(0) - 0.75).abs().max() < 0.01
    assert (torch.corrcoef(quarters.T) - torch.eye(4)).abs().max() < 0.02
    assert len(kept(7, 2**15)) == 7


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_gradients_pass_where_values_pass(dtype):
    torch.manual_seed(2)
    activations = torch.randn(3, 5, 7, dtype=dtype, requires_grad=True)
    dropped = CPUDropout(0.5)(activations)
    assert dropped.dtype == dtype
    dropped.sum().backward()
    assert torch.equal(activations.grad, (dropped != 0).to(dtype) * 2)


def test_it_is_repeated_by_the_generator_and_off_in_evaluation():
    dropout, ones = CPUDropout(0.3), torch.ones(50)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        state = torch.get_rng_state()
        first = dropout(ones)
        torch.set_rng_state(state)
        assert torch.equal(dropout(ones), first)
        assert not torch.equal(dropout(ones), first)
    assert dropout.eval()(ones) is ones


def test_extreme_shares():
    ones = torch.ones(20)
    assert torch.equal(CPUDropout(0.0)(ones), ones)
    assert torch.equal(CPUDropout(1.0)(ones), 0 * ones)
    assert torch.equal(CPUDropout(1e-9)(ones), ones)


def test_all_dropout_of_a_model_is_exchanged_and_nothing_saved_changes():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.2), nn.Dropout1d(0.4)))
    names = list(model.state_dict())
    use_cpu_dropout(model)
    assert [type(module) for module in model[1]] == [CPUDropout, nn.Dropout1d]
    assert model[1][0].p == 0.2
    assert list(model.state_dict()) == names
