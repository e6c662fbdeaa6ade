"""Phrase pairs by chance: both sides are cut into as many phrases, which are paired in order."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from btg_seq2seq.training.phrase_pairs.consistent import PhrasePair


def random_split(
    source_length: int, target_length: int, most: int, random: Random
) -> list[PhrasePair]:
    """Cut a sentence pair into two to ``most`` phrase pairs, all numbers and cuts equally likely.

    A side of one word cannot be cut, and gives no phrase pairs.
    """
    most = min(most, source_length, target_length)
    if most < 2:
        return []
    count = random.randint(2, most)
    sides = [
        [0, *sorted(random.sample(range(1, length), count - 1)), length]
        for length in (source_length, target_length)
    ]
    return [
        PhrasePair(*source, *target)
        for source, target in zip(pairwise(sides[0]), pairwise(sides[1]), strict=True)
    ]
