"""Batches by length: in order, as large as possible, and complete."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.text.length_batches import length_batches


@given(st.lists(st.integers(1, 30), max_size=40), st.integers(1, 60), st.integers(1, 8))
def test_batches_are_as_large_as_fits(lengths, tokens, size):
    def fits(count, longest):
        return count <= size and count * longest <= tokens

    batches = list(length_batches(lengths, fits))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    order = [lengths[row] for batch in batches for row in batch]
    assert order == sorted(order)
    for batch in batches:
        assert len(batch) == 1 or fits(len(batch), lengths[batch[-1]])
    for batch, following in pairwise(batches):
        assert not fits(len(batch) + 1, lengths[following[0]])


def test_some_rows_of_an_array():
    lengths = np.array([3, 1, 2, 1])
    assert list(length_batches(lengths, lambda count, longest: count <= 2, [3, 0, 1])) == [
        [1, 3],
        [0],
    ]
