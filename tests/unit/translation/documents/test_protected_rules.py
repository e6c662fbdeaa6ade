"""Protected parts of sentences are rules that go before all others."""

from btg_seq2seq.translation.documents.protected_rules import ProtectedRules, is_protection
from btg_seq2seq.translation.rules.rules import Rule, RuleSet

RULES = [Rule("a {x} b", "long"), Rule("c", "d")]


def test_protection_goes_first():
    rules = ProtectedRules(RuleSet(RULES), {"a {x} b c": [(2, 5)]})
    matches, notices = rules.find("a {x} b c")
    assert [(match.start, match.stop, match.rule.mode) for match in matches] == [
        (2, 5, "keep"),
        (8, 9, "force"),
    ]
    assert [is_protection(match.rule) for match in matches] == [True, False]
    assert len(notices) == 1
    assert "gives way" in notices[0]
    assert rules.unmatched == []


def test_other_sentences_have_the_rules_alone():
    rules = ProtectedRules(RuleSet(RULES), {"x": [(0, 1)]})
    assert [match.rule for match in rules.find("a {x} b")[0]] == RULES[:1]
    assert rules.unmatched == RULES[1:]
    assert len(rules) == 2


def test_it_is_empty_only_without_anything():
    assert not ProtectedRules(RuleSet(), {})
    assert ProtectedRules(RuleSet(), {"x": [(0, 1)]})
    assert not is_protection(None)
    assert not is_protection(Rule("x", mode="keep"))
