"""Derivatives by finite differences, single precision, and scores far apart."""

import math

import pytest
import torch
from checks import assert_close
from strategies import random_scores

from btg_seq2seq.grammar import TreeCRF

LENGTHS, SEGMENTS, LIMIT = [4, 3, 5], [3, 2, 3], 3
QUANTITIES = ["log_partition", "log_partitions", "log_prob", "entropy", "kl", "expectation"]
both_kernels = pytest.mark.parametrize("kernels", ["fast", "portable"])
every_quantity = pytest.mark.parametrize("quantity", QUANTITIES)


def quantity_function(quantity, kernels, lengths, segments, limit, masks=None):
    """(scores, other [batch, splits, 2]) -> the quantity; `other` are p's scores, or values."""
    sizes = lengths, segments, limit, kernels, masks

    def function(scores, other):
        crf = TreeCRF(scores, *sizes)
        if quantity == "log_prob":
            return crf.log_prob(TreeCRF(other.detach(), *sizes).argmax)
        if quantity == "kl":
            return crf.kl(TreeCRF(other, *sizes))
        if quantity == "expectation":
            return crf.expectation(other)
        if quantity == "log_partitions":
            return crf.log_partitions[crf.log_partitions > -math.inf]
        return getattr(crf, quantity)

    return function


def random_inputs(lengths, scale=1.0, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    shape = len(lengths), math.comb(max(lengths) + 1, 3), 2
    return [random_scores(generator, shape, scale).to(dtype).requires_grad_() for _ in range(2)]


def values_and_gradients(function, inputs):
    values = function(*inputs)
    options = {"allow_unused": True, "materialize_grads": True}
    return values, torch.autograd.grad(values.sum(), inputs, **options)


@both_kernels
@every_quantity
@pytest.mark.parametrize("is_masked", [False, True])
def test_gradcheck(kernels, quantity, is_masked):
    masks = torch.ones(3, 15, dtype=torch.bool)
    masks[:, [2, 4]] = False  # 1:2 and 1:3
    masks = masks if is_masked else None
    function = quantity_function(quantity, kernels, LENGTHS, SEGMENTS, LIMIT, masks)
    inputs = random_inputs(LENGTHS)
    if quantity in ("log_partition", "log_partitions", "log_prob", "entropy"):
        inputs[1].requires_grad_(False)
    assert torch.autograd.gradcheck(function, inputs)


@every_quantity
def test_gradgradcheck(quantity):
    function = quantity_function(quantity, "portable", [4, 3], [3, 2], None)
    inputs = random_inputs([4, 3])
    if quantity in ("log_partition", "log_partitions", "log_prob", "entropy"):
        inputs[1].requires_grad_(False)
    assert torch.autograd.gradgradcheck(function, inputs)


@every_quantity
def test_the_fast_path_refuses_second_derivatives(quantity):
    """Rather than leave them out in silence."""
    function = quantity_function(quantity, "fast", LENGTHS, SEGMENTS, LIMIT)
    scores, other = random_inputs(LENGTHS)
    (gradient,) = torch.autograd.grad(function(scores, other).sum(), scores, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(gradient.square().sum(), scores)


# float32 has 24 bits, 6e-8. Here log Z is about 40, so one rounding of a chart entry costs
# 2e-6; entries are the sum of at most eight levels of such roundings, growing like their square
# root: 1e-5, with a margin of ten 1e-4. Marginals are exponentials of differences of entries,
# so their *relative* error is the entries' absolute one; entropies, KLs and their gradients
# weigh marginals with numbers up to log Z = 40. The fast path computes in float64 and rounds once.
FLOAT32_TOLERANCE = {
    "fast": {"value": 1e-6, "gradient": 1e-6, "weighed": 1e-6},
    "portable": {"value": 1e-4, "gradient": 1e-4, "weighed": 4e-3},
}


@both_kernels
@every_quantity
def test_float32_against_float64(kernels, quantity):
    lengths, segments, limit = [64, 50], [8, 6], 16
    single = random_inputs(lengths, dtype=torch.float32)
    double = [tensor.detach().double().requires_grad_() for tensor in single]
    function = quantity_function(quantity, kernels, lengths, segments, limit)
    if quantity == "log_prob":  # the same trees for both
        trees = TreeCRF(double[1].detach(), lengths, segments, limit).argmax

        def function(scores, _):
            return TreeCRF(scores, lengths, segments, limit, kernels).log_prob(trees)

    values, gradients = values_and_gradients(function, single)
    expected, expected_gradients = values_and_gradients(function, double)
    tolerance = FLOAT32_TOLERANCE[kernels]
    weighed = quantity in ("entropy", "kl", "expectation")
    value = tolerance["weighed" if weighed else "value"]
    slope = tolerance["weighed" if weighed else "gradient"]
    assert values.dtype == gradients[0].dtype == torch.float32
    torch.testing.assert_close(values.double(), expected, rtol=value, atol=value)
    for gradient, exact in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient.double(), exact, rtol=slope, atol=slope)


@every_quantity
@pytest.mark.parametrize("limit", [None, 6])
def test_scores_of_a_hundred_and_more(quantity, limit):
    """Sigma 60: weights of trees differ by e^500; fast and portable still agree to 1e-9."""
    lengths, segments = [32, 24, 29], [8, 8, 5]
    results = []
    for kernels in ("fast", "portable"):
        function = quantity_function(quantity, kernels, lengths, segments, limit)
        results.append(values_and_gradients(function, random_inputs(lengths, scale=60.0)))
    (fast, fast_gradients), (portable, portable_gradients) = results
    assert fast.isfinite().all()
    # Values are differences of sums of scores of some hundreds each.
    assert_close(fast, portable, scale=100.0)
    for one, other in zip(fast_gradients, portable_gradients, strict=True):
        assert one.isfinite().all()
        assert_close(one, other, scale=100.0)


@both_kernels
def test_scores_far_from_zero(kernels):
    """Adding c to every score adds c (n - 1) to log Z and changes nothing else."""
    for shift in (-3000.0, 3000.0):
        plain, moved = (
            TreeCRF(random_inputs(LENGTHS)[0].detach() + c, LENGTHS, SEGMENTS, LIMIT, kernels)
            for c in (0.0, shift)
        )
        shifts = shift * (torch.tensor(SEGMENTS) - 1)
        assert_close(moved.log_partition, plain.log_partition + shifts)
        assert_close(moved.marginals, plain.marginals, scale=10.0)
        assert_close(moved.entropy, plain.entropy, scale=10.0)
        assert list(moved.argmax) == list(plain.argmax)
