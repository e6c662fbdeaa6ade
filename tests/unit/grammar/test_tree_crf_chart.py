"""The chart that cky decoding reads: inside scores and local rule probabilities (Algorithm 1)."""

import math

import pytest
import torch
from checks import assert_close
from hypothesis import given
from oracle import (
    SPAN_INDEX,
    SPLIT_INDEX,
    log_inside,
    rule_log_probs,
    usable_cells,
)
from strategies import TreeCRFBatch, random_scores, tree_crf_batches

from btg_seq2seq.grammar import segment_pairs

pytestmark = pytest.mark.parametrize("kernels", ["fast", "portable"])


def cells(length, segments, fewest=1):
    """Every (leaf count, start, stop, orientation) in a sentence."""
    for start, stop in SPAN_INDEX:
        if stop <= length:
            for count in range(fewest, segments + 1):
                for orientation in (0, 1):
                    yield count, start, stop, orientation


def assert_exact_or_pruned(actual, expected, usable, scale):
    """Everything a tree can use is exact; the rest is exact or -inf."""
    pruned = (actual == -math.inf) & ~usable
    assert_close(actual, expected.masked_fill(pruned, -math.inf), scale)


def check_log_inside(kernels, batch):
    actual = batch.crf(kernels, batch.padded()).log_inside  # [batch, counts, 3, spans]
    longest, most = max(batch.lengths), max(batch.segments)
    assert actual.shape == (len(batch), most, 3, math.comb(longest + 1, 2))
    assert not actual.requires_grad
    either = torch.logaddexp(actual[:, :, 0], actual[:, :, 1])
    assert_close(actual[:, :, 2], either, batch.scale)
    assert (actual < math.inf).all(), "NaN or +inf, be it in the padding"
    for index, (length, limit) in enumerate(zip(batch.lengths, batch.leaves, strict=True)):
        scores = batch.scores[index].detach()
        used = usable_cells(length, batch.segments[index], limit)
        own = actual[index, :, :2, : math.comb(length + 1, 2)]
        expected = torch.full_like(own, -math.inf)
        usable = torch.zeros_like(expected, dtype=torch.bool)
        for cell in cells(length, most):
            count, start, stop, orientation = cell
            position = count - 1, orientation, SPAN_INDEX[start, stop]
            expected[position] = log_inside(scores, start, stop, count, limit, orientation)
            usable[position] = cell in used
        assert_exact_or_pruned(own, expected, usable, batch.scale)


@given(batch=tree_crf_batches())
def test_log_inside(kernels, batch):
    check_log_inside(kernels, batch)


@pytest.mark.parametrize(("shorter", "limit"), [(5, 2), (6, 1), (6, 2)])
def test_log_inside_of_the_span_that_is_all_of_a_neighbour(kernels, shorter, limit):
    """No tree uses 0:shorter with three leaves in the longer sentence: exact or -inf, not less."""
    lengths, generator = [shorter, 7], torch.Generator().manual_seed(0)
    shapes = [(math.comb(length + 1, 3), 2) for length in lengths]
    scores = [random_scores(generator, shape, 0.1) for shape in shapes]
    check_log_inside(kernels, TreeCRFBatch(scores, lengths, [3, 3], limit, 0.1, generator))


@given(batch=tree_crf_batches())
def test_root_log_probs(kernels, batch):
    actual = batch.crf(kernels, batch.padded()).root_log_probs  # [batch, counts, 2]
    expected = torch.full((len(batch), max(batch.segments), 2), -math.inf, dtype=torch.float64)
    for index, (length, limit) in enumerate(zip(batch.lengths, batch.leaves, strict=True)):
        for count in range(1, batch.segments[index] + 1):
            scores = batch.scores[index].detach()
            insides = [log_inside(scores, 0, length, count, limit, label) for label in (0, 1)]
            insides = torch.tensor(insides, dtype=torch.float64)
            if insides.max() > -math.inf:
                expected[index, count - 1] = insides - insides.logsumexp(0)
    assert_close(actual, expected, batch.scale)


@given(batch=tree_crf_batches(max_batch=2))
def test_rule_log_probs(kernels, batch):
    most, longest = max(batch.segments), max(batch.lengths)
    actual = batch.crf(kernels, batch.padded()).rule_log_probs  # [batch, pairs, splits, 2, 2]
    pairs = {tuple(pair): index for index, pair in enumerate(segment_pairs(most).tolist())}
    assert actual.shape == (len(batch), len(pairs), math.comb(longest + 1, 3), 2, 2)
    for index, (length, limit) in enumerate(zip(batch.lengths, batch.leaves, strict=True)):
        scores = batch.scores[index].detach()
        used = usable_cells(length, batch.segments[index], limit)
        expected = torch.full_like(actual[index], -math.inf)
        usable = torch.zeros_like(expected, dtype=torch.bool)
        for cell in cells(length, most, fewest=2):
            count, start, stop, orientation = cell
            rules = rule_log_probs(scores, start, stop, count, limit, orientation)
            positions = [
                (pairs[first, second], SPLIT_INDEX[start, middle, stop], orientation, label)
                for first, second, middle, label in rules
            ]
            for position, value in zip(positions, rules.values(), strict=True):
                expected[position], usable[position] = value, cell in used
            if rules and cell in used:
                total = sum(actual[index][position].exp().item() for position in positions)
                assert total == pytest.approx(1)
        assert_exact_or_pruned(actual[index], expected, usable, batch.scale)


@given(batch=tree_crf_batches(max_batch=2, scales=[0.1, 1.0]))
def test_a_tree_is_the_product_of_its_rules(kernels, batch):
    """exp log_prob = root rule x rules, summed over the labels of leaves in second place."""
    crf = batch.crf(kernels, batch.padded())
    pairs = {tuple(p): i for i, p in enumerate(segment_pairs(max(batch.segments)).tolist())}
    for index, (tree, log_prob) in enumerate(
        zip(crf.argmax, crf.log_prob(crf.argmax), strict=True)
    ):
        root = crf.root_log_probs[index, tree.segments - 1]
        total = root[int(tree.nodes[0].inverted)] if tree.nodes else root.logsumexp(0)
        for node in tree.nodes:
            pair = pairs[node.first.segments, node.second.segments]
            split = SPLIT_INDEX[node.start, node.split, node.stop]
            labelled = crf.rule_log_probs[index, pair, split, int(node.inverted)]  # [second label]
            second = node.second.nodes
            total = total + (labelled[int(second[0].inverted)] if second else labelled.logsumexp(0))
        assert_close(total.item(), log_prob.item())
