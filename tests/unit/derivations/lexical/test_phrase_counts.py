"""Recurring phrase pairs."""

import numpy as np

from btg_seq2seq.derivations.lexical import UnitCorpus
from btg_seq2seq.derivations.lexical.phrase_counts import PhrasePairCounts


def test_only_pairs_of_several_sentences_are_kept():
    corpus = UnitCorpus.of_text(["a b", "a a", "c a"], ["x y", "x x", "z x"])
    sentences = np.array([0, 0, 1, 1, 1, 2, 2])
    cells = np.array(
        [
            [0, 1, 0, 1],  # a x
            [0, 2, 0, 2],  # a b, x y: once
            [0, 1, 0, 1],  # a x
            [1, 2, 0, 1],  # a x again
            [0, 2, 0, 2],  # a a, x x: once
            [1, 2, 1, 2],  # a x
            [0, 2, 1, 2],  # c a, x: once
        ],
        dtype=np.int16,
    )
    expected = np.array([0.5, 1, 0.25, 0.5, 1, 0.125, 1], dtype=np.float32)
    counts = PhrasePairCounts.of(corpus, sentences, cells, expected)
    assert len(counts.keys) == 1
    assert counts.ends.tolist() == [0, 1, 3, 4]
    assert counts.firsts.tolist() == [0, 1, 1, 3]
    assert counts.counts.tolist() == [1.375]
    assert counts.with_expected(np.ones(4, np.float32)).counts.tolist() == [4.0]


def test_where_a_phrase_ends_matters():
    corpus = UnitCorpus.of_text(["a b", "a b"], ["c", "c"])
    same, other = np.array([0, 1, 0, 1]), np.array([0, 2, 0, 1])
    expected = np.ones(2, np.float32)
    cells = np.array([same, other], dtype=np.int16)
    assert len(PhrasePairCounts.of(corpus, np.array([0, 1]), cells, expected).keys) == 0
    cells = np.array([other, other], dtype=np.int16)
    assert len(PhrasePairCounts.of(corpus, np.array([0, 1]), cells, expected).keys) == 1


def test_known_pairs_are_found_in_other_sentences():
    """The places are those of a search through all spans; the counts stay as they were."""
    source, target = ["a b", "a b", "c a b", "a a", "b"], ["x", "x", "z x", "x y x", "y"]
    corpus = UnitCorpus.of_text(source, target)
    learned = np.array([0, 0, 1, 1])
    cells = np.array([[0, 2, 0, 1], [0, 1, 0, 1]] * 2, dtype=np.int16)  # a b, x and a, x
    counts = PhrasePairCounts.of(corpus, learned, cells, np.ones(4, np.float32))
    known = {("a b", "x"), ("a", "x")}
    for longest in (1, 8):
        keys = counts.source_keys(corpus)
        rows = counts.known_in(corpus, keys, np.array([2, 3, 4]), longest)
        found = counts.with_places(rows)
        places = [
            (sentence, i, k, a, c)
            for sentence in range(2, 5)
            for x, y in [(source[sentence].split(), target[sentence].split())]
            for i in range(len(x))
            for k in range(i + 1, min(len(x), i + longest) + 1)
            for a in range(len(y))
            for c in range(a + 1, min(len(y), a + longest) + 1)
            if (" ".join(x[i:k]), " ".join(y[a:c])) in known
        ]
        assert len(places) == (5 if longest == 1 else 6)
        new = [
            (sentence, *found.cells[place])
            for sentence in range(2, 5)
            for place in range(found.ends[sentence], found.ends[sentence + 1])
        ]
        assert new == places
        assert found.cells[:4].tolist() == counts.cells.tolist()
        assert found.counts.tolist() == counts.counts.tolist()
        assert found.expected.tolist() == [1.0] * 4 + [0.0] * len(places)


def test_nothing_recurs():
    counts = PhrasePairCounts.nothing(2)
    assert counts.ends.tolist() == [0, 0, 0]
    assert len(counts.arrays.cells) == 0
