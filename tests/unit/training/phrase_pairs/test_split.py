"""Random phrase pairs cover both sides in order."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.training.phrase_pairs.split import random_split


@given(st.integers(0, 8), st.integers(0, 8), st.integers(1, 5), st.integers(0, 99))
def test_phrases_cover_both_sides_in_order(source, target, most, seed):
    pairs = random_split(source, target, most, Random(seed))
    if min(source, target, most) < 2:
        assert pairs == []
        return
    assert 2 <= len(pairs) <= min(source, target, most)
    for side, length in ((0, source), (2, target)):
        ends = [0, *(pair[side + 1] for pair in pairs)]
        assert ends == [*(pair[side] for pair in pairs), length]
        assert sorted(set(ends)) == ends


def test_all_cuts_are_equally_likely():
    random = Random(0)
    counts = Counter(tuple(random_split(4, 3, 2, random)) for _ in range(6000))
    assert len(counts) == 3 * 2
    assert all(abs(count - 1000) < 150 for count in counts.values())
