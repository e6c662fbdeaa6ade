"""Phrase pairs that are consistent with a word alignment (Koehn, 2009).

A source and a target phrase are a pair if at least one link is between them and no link leads from
one of them to a word outside the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

Link = tuple[int, int]  # source word, target word


class PhrasePair(NamedTuple):
    """Fenceposts of a source phrase and of a target phrase."""

    start: int
    stop: int
    target_start: int
    target_stop: int


def consistent_pairs(
    links: Collection[Link], source_length: int, target_length: int, longest: int
) -> Iterator[PhrasePair]:
    """Find all consistent phrase pairs of a sentence pair, of at most ``longest`` words per side.

    The smallest target phrase is given by the links of the source phrase; it is extended over
    neighbours without links.
    """
    targets: list[list[int]] = [[] for _ in range(source_length)]
    # For each target word, the first and the last source word that it is linked with.
    reach: list[tuple[int, int] | None] = [None] * target_length
    for source, target in links:
        targets[source].append(target)
        first, last = reach[target] or (source, source)
        reach[target] = min(first, source), max(last, source)
    for start in range(source_length):
        lowest, highest = target_length, -1  # target words linked with the source phrase
        for stop in range(start + 1, min(source_length, start + longest) + 1):
            for target in targets[stop - 1]:
                lowest, highest = min(lowest, target), max(highest, target)
            if highest < 0 or highest + 1 - lowest > longest:
                continue
            inner = [reach[target] for target in range(lowest, highest + 1)]
            if any(each is not None and (each[0] < start or each[1] >= stop) for each in inner):
                continue
            yield from _extended(start, stop, lowest, highest + 1, reach, longest)


def _extended(
    start: int,
    stop: int,
    target_start: int,
    target_stop: int,
    reach: list[tuple[int, int] | None],
    longest: int,
) -> Iterator[PhrasePair]:
    """Extend a target phrase over words without links, in both directions."""
    first = target_start
    while first >= 0 and (first == target_start or reach[first] is None):
        last = target_stop
        while (
            last <= len(reach)
            and last - first <= longest
            and (last == target_stop or reach[last - 1] is None)
        ):
            yield PhrasePair(start, stop, first, last)
            last += 1
        first -= 1
