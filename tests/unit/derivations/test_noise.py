"""Random numbers belong to a sentence, a step and a seed, whatever the batch."""

import pytest
import torch

from btg_seq2seq.derivations.noise import Noise

INDEX = torch.tensor([0, 7, 123456])


def test_numbers_do_not_depend_on_the_batch():
    together = Noise.of(INDEX, seed=3, step=5)
    for row in range(len(INDEX)):
        alone = Noise.of(INDEX[row : row + 1], seed=3, step=5)
        assert torch.equal(alone.uniforms(2, 4), together.uniforms(2, 4)[row : row + 1])
    rows = torch.tensor([2, 0])
    assert torch.equal(together[rows].uniforms(1, 3), together.uniforms(1, 3)[rows])


def test_more_numbers_begin_with_the_same():
    noise = Noise.of(INDEX, seed=0, step=0)
    assert torch.equal(noise.uniforms(0, 9)[:, :4], noise.uniforms(0, 4))


@pytest.mark.parametrize("other", [{"seed": 1, "step": 0}, {"seed": 0, "step": 1}])
def test_seeds_steps_and_draws_have_numbers_of_their_own(other):
    noise = Noise.of(INDEX, seed=0, step=0)
    assert not (noise.uniforms(0, 50) == Noise.of(INDEX, **other).uniforms(0, 50)).any()
    assert not (noise.uniforms(0, 50) == noise.uniforms(1, 50)).any()


def test_copies_of_a_sentence_differ():
    numbers = Noise.of(INDEX, seed=0, step=0).repeat(4).uniforms(0, 5)
    assert numbers.shape == (12, 5)
    assert len(numbers.unique()) == numbers.numel()


def test_numbers_are_uniform():
    numbers = Noise.of(torch.arange(2000), seed=1, step=2).uniforms(3, 10).flatten()
    assert ((numbers >= 0) & (numbers < 1)).all()
    counts = torch.histc(numbers, 10, 0, 1)
    expected = len(numbers) / 10
    chi_squared = ((counts - expected).square() / expected).sum()
    assert chi_squared < 27.9  # probability 0.001 at 9 degrees of freedom
    pairs = torch.corrcoef(Noise.of(torch.arange(2000), 1, 2).uniforms(3, 2).T)
    assert pairs[0, 1].abs() < 0.08


def test_fresh_numbers_follow_torchs_generator():
    def drawn():
        torch.manual_seed(4)
        return Noise.fresh(3, torch.device("cpu")).uniforms(0, 2)

    assert torch.equal(drawn(), drawn())
