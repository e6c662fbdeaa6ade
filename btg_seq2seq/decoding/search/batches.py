"""Batches of rows of similar length: for beam search, and for single passes through the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from btg_seq2seq.model.backbone import KEPT_LOGITS, Backbone
from btg_seq2seq.model.decoding_settings import DecodingSettings

# Fixed cost of a pass through the model, in tokens: weights are read, kernels started.
PASS_COST = 64


def most_rows(backbone: Backbone, settings: DecodingSettings) -> int:
    """Return the number of rows whose logits fit into memory together."""
    return max(1, KEPT_LOGITS // (backbone.vocabulary_size * settings.beam_size))


def search_batches(
    lengths: Sequence[int], settings: DecodingSettings, most: int | None = None
) -> Iterator[list[int]]:
    """Yield the largest batches within the budget of tokens and of ``most`` rows, longest first.

    Short rows may share a batch with long ones: the search drops each row when it is done.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    while order:
        size = _size(lengths[order[0]], settings, most)
        yield order[:size]
        order = order[size:]


def pass_batches(lengths: Sequence[int], settings: DecodingSettings) -> Iterator[list[int]]:
    """Yield batches within the budget of tokens, longest first, for one pass through the model.

    All rows of a batch are padded to its longest. So the lengths are cut into ranges that minimise
    the total cost, where a pass costs as much as its tokens, with padding, and ``PASS_COST`` more.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    ends = [end for end in range(1, len(order)) if lengths[order[end]] != lengths[order[end - 1]]]
    ends = [0, *ends, len(order)] if order else [0]
    costs, begins = [0], [0]  # of all rows before each end, and the begin of their last range
    for end in ends[1:]:
        options = [
            (cost + lengths[order[begin]] * (end - begin) + PASS_COST, begin)
            for cost, begin in zip(costs, ends, strict=False)
        ]
        cost, begin = min(options)
        costs.append(cost)
        begins.append(begin)
    ranges, end = [], len(order)
    while end > 0:
        begin = begins[ends.index(end)]
        ranges.append(order[begin:end])
        end = begin
    for rows in reversed(ranges):
        size = _size(lengths[rows[0]], settings)
        for first in range(0, len(rows), size):
            yield rows[first : first + size]


def _size(longest: int, settings: DecodingSettings, most: int | None = None) -> int:
    size = max(1, settings.batch_tokens // (settings.beam_size * max(1, longest)))
    return size if most is None else min(size, most)
