"""LeafCRF: finite differences, single precision, scores far apart, and sample frequencies.

Each test of frequencies would reject a correct sampler once in a million seeds; seeds are fixed.
"""

import math
import random

import pytest
import torch
from checks import assert_close, chi_square_p_value
from hypothesis import given
from oracle import LeafOracle, effective_limit, forest
from strategies import leaf_crf_batches, random_scores, random_tree, to_public

from btg_seq2seq.grammar import LeafCRF, SegmentationBatch, Tree

both_kernels = pytest.mark.parametrize("kernels", ["fast", "portable"])
QUANTITIES = ["log_partition", "log_prob", "entropy", "expectation"]
every_quantity = pytest.mark.parametrize("quantity", QUANTITIES)
FALSE_ALARM_RATE = 1e-6
COPIES, CALLS = 500, 8

LENGTHS = [5, 4, 3, 6]
TREES = [
    Tree.parse(text) for text in ("<0:1 [1:2 2:3]>", "[0:2 2:3]", "0:4", "[<0:1 1:2> <2:3 3:4>]")
]


def quantity_function(quantity, kernels, lengths, trees, limit=None):
    """(scores, values [batch, splits]) -> [batch]"""

    def function(scores, values):
        crf = LeafCRF(scores, lengths, trees, limit, kernels)
        if quantity == "log_prob":
            best = LeafCRF(values.detach().double(), lengths, trees, limit, kernels).argmax
            return crf.log_prob(best)
        return crf.expectation(values) if quantity == "expectation" else getattr(crf, quantity)

    return function


def random_inputs(lengths, scale=1.0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    shape = len(lengths), math.comb(max(lengths) + 1, 3)
    return [random_scores(generator, shape, scale).to(dtype).requires_grad_() for _ in range(2)]


def values_and_gradients(function, inputs):
    values = function(*inputs)
    options = {"allow_unused": True, "materialize_grads": True}
    return values, torch.autograd.grad(values.sum(), inputs, **options)


@both_kernels
@every_quantity
def test_gradcheck(kernels, quantity):
    inputs = random_inputs(LENGTHS)
    inputs[1].requires_grad_(quantity == "expectation")
    function = quantity_function(quantity, kernels, LENGTHS, TREES, 3)
    assert torch.autograd.gradcheck(function, inputs)


@every_quantity
def test_gradgradcheck(quantity):
    inputs = random_inputs(LENGTHS[:2])
    inputs[1].requires_grad_(quantity == "expectation")
    function = quantity_function(quantity, "portable", LENGTHS[:2], TREES[:2])
    assert torch.autograd.gradgradcheck(function, inputs)


@every_quantity
def test_the_fast_path_refuses_second_derivatives(quantity):
    function = quantity_function(quantity, "fast", LENGTHS, TREES)
    scores, values = random_inputs(LENGTHS)
    (gradient,) = torch.autograd.grad(function(scores, values).sum(), scores, create_graph=True)
    with pytest.raises(RuntimeError):
        torch.autograd.grad(gradient.square().sum(), scores)


def large_trees(segments):
    source = random.Random(0)
    return [random_tree(source, 0, 20, count) for count in segments]


# The reasoning is that of the tree CRF's test: log Z is about 20 here, eight levels of roundings
# of 6e-8 of it, and a margin of ten; what weighs marginals multiplies that by about 20.
@both_kernels
@every_quantity
def test_float32_against_float64(kernels, quantity):
    lengths, segments, limit = [64, 50], [8, 6], 16
    single = random_inputs(lengths, dtype=torch.float32)
    double = [tensor.detach().double().requires_grad_() for tensor in single]
    function = quantity_function(quantity, kernels, lengths, large_trees(segments), limit)
    values, gradients = values_and_gradients(function, single)
    expected, expected_gradients = values_and_gradients(function, double)
    weighed = quantity in ("entropy", "expectation")
    tolerance = 1e-6 if kernels == "fast" else 2e-3 if weighed else 1e-4
    assert values.dtype == gradients[0].dtype == torch.float32
    torch.testing.assert_close(values.double(), expected, rtol=tolerance, atol=tolerance)
    for gradient, exact in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(gradient.double(), exact, rtol=tolerance, atol=tolerance)


@every_quantity
@pytest.mark.parametrize("limit", [None, 6])
def test_scores_of_a_hundred_and_more(quantity, limit):
    lengths, segments = [32, 24, 29], [8, 8, 5]
    results = []
    for kernels in ("fast", "portable"):
        trees = large_trees(segments)
        function = quantity_function(quantity, kernels, lengths, trees, limit)
        results.append(values_and_gradients(function, random_inputs(lengths, scale=60.0)))
    (fast, fast_gradients), (portable, portable_gradients) = results
    assert fast.isfinite().all()
    assert_close(fast, portable, scale=100.0)
    for one, other in zip(fast_gradients, portable_gradients, strict=True):
        assert one.isfinite().all()
        assert_close(one, other, scale=100.0)


@both_kernels
@pytest.mark.parametrize(
    ("length", "segments", "limit", "scale", "forbidden"),
    [(4, 2, None, 1.0, 0.0), (7, 4, None, 0.0, 0.0), (7, 4, 3, 1.0, 0.0), (7, 3, None, 1.0, 0.2)],
)
def test_frequencies(kernels, length, segments, limit, scale, forbidden):
    generator = torch.Generator().manual_seed(length * 10 + segments)
    scores = random_scores(generator, (math.comb(length + 1, 3),), scale, forbidden)
    tree = forest(0, 5, segments, 5).trees[-1]
    oracle = LeafOracle(scores, length, tree, effective_limit(length, segments, limit))
    trees = [to_public(tree)] * COPIES
    crf = LeafCRF(scores.expand(COPIES, -1), [length] * COPIES, trees, limit, kernels)
    draws = [tuple(phrases) for _ in range(CALLS) for phrases in crf.sample(generator)]
    outcomes = [tuple(outcome) for outcome in oracle.outcomes]
    probabilities = dict(zip(outcomes, oracle.probs.tolist(), strict=True))
    assert chi_square_p_value(draws, probabilities) > FALSE_ALARM_RATE


@both_kernels
@given(batch=leaf_crf_batches())
def test_samples_are_possible_and_repeatable(kernels, batch):
    crf = batch.crf(kernels, batch.padded())
    draws = [crf.sample(torch.Generator().manual_seed(7)) for _ in range(2)]
    assert isinstance(draws[0], SegmentationBatch)
    assert list(draws[0]) == list(draws[1])
    assert crf.log_prob(draws[0]).isfinite().all()
    for segmentation, oracle in zip(draws[0], batch.oracles(), strict=True):
        assert segmentation in oracle.outcomes
