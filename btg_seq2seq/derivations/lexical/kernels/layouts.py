"""Layouts of bitext charts: which pairs of spans have a cell, and where.

The target spans of one source span form a triangular matrix. Of its row ``a`` the columns from
``low[span, a]`` to ``high[span, a]`` are kept, and column ``c`` is at ``row[span, a] + c``; pruning
narrows rows. A row is padded to whole packs of eight columns, the last of which ends at the last
fencepost. Phrase pairs in the padding have no weight.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.grammar.kernels.compiled import compiled
from btg_seq2seq.grammar.kernels.packs import PACK


class Layout(NamedTuple):
    """The cells that exist, and their places in packed arrays; all ``[spans, posts]``."""

    low: NDArray[np.int32]  # first column of a row
    high: NDArray[np.int32]  # behind the last column
    row: NDArray[np.int64]  # place of column 0, were it kept


@compiled
def span(i, k):
    """Packed index of the source span ``[i, k)``; see ``grammar.packing``."""
    return k * (k - 1) // 2 + i


@compiled
def first_pack(column, posts):
    """First column of the pack that a column is in."""
    return column - (column - posts) % PACK


@compiled
def whole_layout(units, posts):
    """The layout of all cells, and their number."""
    spans = units * (units + 1) // 2
    low, high = np.zeros((spans, posts), np.int32), np.zeros((spans, posts), np.int32)
    for here in range(spans):
        for a in range(posts):
            low[here, a], high[here, a] = a + 1, posts
    return packed(low, high)


@compiled
def packed(low, high):
    """The layout with these columns, and the number of cells with padding."""
    row = np.zeros(low.shape, np.int64)
    posts = low.shape[1]
    size = 0
    for here in range(low.shape[0]):
        for a in range(posts):
            if low[here, a] < high[here, a]:
                begin = first_pack(low[here, a], posts)
                row[here, a] = size - begin
                size += first_pack(high[here, a] - 1, posts) + PACK - begin
            else:  # it is in no pack
                low[here, a], high[here, a] = posts, 0
    return Layout(low, high, row), size
