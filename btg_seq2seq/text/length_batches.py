"""Batches of sentences of similar length, in a fixed order: for evaluations and collections.

Training has ``BucketSampler``, which shuffles; beam search weighs the cost of its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def length_batches(
    lengths: Sequence[int] | NDArray[np.int64],
    fits: Callable[[int, int], bool],
    rows: Iterable[int] | None = None,
) -> Iterator[list[int]]:
    """Group sentences, shortest first, into the largest batches that fit.

    Args:
        lengths: length of each sentence.
        fits: ``fits(count, longest)`` says whether a batch of this size is small enough; a single
            sentence always is.
        rows: the sentences to group; all of them by default.
    """
    chosen = range(len(lengths)) if rows is None else rows
    batch: list[int] = []
    for row in sorted(chosen, key=lambda row: (lengths[row], row)):
        if batch and not fits(len(batch) + 1, int(lengths[row])):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
