"""Compiled indices are those of the packed tensors."""

from btg_seq2seq.grammar import spans, splits
from btg_seq2seq.grammar.kernels.packed import span_count, span_index, split_index


def test_the_same_formulas():
    assert [span_index(i, k) for i, k in spans(9).tolist()] == [*range(span_count(9))]
    assert [split_index(*split) for split in splits(9).tolist()] == [*range(len(splits(9)))]
