"""Consistent phrase pairs against their definition, by brute force."""

from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.training.phrase_pairs.consistent import PhrasePair, consistent_pairs


def by_definition(links, source_length, target_length, longest):
    """All pairs of spans with a link between them and none that leaves them."""
    found = set()
    for start in range(source_length):
        for stop in range(start + 1, source_length + 1):
            for first in range(target_length):
                for last in range(first + 1, target_length + 1):
                    within = [
                        (start <= source < stop, first <= target < last) for source, target in links
                    ]
                    is_short = max(stop - start, last - first) <= longest
                    if is_short and (True, True) in within and all(a == b for a, b in within):
                        found.add(PhrasePair(start, stop, first, last))
    return found


@st.composite
def alignments(draw):
    source, target = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    words = st.tuples(st.integers(0, source - 1), st.integers(0, target - 1))
    return draw(st.sets(words, max_size=8)), source, target, draw(st.integers(1, 6))


@given(alignments())
def test_all_and_only_consistent_pairs_once(case):
    found = list(consistent_pairs(*case))
    assert len(found) == len(set(found))
    assert set(found) == by_definition(*case)


def test_an_example():
    """Michael geht davon aus, dass -> michael assumes that."""
    links = {(0, 0), (1, 1), (2, 1), (3, 1), (5, 2)}  # the comma has no link
    found = set(consistent_pairs(links, 6, 3, 7))
    assert PhrasePair(1, 4, 1, 2) in found  # geht davon aus -> assumes
    assert PhrasePair(1, 5, 1, 2) in found  # with the comma
    assert not any(pair.start == 2 for pair in found)  # davon ... alone is inconsistent
