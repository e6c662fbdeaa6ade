"""Rules are found where people would find them, and nothing about them goes unsaid."""

import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.translation.rules.rules import Match, Rule, RuleSet, in_case_of


def found(rules, text):
    """What was matched, as (words of the text, targets)."""
    matches, _ = RuleSet(rules).find(text)
    return [(text[match.start : match.stop], *match.rule.targets) for match in matches]


# ---- matching ------------------------------------------------------------------------------


def test_all_occurrences_on_word_boundaries():
    rules = [Rule("Haus", "house"), Rule("von Grund auf", "from scratch")]
    text = "Haus, Hausbau (Haus) von  Grund auf! von Grundauf"
    assert found(rules, text) == [
        ("Haus", "house"),
        ("Haus", "house"),
        ("von  Grund auf", "from scratch"),
    ]


def test_space_is_a_part_of_the_rule():
    assert found([Rule("a-b", "x")], "a - b a-b") == [("a-b", "x")]
    assert found([Rule("a - b", "x")], "a-b a - b") == [("a - b", "x")]


@pytest.mark.parametrize(
    ("case", "expected"),
    [("sensitive", ["Straße"]), ("insensitive", ["Straße", "STRASSE", "straße"])],
)
def test_case(case, expected):
    matches = found([Rule("Straße", "street", case=case)], "Straße STRASSE straße")
    assert [words for words, _ in matches] == expected


@pytest.mark.parametrize(
    ("words", "source", "target", "expected"),
    [
        ("Straße", "straße", "street", "Street"),
        ("STRASSE", "Straße", "street", "STREET"),
        ("straße", "Straße", "Street", "street"),
        ("Straße", "Straße", "street", "street"),
        ("die Stadt", "Die Stadt", "The city", "the city"),
        ("usa", "USA", "US", "US"),
        ("A", "a", "one", "One"),  # a single capital is no word in capitals
        ("USA", "USA", "states", "states"),
        ("東京", "東京", "Tokyo", "Tokyo"),
    ],
)
def test_targets_follow_the_case_of_the_match(words, source, target, expected):
    assert in_case_of(words, source, target) == expected
    assert Rule(source, target, case="follow").targets_for(words) == (expected,)
    assert Rule(source, target, case="insensitive").targets_for(words) == (target,)


def test_rules_that_follow_match_any_case():
    assert found([Rule("straße", "street", case="follow")], "Straße STRASSE") == [
        ("Straße", "street"),
        ("STRASSE", "street"),
    ]


def test_given_matches_go_first():
    rules = RuleSet([Rule("a b", "x"), Rule("c", "y")])
    kept = Match(Rule("b", mode="keep"), 2, 3)
    matches, notices = rules.find("a b c", [kept])
    assert [match.rule.source for match in matches] == ["b", "c"]
    assert len(notices) == 1


@pytest.mark.parametrize("case", ["sensitive", "insensitive"])
@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC")])
def test_normal_forms_are_alike(forms, case):
    rule, text = (unicodedata.normalize(form, "l'été 한국") for form in forms)
    for source in rule.replace("l'", "").split():
        assert len(found([Rule(source, "x", case=case)], text)) == 1


def test_any_character_may_end_a_match_where_words_are_not_spaced():
    assert found([Rule("花园", "garden")], "在花园里") == [("花园", "garden")]
    assert found([Rule("東京", "Tokyo")], "はい東京へ") == [("東京", "Tokyo")]
    assert found([Rule("ที", "x")], "ที่นี่") == []  # a vowel sign is no character by itself


def test_longest_wins_and_the_loser_is_reported():
    rules = RuleSet(
        [Rule("New York", "NY", place="r:1"), Rule("York City Hall", "hall", place="r:2")]
    )
    matches, notices = rules.find("in New York City Hall")
    assert [match.rule.source for match in matches] == ["York City Hall"]
    assert notices == [
        "rule 'New York' -> 'NY' (r:1) gives way to 'York City Hall' -> 'hall' (r:2), "
        "which it overlaps"
    ]
    assert rules.unmatched == []


def test_equal_lengths_go_from_left_to_right():
    assert found([Rule("a b", "x"), Rule("b a", "y")], "a b a b a") == [("a b", "x"), ("a b", "x")]


def test_what_minds_case_is_more_specific():
    rules = [Rule("it", "pronoun", case="insensitive"), Rule("IT", "computers")]
    assert found(rules, "IT it") == [("IT", "computers"), ("it", "pronoun")]


def test_preferred_rules_give_way_to_forced_ones_only():
    force, prefer = Rule("b", "x"), Rule("a b c", "y", mode="prefer")
    matches, notices = RuleSet([prefer, force]).find("a b c")
    assert [match.rule for match in matches] == [force]
    assert len(notices) == 1
    both = [prefer, Rule("c d", "z", mode="prefer"), Rule("a b c", "w", mode="prefer")]
    matches, notices = RuleSet(both).find("a b c d")
    assert len(matches) == 3
    assert notices == []


def test_contradictions_are_reported_and_the_first_stands():
    rules = RuleSet(
        [
            Rule("Haus", "house", place="r:1"),
            Rule("Haus", "home", place="r:2"),
            Rule("Haus", mode="keep", place="r:3"),
            Rule("Haus", "house", place="r:4"),
            Rule("haus", "other word", place="r:5"),
        ]
    )
    assert rules.problems == [
        "rule 'Haus' -> 'home' (r:2) contradicts 'Haus' -> 'house' (r:1), which is used",
        "rule 'Haus' -> itself (r:3) contradicts 'Haus' -> 'house' (r:1), which is used",
    ]
    matches, notices = rules.find("Haus")
    assert [match.rule.place for match in matches] == ["r:1"]
    assert notices == []
    assert [rule.place for rule in rules.unmatched] == ["r:5"]


def test_unmatched_rules_are_remembered_over_texts():
    rules = RuleSet([Rule("a", "x"), Rule("b", "y"), Rule("c", "z")])
    rules.find("a")
    rules.find("c c")
    assert [rule.source for rule in rules.unmatched] == ["b"]


class CountingDict(dict):
    """Counts how often anything is looked up."""

    lookups = 0

    def get(self, *arguments):
        CountingDict.lookups += 1
        return super().get(*arguments)


def counting(trie):
    return CountingDict(
        (key, counting(node) if isinstance(node, dict) else node) for key, node in trie.items()
    )


def test_ten_thousand_rules_cost_no_more_than_ten():
    text = " ".join(f"w{number}" for number in range(40))
    counts = []
    for size in (10, 10_000):
        # They all begin with words of the text: as bad as it gets.
        rules = [
            Rule(f"w{number % 40} w{number % 40 + 1} x{number}", "y") for number in range(size)
        ]
        rule_set = RuleSet(rules)
        rule_set._tries = {case: counting(trie) for case, trie in rule_set._tries.items()}
        CountingDict.lookups = 0
        rule_set.find(text)
        counts.append(CountingDict.lookups)
    assert counts[1] <= 40 * 6
    assert counts[1] <= 6 * counts[0]


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=6),
    st.lists(st.sampled_from("abc"), max_size=8),
)
def test_every_occurrence_is_matched_or_overlapped(sources, tokens):
    text = " ".join(tokens)
    rule_set = RuleSet(Rule(" ".join(source), "x") for source in sources)
    matches, notices = rule_set.find(text)
    for first, second in pairwise(matches):
        assert first.stop <= second.start
    occurrences = {
        (2 * start, 2 * (start + len(source)) - 1, " ".join(source))
        for source in sources
        for start in range(len(tokens))
        if tokens[start : start + len(source)] == source
    }
    obeyed = {(match.start, match.stop, match.rule.source) for match in matches}
    assert obeyed <= occurrences
    assert len(occurrences - obeyed) == len(notices)
    for start, stop, _ in occurrences - obeyed:
        longer = [m for m in matches if m.start < stop and start < m.stop]
        assert any(m.stop - m.start >= stop - start for m in longer)
    unmatched = {rule.source for rule in rule_set.unmatched}
    assert unmatched == {" ".join(s) for s in sources} - {source for *_, source in occurrences}


# ---- rules themselves ----------------------------------------------------------------------


def test_a_rule_is_tidy_and_serialisable():
    rule = Rule("  von \t Grund", ["from  scratch", "anew", "anew "], case="insensitive", place="x")
    assert rule.source == "von Grund"
    assert rule.targets == ("from scratch", "anew")
    assert Rule.from_json(rule.to_json()) == rule
    assert Rule("GmbH", "GmbH", mode="keep") == Rule("GmbH", mode="keep")
    assert hash(Rule("a", ["b"])) == hash(Rule("a", "b"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": " ", "target": "x"}, "f:7: a rule needs a source phrase"),
        ({"source": "a", "target": " "}, "f:7: the rule for 'a' has no target"),
        ({"source": "a"}, "no target; the mode keep copies"),
        ({"source": "a", "target": "b", "mode": "keep"}, "'a' is to be kept as it is, but has"),
        ({"source": "a", "target": "b", "mode": "must"}, "mode is force, prefer or keep"),
        ({"source": "a", "target": "b", "case": "upper"}, "case is sensitive, insensitive"),
    ],
)
def test_what_is_no_rule(arguments, message):
    with pytest.raises(ValueError, match=message):
        Rule(**arguments, place="f:7")


# ---- many rules ----------------------------------------------------------------------------


def steps(function, *arguments):
    """How many lines of the decoder a call runs through."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if "/translation/" not in frame.f_code.co_filename:
            return None
        count += event in ("call", "line")
        return trace

    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(None)
    return count


@pytest.mark.parametrize("mode", ["force", "prefer"])
def test_work_grows_with_the_matches_and_not_with_their_square(mode):
    rules = RuleSet(Rule(f"w{n}", "x", mode=mode) for n in range(10_000))
    few, many = (" ".join(f"w{n}" for n in range(count)) for count in (30, 300))
    assert len(rules.find(many)[0]) == 300
    assert steps(rules.find, many) < 12 * steps(rules.find, few)


def test_work_with_many_rules_for_one_phrase():
    few, many = ([Rule("w", f"x{n}", mode="prefer") for n in range(count)] for count in (30, 300))
    assert steps(RuleSet, many) < 12 * steps(RuleSet, few)
    assert len(RuleSet(many).find("w")[0]) == 300
    assert len(RuleSet([*many, Rule("w", "y")]).find("w")[0]) == 1
