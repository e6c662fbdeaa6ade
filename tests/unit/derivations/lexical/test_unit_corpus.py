"""Bitexts in units."""

import numpy as np
import pytest

from btg_seq2seq.derivations.lexical import UnitCorpus, UnitSide


def test_words_of_a_text_are_units_and_tokens():
    side = UnitSide.of_text(["a cat, a dog", "", "猫 a"])
    assert side.tokens.tolist() == [0, 1, 2, 0, 3, 4, 0]
    assert side.units.tolist() == [5, 0, 2]
    assert side.fenceposts(2).tolist() == [0, 1, 2]
    assert len(side) == 3


def test_tokens_of_a_model_with_units():
    tokens = [[7, 8, 9], [], [7]]
    side = UnitSide.of_begins(tokens, [[True, False, True], [], [False]])
    assert [side.fenceposts(sentence).tolist() for sentence in range(3)] == [[0, 2, 3], [0], [0, 1]]
    again = UnitSide.of(tokens, [[0, 2, 3], [0], [0, 1]])
    assert (again.posts == side.posts).all()
    assert again.units.tolist() == [2, 0, 1]


@pytest.mark.parametrize("posts", [[], [0, 2], [1, 3], [0, 2, 2, 3], [0, 4]])
def test_fenceposts_that_do_not_fit_are_refused(posts):
    with pytest.raises(ValueError, match="sentence 0: the fenceposts"):
        UnitSide.of([[1, 2, 3]], [posts])


def test_both_sides_have_as_many_sentences():
    with pytest.raises(ValueError, match="1 source sentences but 2"):
        UnitCorpus.of_text(["a"], ["b", "c"])


def test_the_digest_depends_on_tokens_and_units():
    one = UnitCorpus(UnitSide.of([[1, 2]], [[0, 1, 2]]), UnitSide.of([[1]], [[0, 1]]))
    same = UnitCorpus(UnitSide.of([[1, 2]], [[0, 1, 2]]), UnitSide.of([[1]], [[0, 1]]))
    other = UnitCorpus(UnitSide.of([[1, 2]], [[0, 2]]), UnitSide.of([[1]], [[0, 1]]))
    assert one.digest() == same.digest() != other.digest()


def test_most_phrases():
    corpus = UnitCorpus.of_text(["a b c", "a", ""], ["x y", "x y z", "x"])
    np.testing.assert_array_equal(corpus.most_phrases(2), [2, 1, 0])


def test_sentences_that_end_in_punctuation():
    side = UnitSide.of_text(["a cat .", "a cat", "", "猫。", 'he said "no"', "a 5"])
    assert side.stops.tolist() == [True, False, False, True, True, False]
    plain = UnitSide.of([[1]], [[0, 1]])
    assert plain.stops.tolist() == [False]
    marked = UnitSide.of([[1]], [[0, 1]], [True])
    assert UnitCorpus(plain, plain).digest() != UnitCorpus(plain, marked).digest()
    with pytest.raises(ValueError, match="1 sentences but 2 last units"):
        UnitSide.of([[1]], [[0, 1]], [True, False])


def test_only_some_sentences():
    corpus = UnitCorpus.of_text(["a b .", "c", "", "a ."], ["x", "y z", "x .", "x ."])
    found = corpus.only(np.array([True, False, False, True]))
    for side, expected in (
        (found.source, ["a b .", "", "", "a ."]),
        (found.target, ["x", "", "", "x ."]),
    ):
        plain = UnitSide.of_text(expected)
        assert side.units.tolist() == plain.units.tolist()
        assert side.ends.tolist() == plain.ends.tolist()
        assert side.posts.tolist() == plain.posts.tolist()
        assert side.post_ends.tolist() == plain.post_ends.tolist()
        assert side.stops.tolist() == plain.stops.tolist()
    assert len(corpus.only(np.zeros(4, np.bool_)).source.tokens) == 0
