"""Readable words: templates give different phrases, and invented words can be pronounced."""

import re
from collections import Counter
from random import Random

import pytest

from btg_seq2seq.tasks.demo import TASK
from btg_seq2seq.tasks.readable_words import (
    INVENTED_WORDS,
    LONGEST,
    NOUN_PHRASES,
    VERB_PHRASES,
    EnglishPhrases,
    invented_word,
)
from btg_seq2seq.tasks.svo_sov import generate


def all_phrases(templates):
    phrases = []
    for template in templates:
        filled = [()]
        for words in template:
            filled = [(*phrase, word) for phrase in filled for word in words]
        phrases += filled
    return phrases


@pytest.mark.parametrize("templates", [NOUN_PHRASES, VERB_PHRASES])
def test_phrases_are_different_and_counted(templates):
    phrases = all_phrases(templates)
    assert len(set(phrases)) == len(phrases) == EnglishPhrases(templates, 1, LONGEST).number
    assert Counter(map(len, phrases)).keys() == set(range(1, LONGEST + 1))
    middle = [phrase for phrase in phrases if 2 <= len(phrase) <= 3]
    assert EnglishPhrases(templates, 2, 3).number == len(middle)


def test_verbs_and_nouns_share_no_words():
    """So the phrases of a sentence can be told apart by anyone who knows English."""
    nouns, verbs = ({w for p in all_phrases(t) for w in p} for t in (NOUN_PHRASES, VERB_PHRASES))
    assert not nouns & verbs


@pytest.mark.parametrize("templates", [NOUN_PHRASES, VERB_PHRASES])
def test_lengths_are_uniform(templates):
    random = Random(0)
    phrases = EnglishPhrases(templates, 1, LONGEST)
    drawn = [phrases.draw(random) for _ in range(4000)]
    assert set(drawn) <= set(all_phrases(templates))
    assert all(900 < number < 1100 for number in Counter(map(len, drawn)).values())


def test_phrases_that_people_say():
    nouns, verbs = ({" ".join(p) for p in all_phrases(t)} for t in (NOUN_PHRASES, VERB_PHRASES))
    assert {"Clara", "my sister", "the old captain", "my neighbour's dog"} <= nouns
    assert {"met", "has met", "has never met", "must have often met"} <= verbs


def test_invented_words():
    words = [invented_word(number) for number in range(INVENTED_WORDS)]
    assert len(set(words)) == INVENTED_WORDS
    syllable = "[bdfghklmnprstvwyz][aeiou][lnrs]?"
    assert all(re.fullmatch(f"{syllable}{syllable}", word) for word in words)


def test_the_demo_uses_about_a_hundred_words_a_side():
    data = [item for items in generate(TASK).values() for item in items]
    assert 80 <= len({word for item in data for word in item.source.split()}) <= 100
    assert len({word for item in data for word in item.target.split()}) == 100
