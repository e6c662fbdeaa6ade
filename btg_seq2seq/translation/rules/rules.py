"""Translation rules and their matches in a text.

A rule is a source phrase and one or more targets. Matching is on word boundaries of the text (see
``words``), longest match first, all occurrences. A match that loses against another rule is
reported, never dropped silently. ``apply`` turns matches into spans of tokens.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from btg_seq2seq.errors import UserError
from btg_seq2seq.text.words import words_of

RuleMode = Literal["force", "prefer", "keep"]
CasePolicy = Literal["sensitive", "insensitive", "follow"]


@dataclass(frozen=True)
class Rule:
    """The translation required, or preferred, for a phrase of the source.

    Args:
        source: words of the source, as in the text.
        target: their translation, or several to choose from.
        mode: ``"force"``: one of the targets is in the translation, for every occurrence;
            ``"prefer"``: the targets compete with the model's own, with probability 1; ``"keep"``:
            the words of the source are copied, and there is no target.
        case: ``"sensitive"``, or ``"insensitive"`` to match upper and lower case alike;
            ``"follow"`` does so too, and writes the target in the case of the match.
        place: origin of the rule, such as file and line, for messages.
    """

    source: str
    target: str | Sequence[str] = ()
    mode: RuleMode = "force"
    case: CasePolicy = "sensitive"
    place: str = ""

    def __post_init__(self) -> None:
        self._check_texts()
        given = [self.target] if isinstance(self.target, str) else self.target
        targets = dict.fromkeys(_tidy(target) for target in given)
        object.__setattr__(self, "source", _tidy(self.source))
        object.__setattr__(self, "target", tuple(filter(None, targets)))
        where = f"{self.place}: " if self.place else ""
        if not self.source:
            raise UserError(f"{where}a rule needs a source phrase")
        if self.mode not in get_args(RuleMode):
            raise UserError(f"{where}mode is force, prefer or keep, not {self.mode!r}")
        if self.case not in get_args(CasePolicy):
            raise UserError(f"{where}case is sensitive, insensitive or follow, not {self.case!r}")
        if self.mode == "keep":
            if any(target not in ("", self.source) for target in targets):
                raise UserError(
                    f"{where}{self.source!r} is to be kept as it is, but has a target: "
                    "leave the target out, or choose another mode"
                )
            object.__setattr__(self, "target", ())
        elif not self.target:
            raise UserError(
                f"{where}the rule for {self.source!r} has no target; the mode keep copies the "
                "source"
            )

    def _check_texts(self) -> None:
        """Refuse anything but texts, and texts with half a character."""
        where = f"{self.place}: " if self.place else ""
        given = (self.target,) if isinstance(self.target, str) else self.target
        if not isinstance(given, Sequence):
            raise UserError(f"{where}the target of a rule is a string, or several, not {given!r}")
        for text in (self.source, *given):
            if not isinstance(text, str):
                raise UserError(f"{where}source and target of a rule are strings, not {text!r}")
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise UserError(f"{where}the rule has half a character: {text!r}") from error

    @property
    def targets(self) -> tuple[str, ...]:
        """All targets; none for a rule that keeps the source."""
        return tuple(self.target)

    @property
    def minds_case(self) -> bool:
        """True if upper and lower case are different."""
        return self.case == "sensitive"

    def targets_for(self, words: str) -> tuple[str, ...]:
        """Return the targets for a match as it is written; a kept source is its own target."""
        if self.mode == "keep":
            return (words,)
        if self.case != "follow":
            return self.targets
        return tuple(dict.fromkeys(in_case_of(words, self.source, one) for one in self.targets))

    def __str__(self) -> str:
        what = " | ".join(map(repr, self.targets)) or "itself"
        return f"{self.source!r} -> {what}" + (f" ({self.place})" if self.place else "")

    def to_json(self) -> dict[str, Any]:
        """Plain values; ``Rule.from_json`` reads them back."""
        values: dict[str, Any] = {"source": self.source, "target": list(self.targets)}
        return values | {"mode": self.mode, "case": self.case, "place": self.place}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Rule:
        """Build the rule that ``to_json`` wrote."""
        return cls(**value)


@dataclass(frozen=True)
class Match:
    """An occurrence of a rule's source: the characters ``[start, stop)`` of a text."""

    rule: Rule
    start: int
    stop: int

    def overlaps(self, other: Match) -> bool:
        """Return whether two matches share a character."""
        return self.start < other.stop and other.start < self.stop


class RuleSet:
    """Rules that can be found in texts; remembers which of them matched.

    ``problems`` lists contradictions: of several rules that force different targets for the same
    source, only the first is used.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: list[Rule] = []
        self.problems: list[str] = []
        # One trie of words for rules that mind case, one for others: nested dictionaries. The
        # rules that end at a node are under the key None.
        self._tries: dict[bool, dict[Any, Any]] = {True: {}, False: {}}
        self._matched: set[Rule] = set()
        for rule in [rules] if isinstance(rules, str) else rules:
            if not isinstance(rule, Rule):
                raise UserError(
                    f"{rule!r} is no Rule: make one with Rule(source, target), or, of a text like "
                    "'source=target', with btg_seq2seq.translation.rules.files.parse_rule"
                )
            self._add(rule)

    def __len__(self) -> int:
        return len(self.rules)

    def _add(self, rule: Rule) -> None:
        node = self._tries[rule.minds_case]
        for key in _keys(rule.source, rule.minds_case):
            node = node.setdefault(key, {})
        known: list[Rule] = node.setdefault(None, [])
        if rule.mode == "prefer":
            known.append(rule)
        elif not known or known[0].mode == "prefer":
            known.insert(0, rule)  # the next forced rule is compared with it
        else:
            if (known[0].mode, known[0].targets) != (rule.mode, rule.targets):
                self.problems.append(f"rule {rule} contradicts {known[0]}, which is used")
            return
        self.rules.append(rule)

    @property
    def unmatched(self) -> list[Rule]:
        """Rules whose source has not been in any text so far."""
        return [rule for rule in self.rules if rule not in self._matched]

    def find(self, text: str, kept: Sequence[Match] = ()) -> tuple[list[Match], list[str]]:
        """Find the matches to obey, from left to right, and describe the matches that lose.

        Those in ``kept``, which do not overlap, are obeyed before all others.

        Forced and kept matches never overlap: the longest wins, then the leftmost, then the rule
        that is case-sensitive. Preferred matches give way to them, and may overlap each other.
        """
        kept = list(kept)
        forcing = sorted(
            kept, key=lambda match: match.start
        )  # the kept matches that are not preferred
        notices: list[str] = []
        for match in sorted(self._occurrences(text), key=_precedence):
            self._matched.add(match.rule)
            place = bisect_right(forcing, match.start, key=lambda one: one.stop)
            if place < len(forcing) and forcing[place].overlaps(match):
                winner = forcing[place].rule
                notices.append(f"rule {match.rule} gives way to {winner}, which it overlaps")
                continue
            kept.append(match)
            if match.rule.mode != "prefer":
                forcing.insert(place, match)
        kept.sort(key=lambda match: (match.start, match.stop))
        return kept, notices

    def _occurrences(self, text: str) -> Iterable[Match]:
        words = words_of(text)
        for minds_case, trie in self._tries.items():
            if not trie:
                continue
            keys = [_key(text[word.start : word.stop], minds_case) for word in words]
            for first, word in enumerate(words):
                node = trie.get(keys[first])
                for last in range(first, len(words)):
                    if node is None:
                        break
                    for rule in node.get(None, ()):
                        yield Match(rule, word.start, words[last].stop)
                    if last + 1 < len(words):
                        spaced = words[last + 1].spaced
                        node = node.get(" " + keys[last + 1] if spaced else keys[last + 1])


def _precedence(match: Match) -> tuple[bool, int, int, bool]:
    rule = match.rule
    length = match.stop - match.start
    return (rule.mode == "prefer", -length, match.start, not rule.minds_case)


def _keys(source: str, minds_case: bool) -> list[str]:
    """Path of a rule through the trie; a space before a word is part of its key."""
    keys = []
    for rank, word in enumerate(words_of(source)):
        key = _key(source[word.start : word.stop], minds_case)
        keys.append(" " + key if rank and word.spaced else key)
    return keys


def _key(word: str, minds_case: bool) -> str:
    word = unicodedata.normalize("NFC", word)
    return word if minds_case else unicodedata.normalize("NFC", word.casefold())


def _tidy(text: str) -> str:
    """Normalise white space: a rule is part of a line."""
    return " ".join(text.split())


def in_case_of(words: str, source: str, target: str) -> str:
    """Write a target in the case of a match, as far as it differs from that of the rule's source.

    ``STRASSE`` makes ``STREET`` of ``street``; ``Die`` makes ``The`` of ``the``.
    """
    if words == source or not words or not source:
        return target
    if words.isupper() and not source.isupper() and sum(map(str.isalpha, words)) > 1:
        return target.upper()
    if words[0].isupper() and not source[0].isupper():
        return target[:1].upper() + target[1:]
    # A word in capitals, such as an abbreviation, stays so.
    if words[0].islower() and source[0].isupper() and not target[:2].isupper():
        return target[:1].lower() + target[1:]
    return target
