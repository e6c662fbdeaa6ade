"""A batch shared out over threads gives what one thread gives, to the last bit."""

import pytest
import torch

from btg_seq2seq.grammar import LeafCRF, TreeCRF, splits


@pytest.fixture
def restore_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def results(threads):
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(12, 41, (37,), generator=generator)
    lengths[0] = 40
    segments = torch.randint(1, 7, (37,), generator=generator)
    shape = (37, len(splits(40)), 2)
    scores = torch.randn(shape, generator=generator, requires_grad=True)
    others = torch.randn(shape, generator=generator, requires_grad=True)
    crf, other = TreeCRF(scores, lengths, segments), TreeCRF(others, lengths, segments)
    divergence = crf.kl(other)
    trees = crf.sample(torch.Generator().manual_seed(1))
    leaves = LeafCRF(scores[..., 0], lengths, trees)
    loss = divergence.sum() + leaves.entropy.sum() + crf.log_partition.sum()
    gradients = torch.autograd.grad(loss, (scores, others))
    best = [str(tree) for tree in crf.argmax]
    return [divergence, leaves.entropy, *gradients], [str(tree) for tree in trees], best


def test_threads_do_not_change_results(restore_threads):
    (one, one_sample, one_best), (three, three_sample, three_best) = results(1), results(3)
    assert (one_sample, one_best) == (three_sample, three_best)
    for expected, actual in zip(one, three, strict=True):
        assert torch.equal(expected, actual)
