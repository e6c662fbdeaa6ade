"""Packed indices of the spans and splits of a sentence.

Both are packed in colexicographic order, so a span ``(i, k)`` has the index ``C(k, 2) + i`` and a
split ``(i, j, k)`` the index ``C(k, 3) + C(j, 2) + i``. What a short sentence uses is therefore a
prefix of what a longer one uses: padding is always at the end, whatever the batch.
"""

from functools import cache
from typing import TypeVar

import torch
from torch import Tensor

# Planes of a table of cells: spans whose tree is straight, inverted, or either of the two.
STRAIGHT, INVERTED, EITHER = 0, 1, 2


def span_count(length: int) -> int:
    """Number of spans ``0 <= i < k <= length``."""
    return length * (length + 1) // 2


def split_count(length: int) -> int:
    """Number of splits ``0 <= i < j < k <= length``."""
    return (length + 1) * length * (length - 1) // 6


def split_counts(lengths: Tensor) -> Tensor:
    """``split_count`` of each length."""
    return (lengths + 1) * lengths * (lengths - 1) // 6


Position = TypeVar("Position", int, Tensor)


def span_index(start: Position, stop: Position) -> Position:
    """Packed index of the spans ``[start, stop)``."""
    return stop * (stop - 1) // 2 + start


def split_index(start: Position, split: Position, stop: Position) -> Position:
    """Packed index of the splits of ``[start, stop)`` at ``split``."""
    return stop * (stop - 1) * (stop - 2) // 6 + split * (split - 1) // 2 + start


@cache
@torch.inference_mode(False)
def _spans(length: int) -> Tensor:
    stop, start = torch.tril_indices(length, length)
    return torch.stack([start, stop + 1], dim=-1)


@cache
@torch.inference_mode(False)
def _splits(length: int) -> Tensor:
    # Every span (i, j) below the fencepost k, for k = 0, 1, ..., length: colexicographic order.
    below = [_spans(max(stop - 1, 0)) for stop in range(length + 1)]
    stops = torch.arange(length + 1).repeat_interleave(torch.tensor([len(rows) for rows in below]))
    return torch.cat([torch.cat(below), stops[:, None]], dim=-1)


@cache
@torch.inference_mode(False)
def _segment_pairs(maximum: int) -> Tensor:
    pairs = [(first, total - first) for total in range(2, maximum + 1) for first in range(1, total)]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)


def spans(length: int) -> Tensor:
    """Every span ``(i, k)``, ``0 <= i < k <= length``, in packed order: ``[spans, 2]``."""
    return _spans(length).clone()


def splits(length: int) -> Tensor:
    """Every split ``(i, j, k)``, ``0 <= i < j < k <= length``, in packed order: ``[splits, 3]``."""
    return _splits(length).clone()


def segment_pairs(maximum: int) -> Tensor:
    """Every pair of leaf counts that two children can have, ``[pairs, 2]``.

    The counts add up to at most ``maximum``; pairs are ordered by their sum, then by the first.
    """
    return _segment_pairs(maximum).clone()
