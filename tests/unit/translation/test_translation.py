"""Results: what they say of themselves, and that JSON gives them back."""

import json
import math

import pytest

from btg_seq2seq.grammar import Tree
from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.translation.translation import Alternative, TextDerivation, TextPhrase, Translation

SOURCE, TEXT = "das Haus ist  klein", "the house small is"
RULE = Rule("das Haus", ["the house", "home"], place="rules.tsv:3")


def phrase(units, source, target, rule=None, log_prob=-1.5):
    return TextPhrase.between(
        *(SOURCE, TEXT),
        units=units,
        source_span=source,
        target_span=target,
        log_prob=log_prob,
        rule=rule,
    )


@pytest.fixture
def translation():
    phrases = (
        phrase((0, 2), (0, 9), (0, 9), RULE, 0.0),
        phrase((3, 4), (14, 19), (9, 15)),
        phrase((2, 3), (9, 14), (15, 18), log_prob=-math.inf),
    )
    derivation = TextDerivation(Tree.parse("[0:2 <2:3 3:4>]"), phrases)
    return Translation(
        text=TEXT,
        log_prob=-2.0,
        variants=((5, 6), (7,)),
        derivation=derivation,
        source=SOURCE,
        mode="cky",
        alternatives=(Alternative("home", -3.0, ((8,),)), Alternative("x", -math.inf)),
        segment_posterior=(0.25, 0.0, 0.75),
        fallback="why",
        notices=("what",),
    )


def test_words_and_origin(translation):
    house, small, _ = translation.derivation.phrases
    assert (house.source, house.target) == ("das Haus", "the house")
    assert (small.source, small.target) == ("klein", "small")
    assert house.origin == "rule 'das Haus' -> 'the house' | 'home' (rules.tsv:3)"
    assert small.origin == "seq2seq"


def test_bracket(translation):
    assert translation.bracket == "[das Haus -> the house <ist -> is, klein -> small>]"
    assert Translation("", 0.0).bracket == ""


def test_pharaoh(translation):
    assert translation.to_pharaoh() == "0-0 0-1 1-0 1-1 2-3 3-2"
    assert Translation("", 0.0).to_pharaoh() == ""


def test_a_word_that_is_cut_is_aligned_twice():
    phrases = (phrase((0, 1), (0, 6), (0, 3)), phrase((1, 4), (6, 19), (3, 18)))
    derivation = TextDerivation(Tree.parse("[0:1 1:4]"), phrases)
    cut = Translation(TEXT, 0.0, source=SOURCE, derivation=derivation)
    assert cut.to_pharaoh() == "0-0 1-0 1-1 1-2 1-3 2-1 2-2 2-3 3-1 3-2 3-3"


def test_json_round_trip(translation):
    line = json.dumps(translation.to_json(), allow_nan=False)
    again = Translation.from_json(json.loads(line) | {"id": 7})
    assert again == translation
    assert again.to_json() == translation.to_json()
    empty = Translation("", 0.0, source=" ")
    assert Translation.from_json(json.loads(json.dumps(empty.to_json()))) == empty


def test_results_of_before_have_tokens_for_units(translation):
    line = json.dumps(translation.to_json()).replace('"units"', '"tokens"')
    assert Translation.from_json(json.loads(line)) == translation
