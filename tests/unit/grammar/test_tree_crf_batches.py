"""A sentence's results do not depend on its neighbours, its padding, or the kernels."""

import math
import random

import pytest
import torch
from checks import assert_close
from hypothesis import given
from strategies import pad, tree_crf_batches

from btg_seq2seq.grammar import Tree, TreeCRF, spans

both_kernels = pytest.mark.parametrize("kernels", ["fast", "portable"])
TIGHT = {"rtol": 1e-11, "atol": 1e-11}
LARGER = {"max_length": 11, "max_segments": 6, "enumerable": False}


def differentiable(crf, other, values):
    return {
        "log_partition": crf.log_partition,
        "log_prob": crf.log_prob(crf.argmax),
        "entropy": crf.entropy,
        "kl": crf.kl(other),
        "expectation": crf.expectation(values),
    }


def constant(crf):
    return {
        "limits": crf.limits,
        "marginals": crf.marginals,
        "leaf_marginals": crf.leaf_marginals(),
        "log_partitions": crf.log_partitions.detach(),
        "log_inside": crf.log_inside,
        "root_log_probs": crf.root_log_probs,
        "rule_log_probs": crf.rule_log_probs,
    }


def gradients(results, inputs):
    """{quantity: gradients with respect to scores, the other CRF's scores, and values}."""
    options = {"retain_graph": True, "allow_unused": True, "materialize_grads": True}
    return {
        name: torch.autograd.grad(value.sum(), inputs, **options) for name, value in results.items()
    }


def assert_same(name, one, other, scale):
    if name in ("log_inside", "rule_log_probs"):
        # A cell that no tree can use may be pruned, in one and not in the other.
        kept = one.isfinite() & other.isfinite()
        one, other = one[kept], other[kept]
    assert_close(one, other, scale, **TIGHT)


@both_kernels
@given(batch=tree_crf_batches(forbidden=False, **LARGER))
def test_padded_batch_equals_singletons(kernels, batch):
    others, values = batch.random_values(batch.scale), batch.random_values()
    inputs = [batch.padded(), batch.padded(others), batch.padded(values)]
    crf, other = batch.crf(kernels, inputs[0]), batch.crf(kernels, inputs[1])
    together = differentiable(crf, other, inputs[2])
    together_gradients, together_constant = gradients(together, inputs), constant(crf)
    for index, length in enumerate(batch.lengths):
        own = [t[index : index + 1, : math.comb(length + 1, 3)] for t in inputs]
        own = [tensor.detach().clone().requires_grad_() for tensor in own]
        one, one_other = (batch.alone(index, kernels, scores) for scores in own[:2])
        assert crf.argmax[index] == one.argmax[0]
        alone = differentiable(one, one_other, own[2])
        alone_gradients = gradients(alone, own)
        for name, value in alone.items():
            assert_close(together[name][index], value[0], batch.scale, **TIGHT)
            pairs = zip(together_gradients[name], alone_gradients[name], strict=True)
            for padded_gradient, gradient in pairs:
                same = padded_gradient[index, : gradient.shape[1]]
                assert_close(same, gradient[0], batch.scale, **TIGHT)
                assert (padded_gradient[index, gradient.shape[1] :] == 0).all()
        for name, value in constant(one).items():
            # the part of the batch's tensor that belongs to this sentence
            corner = together_constant[name][index][tuple(map(slice, value[0].shape))]
            assert_same(name, corner, value[0], batch.scale)


@given(batch=tree_crf_batches(forbidden=False, **LARGER))
def test_fast_equals_portable(batch):
    others, values = batch.random_values(batch.scale), batch.random_values()
    results = []
    for kernels in ("fast", "portable", "auto"):
        inputs = [batch.padded(), batch.padded(others), batch.padded(values)]
        crf, other = batch.crf(kernels, inputs[0]), batch.crf(kernels, inputs[1])
        values_here = differentiable(crf, other, inputs[2])
        results.append((values_here, gradients(values_here, inputs), constant(crf)))
    for others_results in results[1:]:
        for ours, theirs in zip(results[0], others_results, strict=True):
            for name, value in ours.items():
                assert_same(name, value, theirs[name], batch.scale)


@both_kernels
def test_every_pair_of_leaf_counts(kernels):
    """A sentence of few leaves beside one of many: gradients are those of the sentence alone."""
    length, most = 8, 8
    generator = torch.Generator().manual_seed(0)
    shape = 1, math.comb(length + 1, 3), 2
    scores = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()

    def gradient(*segments):
        batch = scores.expand(len(segments), -1, -1).detach().requires_grad_()
        crf = TreeCRF(batch, [length] * len(segments), segments, kernels=kernels)
        total = (crf.log_partition + crf.entropy).sum()
        return torch.autograd.grad(total, batch)[0]

    alone = [gradient(count)[0] for count in range(1, most + 1)]
    for first, first_alone in enumerate(alone, start=1):
        for second, second_alone in enumerate(alone, start=1):
            together = gradient(first, second)
            assert_close(together, torch.stack([first_alone, second_alone]), **TIGHT)


@pytest.mark.parametrize(("limit", "share"), [(None, None), (4, None), (None, 0.3), (4, 0.5)])
def test_fast_equals_portable_on_a_large_mixed_batch(limit, share):
    source = random.Random(0)
    lengths = [source.randint(1, 24) for _ in range(20)]
    segments = [source.randint(1, min(8, length)) for length in lengths]
    generator = torch.Generator().manual_seed(0)
    scores = [torch.randn((math.comb(n + 1, 3), 2), generator=generator) for n in lengths]
    masks = None
    if share is not None:  # and short ones, so that there are trees
        start, stop = spans(max(lengths)).T
        masks = torch.rand(20, len(start), generator=generator) < share
        masks |= (
            stop - start
            <= torch.tensor([-(-n // m) for n, m in zip(lengths, segments, strict=True)])[:, None]
        )
    results = []
    for kernels in ("fast", "portable"):
        padded = pad([score.double() for score in scores]).requires_grad_()
        crf = TreeCRF(padded, lengths, segments, limit, kernels, masks)
        values = crf.log_partition + crf.entropy + crf.log_prob(crf.argmax)
        (gradient,) = torch.autograd.grad(values.sum(), padded)
        results.append([values, gradient, crf.marginals, crf.leaf_marginals(), crf.log_partitions])
    for fast, portable in zip(*results, strict=True):
        assert_close(fast, portable, **TIGHT)


@both_kernels
def test_lists_of_lengths_do_as_well_as_tensors(kernels):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 10, 2, generator=generator, dtype=torch.float64)
    lists = TreeCRF(scores, [4, 3], [3, 2], kernels=kernels)
    tensors = TreeCRF(scores, torch.tensor([4, 3]), torch.tensor([3, 2]), kernels=kernels)
    assert torch.equal(lists.log_partition, tensors.log_partition)


@both_kernels
def test_scores_are_not_changed_and_may_be_strided(kernels):
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 10, 2, generator=generator, dtype=torch.float64)
    strided = scores.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    before = strided.clone()
    crf = TreeCRF(strided, [4, 4], [3, 3], kernels=kernels)
    expected = TreeCRF(scores, [4, 4], [3, 3], kernels=kernels)
    assert_close(crf.log_partition, expected.log_partition)
    assert_close(crf.marginals, expected.marginals)
    assert torch.equal(strided, before)


@both_kernels
def test_one_word_sentences(kernels):
    """No split at all: one tree, of weight 2, and gradients of no elements."""
    scores = torch.zeros(2, 0, 2, dtype=torch.float64, requires_grad=True)
    crf = TreeCRF(scores, [1, 1], [1, 1], kernels=kernels)
    assert_close(crf.log_partition.tolist(), [math.log(2)] * 2)
    assert_close(crf.entropy.tolist(), [0.0, 0.0])
    assert_close(crf.kl(crf).tolist(), [0.0, 0.0])
    assert [str(tree) for tree in crf.argmax] == ["0:1", "0:1"]
    assert [str(tree) for tree in crf.sample()] == ["0:1", "0:1"]
    assert crf.leaf_marginals().tolist() == [[1.0], [1.0]]
    (gradient,) = torch.autograd.grad(crf.log_partition.sum() + crf.entropy.sum(), scores)
    assert gradient.shape == scores.shape


@pytest.mark.parametrize("kernels", ["fast", "portable"])
def test_a_first_call_without_gradients_does_not_take_them_from_a_second(kernels):
    scores = torch.randn(1, math.comb(6, 3), 2, requires_grad=True, dtype=torch.float64)
    tree = [Tree.parse("[0:2 <2:3 3:5>]")]
    expected = torch.autograd.grad(TreeCRF(scores, [5], [3], None, kernels).log_prob(tree), scores)
    crf = TreeCRF(scores, [5], [3], None, kernels)
    with torch.no_grad():
        assert not crf.log_prob(tree).requires_grad
        assert not crf.log_partitions.requires_grad
    torch.testing.assert_close(torch.autograd.grad(crf.log_prob(tree), scores), expected)
