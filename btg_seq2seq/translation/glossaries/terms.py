"""Entries of glossaries in many languages, and the rules that they are for a pair of languages.

An entry has terms by language. For a pair of languages, each term of the source language is the
source of a rule, and the terms of the target language are its targets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.rules.rules import CasePolicy, Rule, RuleMode

LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")
# How our own files say what the formats have no field for.
REMARK = re.compile(r"mode: (force|prefer|keep); case: (sensitive|insensitive|follow)")


@dataclass
class Entry:
    """Terms of one meaning, by language; ``avoided`` are terms that should not be written."""

    number: int
    terms: dict[str, list[str]] = field(default_factory=dict)
    avoided: set[str] = field(default_factory=set)
    remark: str = ""

    def add(self, language: str, term: str, *, is_avoided: bool = False) -> None:
        """Add a term, without the white space around it."""
        term = " ".join(term.split())
        if term:
            self.terms.setdefault(language, []).append(term)
            if is_avoided:
                self.avoided.add(term)


def choose_languages(
    entries: Iterable[Entry], source: str, target: str, first: str, name: str
) -> tuple[str, str]:
    """Return the languages to read: those asked for, or the two that the file has.

    ``first`` is the file's own source language, if it names one.
    """
    found = list(dict.fromkeys(tag for entry in entries for tag in entry.terms))
    chosen = []
    for asked, what in ((source, "source"), (target, "target")):
        if asked and not any(is_same_language(asked, tag) for tag in found):
            raise UserError(
                f"{name}: there are no terms in the {what} language {asked}; it has "
                f"{', '.join(found) or 'no terms at all'}"
            )
        chosen.append(asked)
    rest = [tag for tag in found if not any(one and is_same_language(one, tag) for one in chosen)]
    if not chosen[0] and any(is_same_language(first, tag) for tag in rest):
        chosen[0] = first
        rest = [tag for tag in rest if not is_same_language(first, tag)]
    if chosen.count("") > 1 or (chosen.count("") == 1 and len({*map(_primary, rest)}) != 1):
        raise UserError(
            f"{name}: it has terms in {', '.join(found) or 'no language'}; name the source and "
            "the target language"
        )
    source, target = (one or rest[0] for one in chosen)
    return source, target


def rules_of(
    entries: Iterable[Entry], source: str, target: str, case: CasePolicy, name: str
) -> Iterator[Rule]:
    """Rules for a pair of languages; an entry without one of them is skipped."""
    for entry in entries:
        sources, targets = (_terms(entry, language) for language in (source, target))
        wanted = [term for term in targets if term not in entry.avoided]
        if not wanted:
            continue
        mode: RuleMode = "force"
        own_case = case
        if remark := REMARK.search(entry.remark):
            mode, own_case = remark.group(1), remark.group(2)  # type: ignore[assignment]
        for term in sources:
            place = f"{name}: entry {entry.number}"
            if mode == "keep" or wanted == [term]:
                yield Rule(term, mode="keep", case=own_case, place=place)
            else:
                yield Rule(term, wanted, mode, own_case, place)


def grouped(rules: Sequence[Rule]) -> list[tuple[Rule, list[str]]]:
    """Rules that differ in nothing but their source, as one with several sources."""
    groups: dict[tuple[object, ...], tuple[Rule, list[str]]] = {}
    for rule in rules:
        key = (rule.targets or rule.source, rule.mode, rule.case, rule.place or id(rule))
        groups.setdefault(key, (rule, []))[1].append(rule.source)
    return list(groups.values())


def remark_of(rule: Rule) -> str:
    """Mode and case as a remark, which ``rules_of`` reads."""
    return f"mode: {rule.mode}; case: {rule.case}"


def is_same_language(first: str, second: str) -> bool:
    """Compare languages without their regions: ``de`` and ``de-AT`` are the same."""
    return bool(first and second) and _primary(first) == _primary(second)


def _primary(tag: str) -> str:
    return re.split("[-_]", tag, maxsplit=1)[0].lower()


def _terms(entry: Entry, language: str) -> list[str]:
    found = [
        term
        for tag, terms in entry.terms.items()
        if is_same_language(tag, language)
        for term in terms
    ]
    return list(dict.fromkeys(found))
