"""The packed order of splits and spans, and the order of the pairs of leaf counts."""

import math
from itertools import combinations

import pytest
import torch

from btg_seq2seq.grammar import segment_pairs, spans, splits


def colexicographic(length, size):
    return sorted(combinations(range(length + 1), size), key=lambda fenceposts: fenceposts[::-1])


@pytest.mark.parametrize("length", range(1, 9))
@pytest.mark.parametrize(("function", "size"), [(spans, 2), (splits, 3)])
def test_colexicographic_order(function, size, length):
    packed = function(length)
    assert packed.dtype == torch.long
    assert packed.shape == (math.comb(length + 1, size), size)
    assert [tuple(row) for row in packed.tolist()] == colexicographic(length, size)


@pytest.mark.parametrize("length", range(1, 9))
def test_a_shorter_sentence_is_a_prefix(length):
    longest = 8
    assert torch.equal(splits(longest)[: math.comb(length + 1, 3)], splits(length))
    assert torch.equal(spans(longest)[: math.comb(length + 1, 2)], spans(length))


def test_index_formulas():
    for index, (i, j, k) in enumerate(splits(10).tolist()):
        assert index == math.comb(k, 3) + math.comb(j, 2) + i
    for index, (i, k) in enumerate(spans(10).tolist()):
        assert index == math.comb(k, 2) + i


@pytest.mark.parametrize("maximum", range(1, 9))
def test_segment_pairs_by_sum_then_first(maximum):
    expected = [(l, s - l) for s in range(2, maximum + 1) for l in range(1, s)]  # noqa: E741
    pairs = segment_pairs(maximum)
    assert pairs.dtype == torch.long
    assert pairs.shape == (math.comb(maximum, 2), 2)
    assert [tuple(row) for row in pairs.tolist()] == expected
