"""Compound accuracy: the share of compounds that CoGnition's automatic test takes for right.

CoGnition (Li et al., 2021) puts compounds such as ``every lazy doctor he liked`` into new contexts.
A compound is right if a translation of each of its atoms is in the output, and if what modifies the
noun comes before it. A modifier of a verb phrase may belong to the verb, so its place is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from btg_seq2seq.errors import UserError
from btg_seq2seq.text.bitext import read_lines

# Phrases that the lexicon has as one atom.
MODIFIERS = {"he liked": "mod0", "at the store": "mod1", "on the floor": "mod2"}
DETERMINERS = ("the", "every", "any", "another", "each")
VERB_PHRASE = "VP"

Lexicon = Mapping[str, Sequence[str]]
"""Translations of atoms; an empty one is found everywhere, and no translations need none."""


@dataclass(frozen=True)
class Compound:
    """The atoms of a compound by their part in it: ``[verb or preposition] noun phrase``."""

    head: tuple[str, ...]  # verb or preposition; empty for a noun phrase
    before: tuple[str, ...]  # determiner and adjectives
    noun: str
    after: tuple[str, ...]  # the modifier that follows in English

    @classmethod
    def parse(cls, text: str) -> Compound:
        """Read ``asked every lazy doctor he liked``."""
        for phrase, atom in MODIFIERS.items():
            text = text.replace(phrase, atom)
        atoms = text.split()
        after = tuple(atom for atom in atoms if atom in MODIFIERS.values())
        rest = [atom for atom in atoms if atom not in after]
        start = next((place for place, atom in enumerate(rest) if atom in DETERMINERS), None)
        if start is None or start == len(rest) - 1:
            raise UserError(
                f"{text!r} is no compound: it needs a determiner ({', '.join(DETERMINERS)}) and a "
                "noun after it"
            )
        return cls(tuple(rest[:start]), tuple(rest[start:-1]), rest[-1], after)

    @property
    def atoms(self) -> tuple[str, ...]:
        """All atoms, in English order."""
        return (*self.head, *self.before, self.noun, *self.after)


def read_lexicon(path: str | Path) -> dict[str, list[str]]:
    """Read lines of an atom, a tab, and its translations with ``/`` between them.

    ``/`` alone means that there is nothing to look for. Lines of the same atom are joined.
    """
    lexicon: dict[str, list[str]] = {}
    for number, line in enumerate(read_lines(path), 1):
        atom, tab, translations = line.partition("\t")
        if not (atom and tab and translations):
            raise UserError(
                f"{path}: line {number}: {line[:40]!r} is not ATOM, a tab, TRANSLATIONS"
            )
        known = lexicon.setdefault(atom, [])
        known += [] if translations == "/" else translations.split("/")
    return lexicon


def is_right(compound: str, kind: str, translation: str, lexicon: Lexicon) -> bool:
    """Decide whether the translation of a sentence has its compound right.

    ``kind`` is NP, VP or PP; spaces of the translation do not count.
    """
    parts, text = Compound.parse(compound), "".join(translation.split())
    places: dict[str, list[int]] = {}
    for atom in parts.atoms:
        if atom not in lexicon:
            raise UserError(f"the lexicon lacks {atom!r}, an atom of the compound {compound!r}")
        places[atom] = [place for one in lexicon[atom] for place in _places(one, text)]
        if lexicon[atom] and not places[atom]:
            return False
    modifiers = (*parts.before, *(parts.after if kind != VERB_PHRASE else ()))
    noun = max(places[parts.noun], default=None)
    return noun is None or all(min(places[one], default=-1) < noun for one in modifiers)


def _places(part: str, text: str) -> Iterator[int]:
    """Find all starts of a part in a text; they may overlap."""
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


@dataclass(frozen=True)
class CompoundScore:
    """Compounds that are right, line by line."""

    right: list[bool]
    compounds: list[str]
    kinds: list[str]

    @property
    def values(self) -> dict[str, float]:
        """Percentages.

        ``compound_accuracy`` of single sentences, for each kind too, and ``compound_all_contexts``
        of compounds that are right in all of their contexts, which are consecutive lines.
        """
        values = {"compound_accuracy": _percent(self.right)}
        for kind in sorted({*self.kinds}):
            own = [right for right, one in zip(self.right, self.kinds, strict=True) if one == kind]
            values[f"compound_accuracy_{kind.lower()}"] = _percent(own)
        lines = zip(self.compounds, self.kinds, self.right, strict=True)
        groups = groupby(lines, key=lambda line: line[:2])
        whole = [all(right for *_, right in group) for _, group in groups]
        values["compound_all_contexts"] = _percent(whole)
        return values


def compound_score(
    translations: Sequence[str], compounds: Sequence[str], kinds: Sequence[str], lexicon: Lexicon
) -> CompoundScore:
    """Judge the compound of every line."""
    if not len(translations) == len(compounds) == len(kinds):
        raise UserError(
            f"{len(translations)} translations, {len(compounds)} compounds and {len(kinds)} kinds: "
            "there must be one each per line"
        )
    lines = zip(compounds, kinds, translations, strict=True)
    right = [is_right(compound, kind, text, lexicon) for compound, kind, text in lines]
    return CompoundScore(right, list(compounds), list(kinds))


def _percent(values: Sequence[bool]) -> float:
    return 100 * sum(values) / len(values) if values else 0.0
