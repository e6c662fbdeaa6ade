"""Word alignments against gold ones: precision, recall and the alignment error rate.

Gold links are sure or possible (Och and Ney 2003). A sure link is also a possible one. In files,
``2-3`` is a sure link between source word 2 and target word 3, and ``2p3`` a possible one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from btg_seq2seq.errors import UserError

Link = tuple[int, int]  # source word and target word, counted from 0
_LINK = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})", re.ASCII)


@dataclass(frozen=True)
class GoldAlignment:
    """The links of a sentence pair that a person has marked."""

    sure: frozenset[Link]
    possible: frozenset[Link]  # the sure ones included


@dataclass(frozen=True)
class AlignmentScore:
    """Counts of links over a set of sentence pairs, and the rates made of them, in percent."""

    found: int
    found_sure: int
    found_possible: int
    sure: int

    @property
    def precision(self) -> float:
        """Share of the links found that are possible."""
        return 100 * self.found_possible / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of the sure links that were found."""
        return 100 * self.found_sure / self.sure if self.sure else 0.0

    @property
    def error_rate(self) -> float:
        """The alignment error rate: 0 if all sure links and only possible ones were found."""
        total = self.found + self.sure
        return 100 * (1 - (self.found_sure + self.found_possible) / total) if total else 0.0


def parse_links(line: str, place: str, first: int = 0) -> GoldAlignment:
    """Read links such as ``1-2 3p4``, whose words are counted from ``first``.

    ``place`` names the line in errors.
    """
    sure, possible = set(), set()
    for text in line.split():
        match = _LINK.fullmatch(text)
        if match is None:
            raise UserError(f"{place}: {text[:20]!r} is not a link such as 2-3, or 2p3")
        link = int(match[1]) - first, int(match[3]) - first
        if min(link) < 0:
            raise UserError(f"{place}: the link {text} has a word before the first, {first}")
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return GoldAlignment(frozenset(sure), frozenset(possible))


def alignment_score(
    found: Sequence[Iterable[Link]], gold: Sequence[GoldAlignment]
) -> AlignmentScore:
    """Compare the links of sentence pairs with gold ones."""
    if len(found) != len(gold):
        raise UserError(f"{len(found)} alignments, but {len(gold)} gold alignments")
    links = [set(each) for each in found]
    return AlignmentScore(
        found=sum(map(len, links)),
        found_sure=sum(len(each & one.sure) for each, one in zip(links, gold, strict=True)),
        found_possible=sum(len(each & one.possible) for each, one in zip(links, gold, strict=True)),
        sure=sum(len(one.sure) for one in gold),
    )
