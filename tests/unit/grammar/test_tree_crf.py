"""p(tree | n): every quantity of TreeCRF and its gradient against enumeration (Algorithms 1, 6)."""

import math

import pytest
import torch
from checks import assert_close, assert_gradients_match, assert_matches_oracle, weighted_gradients
from hypothesis import assume, given
from oracle import bracketing, forest, may_be_leaf, phrases
from strategies import random_scores, to_public, tree_crf_batches

from btg_seq2seq.grammar import Tree, TreeBatch, TreeCRF

pytestmark = pytest.mark.parametrize("kernels", ["fast", "portable"])


@given(batch=tree_crf_batches())
def test_log_partition(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    actual = batch.crf(kernels, padded).log_partition
    expected = [oracle.log_partition for oracle in oracles]
    assert_matches_oracle(batch, actual, [padded], expected, [batch.scores], oracles)


@given(batch=tree_crf_batches())
def test_log_partitions(kernels, batch):
    padded = batch.padded()
    actual = batch.crf(kernels, padded).log_partitions  # [batch, most segments]
    assert actual.shape == (len(batch), max(batch.segments))
    expected, impossible = [], []
    for index, segments in enumerate(batch.segments):
        oracles = [batch.oracle(index, segments=count + 1) for count in range(segments)]
        possible = [oracle for oracle in oracles if oracle.outcomes]
        values = torch.full((max(batch.segments),), -math.inf, dtype=torch.float64)
        for count, oracle in enumerate(oracles):
            values[count] = oracle.log_partition if oracle.outcomes else -math.inf
        assert_close(actual[index], values.detach(), batch.scale)
        expected.append(torch.stack([oracle.log_partition for oracle in possible]).logsumexp(0))
        impossible.append(torch.stack([oracle.impossible for oracle in possible]).all(0))
    # Mixed over counts, as a model that sums over n would: impossible counts pass no gradient.
    (gradient,) = weighted_gradients(actual.logsumexp(-1), padded)
    own = weighted_gradients(expected, batch.scores)
    assert_gradients_match(gradient, own, impossible, batch.scale)


@given(batch=tree_crf_batches())
def test_marginals(kernels, batch):
    padded = batch.padded()
    actual = batch.crf(kernels, padded).marginals
    assert actual.shape == padded.shape
    assert not actual.requires_grad
    oracles = batch.oracles()
    expected = [oracle.marginals for oracle in oracles]
    assert_gradients_match(actual, expected, [oracle.impossible for oracle in oracles])


@given(batch=tree_crf_batches())
def test_leaf_marginals(kernels, batch):
    actual = batch.crf(kernels, batch.padded()).leaf_marginals()
    assert actual.shape == (len(batch), math.comb(max(batch.lengths) + 1, 2))
    assert_gradients_match(actual, [oracle.leaf_marginals for oracle in batch.oracles()])


@given(batch=tree_crf_batches())
def test_leaf_marginals_mixed_over_counts(kernels, batch):
    weights = torch.rand(
        len(batch), max(batch.segments), generator=batch.generator, dtype=torch.float64
    )
    expected = []
    for index, segments in enumerate(batch.segments):
        oracles = [batch.oracle(index, segments=count + 1) for count in range(segments)]
        for count in range(weights.shape[1]):  # impossible counts have no weight
            weights[index, count] *= count < segments and bool(oracles[count].outcomes)
        weights[index] /= weights[index].sum()
        parts = [
            weight * oracle.leaf_marginals
            for weight, oracle in zip(weights[index], oracles, strict=False)
            if weight > 0
        ]
        expected.append(torch.stack(parts).sum(0))
    actual = batch.crf(kernels, batch.padded()).leaf_marginals(weights)
    assert_gradients_match(actual, expected)


@given(batch=tree_crf_batches())
def test_log_prob(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    chosen = batch.choose(oracles)
    trees = [to_public(tree) for tree in chosen]
    crf = batch.crf(kernels, padded)
    actual = crf.log_prob(trees)
    expected = [oracle.log_prob(tree) for oracle, tree in zip(oracles, chosen, strict=True)]
    assert_matches_oracle(batch, actual, [padded], expected, [batch.scores], oracles)
    assert torch.equal(actual, crf.log_prob(TreeBatch.from_trees(trees)))


@given(batch=tree_crf_batches(max_batch=1))
def test_probabilities_sum_to_one(kernels, batch):
    (oracle,) = batch.oracles()
    trees = [to_public(tree) for tree in oracle.outcomes]
    copies = len(trees)
    crf = batch.alone(0, kernels, batch.scores[0].detach().expand(copies, -1, -1), copies)
    assert_close(crf.log_prob(trees).exp().sum().item(), 1.0)


@given(batch=tree_crf_batches())
def test_entropy(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    actual = batch.crf(kernels, padded).entropy
    expected = [oracle.entropy for oracle in oracles]
    assert_matches_oracle(batch, actual, [padded], expected, [batch.scores], oracles)


@given(batch=tree_crf_batches())
def test_kl(kernels, batch):
    # p forbids some of what q forbids
    others = []
    for scores in batch.scores:
        other = random_scores(batch.generator, scores.shape, batch.scale)
        kept = torch.rand(scores.shape, generator=batch.generator) < 0.5
        others.append(other.where(kept | scores.isfinite(), -math.inf).detach().requires_grad_())
    ours, theirs = batch.oracles(), batch.oracles(others)
    padded, padded_others = batch.padded(), batch.padded(others)
    actual = batch.crf(kernels, padded).kl(batch.crf(kernels, padded_others))
    expected = [q.kl(p) for q, p in zip(ours, theirs, strict=True)]
    inputs = [padded, padded_others]
    assert_close(actual, torch.stack(expected).detach(), batch.scale)
    gradients = weighted_gradients(actual, inputs)
    for gradient, scores, oracles in zip(
        gradients, [batch.scores, others], [ours, theirs], strict=True
    ):
        own = weighted_gradients(expected, scores, retain_graph=True)
        masks = [oracle.impossible for oracle in oracles]
        assert_gradients_match(gradient, own, masks, batch.scale)


@given(batch=tree_crf_batches())
def test_kl_from_itself_is_zero(kernels, batch):
    padded = batch.padded()
    actual = batch.crf(kernels, padded).kl(batch.crf(kernels, padded.detach().clone()))
    assert_close(actual, torch.zeros_like(actual), batch.scale)
    (gradient,) = torch.autograd.grad(actual.sum(), padded)
    assert_close(gradient, torch.zeros_like(gradient), batch.scale)


@given(batch=tree_crf_batches(scales=[0.1, 1.0], forbidden=False))
def test_kl_is_infinite_where_q_uses_what_p_forbids(kernels, batch):
    """In one sentence only; the others stay finite, and so do their gradients."""
    assume(batch.segments[0] > 1)
    forbidden = batch.oracles()[0].marginals.argmax()
    others = [scores.detach().clone() for scores in batch.scores]
    others[0].view(-1)[forbidden] = -math.inf
    theirs = batch.oracles(others)
    assume(theirs[0].outcomes)
    padded = batch.padded()
    actual = batch.crf(kernels, padded).kl(batch.crf(kernels, batch.padded(others)))
    assert actual[0] == math.inf
    assert actual[1:].isfinite().all()
    if len(batch) > 1:
        (gradient,) = torch.autograd.grad(actual[1:].sum(), padded)
        assert gradient[1:].isfinite().all()


@given(batch=tree_crf_batches())
def test_expectation(kernels, batch):
    padded, oracles, values = batch.padded(), batch.oracles(), batch.random_values()
    padded_values = batch.padded(values)
    actual = batch.crf(kernels, padded).expectation(padded_values)
    expected = [oracle.expectation(value) for oracle, value in zip(oracles, values, strict=True)]
    inputs, expected_inputs = [padded, padded_values], [batch.scores, values]
    assert_matches_oracle(batch, actual, inputs, expected, expected_inputs, oracles)


@given(batch=tree_crf_batches(scales=[0.0, 0.1, 1.0, 10.0, 60.0]))
def test_argmax(kernels, batch):
    padded, oracles = batch.padded(), batch.oracles()
    crf = batch.crf(kernels, padded)
    best = crf.argmax
    assert isinstance(best, TreeBatch)
    for tree, oracle in zip(best, oracles, strict=True):
        texts = [bracketing(outcome) for outcome in oracle.outcomes]
        weight = oracle.log_weights[texts.index(str(tree))]
        assert_close(weight.detach(), oracle.log_weights.max().detach(), batch.scale)
    assert list(best) == list(batch.crf(kernels, padded.detach().clone()).argmax), "ties"
    expected = torch.stack([oracle.log_probs.max() for oracle in oracles]).detach()
    assert_close(crf.log_prob(best).detach(), expected, batch.scale)


@given(batch=tree_crf_batches())
def test_limits(kernels, batch):
    limits = batch.crf(kernels, batch.padded()).limits.tolist()
    # A limit beyond the sentence means the same as the sentence's length.
    expected = [min(pair) for pair in zip(batch.limits, batch.lengths, strict=True)]
    if batch.masks is not None:
        expected = [max(stop - start for start, stop in leaves) for leaves in batch.leaves]
    assert [min(pair) for pair in zip(limits, batch.lengths, strict=True)] == expected


def test_trees_that_cannot_be(kernels):
    """-inf, in a batch where the neighbour's tree is fine and keeps a finite gradient."""
    trees = [Tree.parse("[0:3 3:4]"), Tree.parse("[0:2 2:4]")]
    scores = torch.zeros(2, 10, 2, dtype=torch.float64, requires_grad=True)
    over_limit = TreeCRF(scores, [4, 4], [2, 2], max_phrase_length=2, kernels=kernels)
    assert over_limit.log_prob(trees)[0] == -math.inf
    assert_close(over_limit.log_prob(trees)[1].exp().item(), 1 / 2)
    (gradient,) = torch.autograd.grad(over_limit.log_prob(trees)[1], scores)
    assert gradient.isfinite().all()
    # 0:3:4 has packed index C(4, 3) + C(3, 2) + 0
    forbidden = scores.detach().clone()
    forbidden[0, 7, 0] = -math.inf
    crf = TreeCRF(forbidden, [4, 4], [2, 2], kernels=kernels)
    assert crf.log_prob(trees)[0] == -math.inf
    assert_close(crf.log_prob(trees)[1].exp().item(), 1 / 6)


@given(batch=tree_crf_batches(forbidden=False))
def test_a_tree_has_a_probability_if_its_leaves_are_allowed(kernels, batch):
    crf = batch.crf(kernels, batch.padded())
    for tree in forest(0, batch.lengths[0], batch.segments[0], batch.lengths[0]).trees[:20]:
        allowed = all(may_be_leaf(*phrase, batch.leaves[0]) for phrase in phrases(tree))
        trees = [to_public(tree), *list(crf.argmax)[1:]]
        assert crf.log_prob(trees)[0].isfinite() == allowed
        assert crf.log_prob(trees)[1:].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_results_have_the_dtype_of_the_scores(kernels, dtype):
    scores = torch.zeros(1, 4, 2, dtype=dtype)
    crf = TreeCRF(scores, [3], [2], kernels=kernels)
    results = [crf.log_partition, crf.log_partitions, crf.marginals, crf.leaf_marginals()]
    results += [crf.log_prob(crf.argmax), crf.entropy, crf.kl(crf), crf.expectation(scores)]
    results += [crf.log_inside, crf.root_log_probs, crf.rule_log_probs]
    assert [result.dtype for result in results] == [dtype] * len(results)
