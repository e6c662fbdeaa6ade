"""Truncated geometric distribution over leaf counts (appendix A), and phrase length limits."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracle import effective_limit

from btg_seq2seq.grammar import phrase_length_limits, truncated_geometric

rates = st.floats(0.05, 0.95)
maxima = st.lists(st.integers(1, 9), min_size=1, max_size=4)


def printed_formula(rate, maximum, n):
    """p(n) as in the paper: the last count takes the rest of the mass."""
    return (1 - rate) ** (n - 1) * (1 if n == maximum else rate)


@given(rates, maxima)
def test_truncated_geometric(rate, maximum):
    log_probs = truncated_geometric(rate, torch.tensor(maximum))
    assert log_probs.shape == (len(maximum), max(maximum))
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones_like(log_probs[:, 0]))
    for row, most in zip(log_probs.tolist(), maximum, strict=True):
        expected = [math.log(printed_formula(rate, most, n)) for n in range(1, most + 1)]
        assert row[:most] == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert row[most:] == [-math.inf] * (max(maximum) - most)


@given(rates, st.lists(st.integers(2, 9), min_size=1, max_size=4))
def test_truncated_geometric_from_two(rate, maximum):
    log_probs = truncated_geometric(rate, torch.tensor(maximum), at_least=2)
    assert log_probs.shape == (len(maximum), max(maximum))
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones_like(log_probs[:, 0]))
    for row, most in zip(log_probs.tolist(), maximum, strict=True):
        masses = [printed_formula(rate, most, n) for n in range(2, most + 1)]
        expected = [math.log(mass / sum(masses)) for mass in masses]
        assert row[0] == -math.inf
        assert row[1:most] == pytest.approx(expected, rel=1e-5, abs=1e-5)
        assert row[most:] == [-math.inf] * (max(maximum) - most)


def test_one_segment_is_certain_when_it_is_the_only_choice():
    assert truncated_geometric(0.7, torch.tensor([1])).tolist() == [[0.0]]


@given(st.data(), st.one_of(st.none(), st.integers(1, 12)))
def test_phrase_length_limits(data, limit):
    lengths = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    segments = [data.draw(st.integers(1, length)) for length in lengths]
    actual = phrase_length_limits(torch.tensor(lengths), torch.tensor(segments), limit).tolist()
    for given_limit, length, count in zip(actual, lengths, segments, strict=True):
        # A limit beyond the sentence means the same as the sentence's length.
        assert min(given_limit, length) == min(effective_limit(length, count, limit), length)
        assert count * given_limit >= length, "no segmentation fits"


@pytest.mark.parametrize(
    ("length", "segments", "limit", "expected"),
    [
        (10, 3, None, 10),
        (10, 5, 2, 2),  # just enough
        (10, 4, 2, 4),  # 8 < 10: ceil(20 / 5)
        (10, 3, 3, 5),  # 9 < 10: ceil(20 / 4)
        (10, 2, 3, 7),  # 6 < 10: ceil(20 / 3)
        (10, 1, 3, 10),  # 3 < 10: ceil(20 / 2)
        (1, 1, 1, 1),
    ],
)
def test_phrase_length_limit_examples(length, segments, limit, expected):
    lengths, counts = torch.tensor([length]), torch.tensor([segments])
    assert phrase_length_limits(lengths, counts, limit).tolist() == [expected]
