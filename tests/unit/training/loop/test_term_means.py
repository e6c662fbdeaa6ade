"""Means of terms over batches of different sizes."""

import pytest
import torch

from btg_seq2seq.text.batches import IGNORED
from btg_seq2seq.training.loop.term_means import TermMeans


def labels(*lengths):
    rows = [[1] * length + [IGNORED] * (max(lengths) - length) for length in lengths]
    return torch.tensor(rows)


def test_flat_is_a_mean_over_tokens_and_others_over_sentences():
    means = TermMeans()
    means.add({"flat": torch.tensor(2.0), "phrases": torch.tensor(3.0)}, labels(4, 2))
    means.add({"flat": torch.tensor(4.0)}, labels(2))  # too long for the grammar
    means.add({"flat": torch.tensor(1.0), "phrases": torch.tensor(6.0)}, labels(2))
    taken = means.take()
    assert taken["flat"] == pytest.approx((6 * 2 + 2 * 4 + 2 * 1) / 10)
    assert taken["phrases"] == pytest.approx((2 * 3 + 6) / 3)
    assert means.take() == {}
