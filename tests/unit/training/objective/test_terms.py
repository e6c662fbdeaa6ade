"""Terms of an estimator."""

import torch
from torch import tensor

from btg_seq2seq.training.objective.terms import Terms


def test_means_are_over_the_counted_sentences_and_without_gradients():
    loss = tensor([1.0, 2.0, 6.0], requires_grad=True)
    terms = Terms(loss, tensor([2, 1, 3]), {"phrases": tensor([4.0, 0.0, 2.0])})
    means = terms.means(terms.segments > 1)
    assert {name: float(mean) for name, mean in means.items()} == {"cut_loss": 3.5, "phrases": 3}
    assert not any(mean.requires_grad for mean in means.values())
    assert torch.is_tensor(means["phrases"])
