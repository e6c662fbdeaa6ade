"""Entries in several languages become rules for two of them."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.glossaries.terms import (
    Entry,
    choose_languages,
    grouped,
    is_same_language,
    rules_of,
)
from btg_seq2seq.translation.rules.rules import Rule

ENTRIES = [
    Entry(1, {"de": ["Haus", "Hauses"], "en": ["house", "building"]}, {"building"}),
    Entry(2, {"de": ["GmbH"], "en": ["GmbH"]}),
    Entry(3, {"de": ["Baum"]}),
]


def test_avoided_terms_are_no_targets_and_equal_terms_are_kept():
    place = {"case": "insensitive", "place": "g: entry 1"}
    assert list(rules_of(ENTRIES, "de", "en", "insensitive", "g")) == [
        Rule("Haus", "house", **place),
        Rule("Hauses", "house", **place),
        Rule("GmbH", mode="keep", case="insensitive", place="g: entry 2"),
    ]
    assert [rule.source for rule in rules_of(ENTRIES, "en", "de", "sensitive", "g")] == [
        "house",
        "building",
        "GmbH",
    ]


@pytest.mark.parametrize(
    ("asked", "first", "expected"),
    [
        (("de", "en"), "", ("de", "en")),
        (("de-AT", ""), "", ("de-AT", "en")),
        (("", "de"), "", ("en", "de")),
        (("", ""), "en-US", ("en-US", "de")),
    ],
)
def test_languages(asked, first, expected):
    assert choose_languages(ENTRIES, *asked, first, "g") == expected


def test_languages_that_are_not_clear():
    with pytest.raises(UserError, match="g: it has terms in de, en; name the source"):
        choose_languages(ENTRIES, "", "", "", "g")
    with pytest.raises(UserError, match="no terms in the target language fr; it has de, en"):
        choose_languages(ENTRIES, "de", "fr", "", "g")
    with pytest.raises(UserError, match="name the source and the target"):
        choose_languages([*ENTRIES, Entry(4, {"fr": ["arbre"]})], "de", "", "", "g")


def test_regions_do_not_matter():
    assert is_same_language("pt-BR", "PT_pt")
    assert not is_same_language("pt", "ptx")
    assert not is_same_language("", "")


def test_rules_of_one_place_are_one_entry():
    rules = [Rule("a", "x", place="p"), Rule("b", "x", place="p"), Rule("c", "x"), Rule("d", "x")]
    assert [sources for _, sources in grouped(rules)] == [["a", "b"], ["c"], ["d"]]
