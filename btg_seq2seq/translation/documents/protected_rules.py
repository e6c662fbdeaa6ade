"""Rules, and beside them what a document protects: automatic rules that keep the source.

What is protected goes before every other rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from btg_seq2seq.grammar import Span
from btg_seq2seq.translation.rules.rules import Match, Rule, RuleSet

PLACE = "protected"


class ProtectedRules(RuleSet):
    """A set of rules that also keeps some characters of given sentences."""

    def __init__(self, rules: RuleSet, protected: Mapping[str, Sequence[Span]]) -> None:
        self.base, self.protected = rules, protected
        self.rules, self.problems = rules.rules, rules.problems

    def __bool__(self) -> bool:
        return bool(self.rules) or any(self.protected.values())

    @property
    def unmatched(self) -> list[Rule]:
        return self.base.unmatched

    def find(self, text: str, kept: Sequence[Match] = ()) -> tuple[list[Match], list[str]]:
        spans = self.protected.get(text, ())
        matches = [
            Match(Rule(text[start:stop], mode="keep", place=PLACE), start, stop)
            for start, stop in spans
        ]
        return self.base.find(text, matches)


def is_protection(rule: Rule | None) -> bool:
    """Tell whether a rule protects a part of a document."""
    return rule is not None and rule.mode == "keep" and rule.place == PLACE
