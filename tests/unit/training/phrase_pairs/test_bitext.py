"""Bitexts of phrase pairs are parts of the sentences."""

import pytest
from checks import refused

from btg_seq2seq.text import Bitext
from btg_seq2seq.training.phrase_pairs.bitext import LONGEST, phrase_bitext

PAIRS = Bitext(
    ["the dog sleeps .", "the cat, too", "a", "", "the dog eats ."] * 3,
    ["狗睡觉。", "猫也是", "一", "无", "狗吃。"] * 3,
    name="pairs",
)


@pytest.mark.parametrize("method", ["trivial", "fast-align", "teacher"])
def test_phrases_are_parts_of_the_sentences(method):
    found = phrase_bitext(PAIRS, method, most=3)
    assert len(found) > 5
    assert found.name == "phrase pairs of pairs"
    for source, target in zip(found.source, found.target, strict=True):
        assert any(
            source in pair[0] and target in pair[1]
            for pair in zip(PAIRS.source, PAIRS.target, strict=True)
        )
        assert 0 < len(target) <= LONGEST
        assert source == source.strip() != ""


def test_words_of_a_phrase_are_limited():
    short, long = (phrase_bitext(PAIRS, "fast-align", 3, longest=words) for words in (1, 16))
    assert max(map(len, short.target)) == 1  # a character is a word
    assert "the dog sleeps ." in long.source
    assert "the dog sleeps ." not in short.source


def test_the_seed_decides():
    first, same, other = (phrase_bitext(PAIRS, "trivial", 3, seed) for seed in (0, 0, 1))
    assert first == same != other


def test_nothing_to_cut():
    with refused("one: no phrase pairs"):
        phrase_bitext(Bitext(["a"], ["b"], name="one"), "trivial", 4)
