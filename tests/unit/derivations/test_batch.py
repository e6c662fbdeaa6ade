"""Lengths of phrases."""

import pytest
import torch

from btg_seq2seq.derivations.batch import length_shares


def test_lengths_of_phrases_are_counted():
    phrases = torch.tensor([[[0, 1], [1, 4], [4, 13]], [[0, 2], [2, 2], [2, 2]]])
    shares = length_shares(phrases)
    assert shares["phrases_from_1"].tolist() == [pytest.approx(1 / 3), 0]
    assert shares["phrases_from_2"].tolist() == [pytest.approx(1 / 3), 1]
    assert shares["phrases_from_4"].tolist() == [0, 0]
    assert shares["phrases_from_8"].tolist() == [pytest.approx(1 / 3), 0]
