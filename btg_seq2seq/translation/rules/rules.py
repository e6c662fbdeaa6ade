"""Translation rules: what they say, where they come from, and where they match.

A rule is a source phrase and one or more targets. Matching is on word boundaries of the text (see
``words``), longest match first, all occurrences. What loses against another rule is told, never
dropped in silence. How a match is forced on the decoder is left to ``assignment`` and
``constraints``.
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
CasePolicy = Literal["sensitive", "insensitive"]


@dataclass(frozen=True)
class Rule:
    """How a phrase of the source is to be translated.

    Args:
        source: words of the source, as in the text.
        target: what stands for them in the translation, or several choices.
        mode: ``"force"``: one of the targets is in the translation, for every occurrence;
            ``"prefer"``: the targets compete with the model's own, with probability 1; ``"keep"``:
            the source's words are copied as they are, and no target is given.
        case: ``"sensitive"``, or ``"insensitive"`` to match upper and lower case alike.
        place: where the rule comes from, for messages.
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
            raise UserError(f"{where}case is sensitive or insensitive, not {self.case!r}")
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
        """Refuse what is no text, or half a character of one."""
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
        """All choices for the target; none where the source is kept."""
        return tuple(self.target)

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
        """Whether they share a character."""
        return self.start < other.stop and other.start < self.stop


class RuleSet:
    """Rules, ready to be found in texts; remembers which of them were.

    ``problems`` says what is wrong with the rules by themselves: of several that force different
    targets on the same source, the first one stands.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: list[Rule] = []
        self.problems: list[str] = []
        # One trie of words for each case policy: a dictionary of dictionaries, in which the rules
        # that end at a node stand under the key None.
        self._tries: dict[CasePolicy, dict[Any, Any]] = {"sensitive": {}, "insensitive": {}}
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
        node = self._tries[rule.case]
        for key in _keys(rule.source, rule.case):
            node = node.setdefault(key, {})
        known: list[Rule] = node.setdefault(None, [])
        if rule.mode == "prefer":
            known.append(rule)
        elif not known or known[0].mode == "prefer":
            known.insert(0, rule)  # where the next one that forces finds it
        else:
            if (known[0].mode, known[0].targets) != (rule.mode, rule.targets):
                self.problems.append(f"rule {rule} contradicts {known[0]}, which is used")
            return
        self.rules.append(rule)

    @property
    def unmatched(self) -> list[Rule]:
        """Rules whose source was in none of the texts so far."""
        return [rule for rule in self.rules if rule not in self._matched]

    def find(self, text: str) -> tuple[list[Match], list[str]]:
        """Find the matches to obey, from left to right, and say which others lose against them.

        Rules that force or keep never overlap: the longest match wins, then the leftmost, then the
        rule that minds case. One that is preferred gives way to them, and may overlap others of
        its kind.
        """
        kept: list[Match] = []
        forcing: list[Match] = []  # of those kept; from left to right
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
        for case, trie in self._tries.items():
            if not trie:
                continue
            keys = [_key(text[word.start : word.stop], case) for word in words]
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
    return (rule.mode == "prefer", -length, match.start, rule.case == "insensitive")


def _keys(source: str, case: CasePolicy) -> list[str]:
    """The path of a rule through the trie; a space before a word is a part of its key."""
    keys = []
    for rank, word in enumerate(words_of(source)):
        key = _key(source[word.start : word.stop], case)
        keys.append(" " + key if rank and word.spaced else key)
    return keys


def _key(word: str, case: CasePolicy) -> str:
    word = unicodedata.normalize("NFC", word)
    return unicodedata.normalize("NFC", word.casefold()) if case == "insensitive" else word


def _tidy(text: str) -> str:
    """Without superfluous white space: a rule is a part of a line."""
    return " ".join(text.split())
