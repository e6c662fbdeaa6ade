"""Phrase pairs of the lexical teacher: those of its derivations, and what they add up to."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.training.phrase_pairs.consistent import consistent_pairs
from btg_seq2seq.training.phrase_pairs.taught import joined, taught_pairs

SOURCES = ["the dog sleeps .", "the cat sleeps .", "the dog eats .", "the cat eats ."] * 5
TARGETS = ["狗 睡觉 。", "猫 睡觉 。", "狗 吃 。", "猫 吃 。"] * 5


@given(st.data())
def test_phrases_are_joined_where_both_sides_have_no_gap(data):
    """As consistent pairs of an alignment whose words are the phrases."""
    count = data.draw(st.integers(1, 6))
    order = data.draw(st.permutations(range(count)))
    lengths = st.lists(st.integers(1, 3), min_size=count, max_size=count)
    source, target = ([0, *accumulate(data.draw(lengths))] for _ in range(2))
    rows = [
        (source[place], source[place + 1], target[rank], target[rank + 1])
        for rank, place in enumerate(order)
    ]
    links = [(place, rank) for rank, place in enumerate(order)]
    expected = {
        (source[i], source[k], target[a], target[c])
        for i, k, a, c in consistent_pairs(links, count, count, count)
    }
    found = list(joined(rows))
    assert {*found} == expected
    assert len(found) == len(expected)


def test_probable_phrases_come_often():
    found = list(taught_pairs(SOURCES, TARGETS, most=3, longest=3))
    assert len(found) == len(SOURCES)
    for pairs in found:
        assert all(i < k and a < c and k - i <= 3 and c - a <= 3 for i, k, a, c in pairs)
    assert len(found[0]) > len({*found[0]})  # of ten draws
    assert list(taught_pairs(SOURCES, TARGETS, 3, 3)) == found
    assert list(taught_pairs(SOURCES, TARGETS, 3, 3, seed=1)) != found


def test_pairs_without_derivations_have_no_phrases():
    assert list(taught_pairs(["a", ""], ["b", "c"], 2, 4))[1] == []
    assert not [*joined([])]
