"""Random numbers by sentence."""

import torch

from btg_seq2seq.derivations.noise import Noise


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
