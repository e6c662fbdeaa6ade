"""Assertions shared by the tests: values, gradients, sample frequencies, errors."""

import re
from collections import Counter

import pytest
import torch

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def assert_close(actual, expected, scale=1.0, **tolerances):
    """float64 agreement; differences of large scores lose digits, hence the scale."""
    tolerances = {**CLOSE, **tolerances}
    tolerances["atol"] *= max(1.0, scale)
    torch.testing.assert_close(actual, expected, **tolerances)


def refused(*words):
    """Context: raises a ValueError whose message has every one of the words, in any case."""
    everything = "".join(f"(?=.*{re.escape(str(word))})" for word in words)
    return pytest.raises(ValueError, match=f"(?is)^{everything}.")


def weighted_gradients(values, inputs, **options):
    """Gradients of the sentences' values, each sentence with a weight of its own.

    0 for an input that no value depends on, as when every tree is one leaf.
    """
    values = torch.stack(values) if isinstance(values, list) else values
    weights = torch.arange(1, len(values) + 1, dtype=values.dtype)
    total = (values * weights).sum()
    return torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True, **options)


def assert_gradients_match(gradient, expected, impossible=None, scale=1.0):
    """Padded gradient [batch, longest, ...] against one unpadded gradient for each sentence.

    Padding, and rules that no outcome uses, get exactly 0.
    """
    for index, own in enumerate(expected):
        assert_close(gradient[index, : len(own)], own, scale)
        assert (gradient[index, len(own) :] == 0).all(), "padding has a gradient"
        if impossible is not None:
            assert (gradient[index, : len(own)][impossible[index]] == 0).all()


def assert_matches_oracle(batch, actual, inputs, expected, expected_inputs, oracles):
    """Values and gradients. inputs: padded tensors; expected_inputs: a list of sentences each."""
    assert_close(actual, torch.stack(expected).detach(), batch.scale)
    gradients = weighted_gradients(actual, inputs)
    flat = [tensor for sentences in expected_inputs for tensor in sentences]
    expected_gradients = iter(weighted_gradients(expected, flat))
    impossible = [oracle.impossible for oracle in oracles]
    for gradient, sentences in zip(gradients, expected_inputs, strict=True):
        own = [next(expected_gradients) for _ in sentences]
        assert_gradients_match(gradient, own, impossible, batch.scale)


def chi_square_p_value(draws, probabilities, least_expected=10.0):
    """Pearson's test that hashable draws follow {outcome: probability}; rare outcomes are pooled.

    A correct sampler fails `p_value > rate` with probability about `rate`.
    """
    observed = Counter(draws)
    assert set(observed) <= set(probabilities), "drawn, but impossible"
    total = len(draws)
    cells, rare_expected, rare_observed = [], 0.0, 0
    for outcome, probability in probabilities.items():
        expected = total * probability
        if expected >= least_expected:
            cells.append((expected, observed[outcome]))
        else:
            rare_expected, rare_observed = (
                rare_expected + expected,
                rare_observed + observed[outcome],
            )
    if rare_expected >= least_expected:
        cells.append((rare_expected, rare_observed))
    assert len(cells) > 1, "nothing to test"
    statistic = sum((seen - expected) ** 2 / expected for expected, seen in cells)
    half = torch.tensor([(len(cells) - 1) / 2, statistic / 2], dtype=torch.float64)
    return torch.special.gammaincc(half[0], half[1]).item()
