"""q(leaves | tree): every quantity of LeafCRF and its gradient against enumeration."""

import math

import pytest
import torch
from checks import assert_close, assert_gradients_match, assert_matches_oracle
from hypothesis import given
from strategies import leaf_crf_batches

from btg_seq2seq.grammar import LeafCRF, SegmentationBatch, Tree, TreeBatch

both_kernels = pytest.mark.parametrize("kernels", ["fast", "portable"])
TIGHT = {"rtol": 1e-11, "atol": 1e-11}


@both_kernels
@given(batch=leaf_crf_batches())
def test_log_partition(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    actual = batch.crf(kernels, padded).log_partition
    expected = [oracle.log_partition for oracle in oracles]
    assert_matches_oracle(batch, actual, [padded], expected, [batch.scores], oracles)


@both_kernels
@given(batch=leaf_crf_batches())
def test_marginals(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    actual = batch.crf(kernels, padded).marginals
    assert actual.shape == padded.shape
    assert not actual.requires_grad
    expected = [oracle.marginals for oracle in oracles]
    assert_gradients_match(actual, expected, [oracle.impossible for oracle in oracles])


@both_kernels
@given(batch=leaf_crf_batches())
def test_log_prob(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    chosen = batch.choose(oracles)
    crf = batch.crf(kernels, padded)
    actual = crf.log_prob(chosen)
    expected = [oracle.log_prob(choice) for oracle, choice in zip(oracles, chosen, strict=True)]
    assert_matches_oracle(batch, actual, [padded], expected, [batch.scores], oracles)
    assert torch.equal(actual, crf.log_prob(SegmentationBatch.from_lists(chosen)))


@both_kernels
@given(batch=leaf_crf_batches(max_batch=1))
def test_probabilities_sum_to_one(kernels, batch):
    (oracle,) = batch.oracles()
    copies = len(oracle.outcomes)
    crf = LeafCRF(
        batch.scores[0].detach().expand(copies, -1),
        batch.lengths * copies,
        batch.public_trees * copies,
        max_phrase_length=batch.max_phrase_length,
        kernels=kernels,
    )
    assert_close(crf.log_prob(oracle.outcomes).exp().sum().item(), 1.0)


@both_kernels
@given(batch=leaf_crf_batches())
def test_entropy(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    actual = batch.crf(kernels, padded).entropy
    expected = [oracle.entropy for oracle in oracles]
    assert_matches_oracle(batch, actual, [padded], expected, [batch.scores], oracles)


@both_kernels
@given(batch=leaf_crf_batches())
def test_expectation(kernels, batch):
    padded, oracles, values = batch.padded(), batch.oracles(), batch.random_values()
    padded_values = batch.padded(values)
    actual = batch.crf(kernels, padded).expectation(padded_values)
    expected = [oracle.expectation(value) for oracle, value in zip(oracles, values, strict=True)]
    inputs, expected_inputs = [padded, padded_values], [batch.scores, values]
    assert_matches_oracle(batch, actual, inputs, expected, expected_inputs, oracles)


@both_kernels
@given(batch=leaf_crf_batches(scales=[0.0, 0.1, 1.0, 10.0, 60.0]))
def test_argmax(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    crf = batch.crf(kernels, padded)
    best = crf.argmax
    assert isinstance(best, SegmentationBatch)
    for segmentation, oracle in zip(best, oracles, strict=True):
        weight = oracle.log_weights[oracle.outcomes.index(segmentation)]
        assert_close(weight.detach(), oracle.log_weights.max().detach(), batch.scale)
    assert list(best) == list(batch.crf(kernels, padded.detach().clone()).argmax), "ties"
    expected = torch.stack([oracle.log_probs.max() for oracle in oracles]).detach()
    assert_close(crf.log_prob(best).detach(), expected, batch.scale)


@both_kernels
@given(batch=leaf_crf_batches())
def test_limits(kernels, batch):
    limits = batch.crf(kernels, batch.padded()).limits.tolist()
    expected = [min(pair) for pair in zip(batch.limits, batch.lengths, strict=True)]
    assert [min(pair) for pair in zip(limits, batch.lengths, strict=True)] == expected


def results_and_gradients(crf, scores, values):
    results = {
        "log_partition": crf.log_partition,
        "log_prob": crf.log_prob(crf.argmax),
        "entropy": crf.entropy,
        "expectation": crf.expectation(values),
    }
    options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
    gradients = {
        name: torch.autograd.grad(value.sum(), [scores, values], **options)
        for name, value in results.items()
    }
    return results, gradients


@both_kernels
@given(batch=leaf_crf_batches(max_length=9, max_segments=5))
def test_padded_batch_equals_singletons(kernels, batch):
    inputs = [batch.padded(), batch.padded(batch.random_values())]
    crf = batch.crf(kernels, inputs[0])
    together, together_gradients = results_and_gradients(crf, *inputs)
    for index, length in enumerate(batch.lengths):
        own = [t[index : index + 1, : math.comb(length + 1, 3)] for t in inputs]
        own = [tensor.detach().clone().requires_grad_() for tensor in own]
        limit = batch.max_phrase_length
        one = LeafCRF(own[0], [length], [batch.public_trees[index]], limit, kernels)
        assert crf.argmax[index] == one.argmax[0]
        assert_close(crf.marginals[index, : one.marginals.shape[1]], one.marginals[0], **TIGHT)
        alone, alone_gradients = results_and_gradients(one, *own)
        for name, value in alone.items():
            assert_close(together[name][index], value[0], batch.scale, **TIGHT)
            for whole, part in zip(together_gradients[name], alone_gradients[name], strict=True):
                assert_close(whole[index, : part.shape[1]], part[0], batch.scale, **TIGHT)
                assert (whole[index, part.shape[1] :] == 0).all()


@given(batch=leaf_crf_batches(max_length=9, max_segments=5))
def test_fast_equals_portable(batch):
    values = batch.random_values()
    results = []
    for kernels in ("fast", "portable", "auto"):
        inputs = [batch.padded(), batch.padded(values)]
        results.append(results_and_gradients(batch.crf(kernels, inputs[0]), *inputs))
    for others in results[1:]:
        for ours, theirs in zip(results[0], others, strict=True):
            for name, value in ours.items():
                assert_close(value, theirs[name], batch.scale, **TIGHT)


@both_kernels
def test_a_batch_of_trees_does_as_well_as_a_list(kernels):
    trees = [Tree.parse("<0:1 [1:2 2:3]>"), Tree.parse("[0:2 2:3]")]
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 20, generator=generator, dtype=torch.float64)
    from_list = LeafCRF(scores, [5, 4], trees, kernels=kernels)
    from_batch = LeafCRF(scores, torch.tensor([5, 4]), TreeBatch.from_trees(trees), kernels=kernels)
    assert torch.equal(from_list.log_partition, from_batch.log_partition)


@both_kernels
def test_topologies_with_the_same_counts_are_not_mixed(kernels):
    """Two nodes of two leaves each, at different places: Algorithm 3 as printed pools them."""
    tree = Tree.parse("[<0:1 1:2> <2:3 3:4>]")
    scores = torch.zeros(1, 35, dtype=torch.float64)
    crf = LeafCRF(scores, [6], [tree], kernels=kernels)
    # C(5, 3) segmentations, all equally probable
    assert_close(crf.log_partition.item(), math.log(10))
    assert_close(crf.entropy.item(), math.log(10))


@both_kernels
def test_segmentations_that_cannot_be(kernels):
    tree = Tree.parse("[0:1 1:2]")
    segmentations = [[(0, 3), (3, 4)], [(0, 2), (2, 4)]]
    scores = torch.zeros(2, 10, dtype=torch.float64)
    over_limit = LeafCRF(scores, [4, 4], [tree, tree], max_phrase_length=2, kernels=kernels)
    assert over_limit.log_prob(segmentations).tolist() == [-math.inf, 0.0]
    forbidden = scores.clone()
    forbidden[0, 7] = -math.inf  # 0:3:4 has packed index C(4, 3) + C(3, 2) + 0
    crf = LeafCRF(forbidden, [4, 4], [tree, tree], kernels=kernels)
    assert crf.log_prob(segmentations)[0] == -math.inf
    assert_close(crf.log_prob(segmentations)[1].item(), -math.log(3))


@both_kernels
def test_trees_of_one_leaf(kernels):
    scores = torch.zeros(2, 4, dtype=torch.float64, requires_grad=True)
    crf = LeafCRF(scores, [3, 1], [Tree.parse("0:2"), Tree.parse("0:5")], kernels=kernels)
    assert crf.log_partition.tolist() == [0.0, 0.0]
    assert crf.entropy.tolist() == [0.0, 0.0]
    assert list(crf.argmax) == list(crf.sample()) == [[(0, 3)], [(0, 1)]]
    assert (crf.marginals == 0).all()
    (gradient,) = torch.autograd.grad((crf.log_partition + crf.entropy).sum(), scores)
    assert (gradient == 0).all()
