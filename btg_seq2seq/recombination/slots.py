"""Slots: places in trees whose phrases may be exchanged, by the overlap of their phrases.

A slot is a place in a tree, told by the way to it from the root. Phrases of one slot can be swapped
without changing any order. Two slots exchange phrases if they hold the same phrase pairs, about as
often as two samples of one slot would: nothing is known of a task's grammar.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations
from random import Random
from statistics import median
from typing import NamedTuple

from btg_seq2seq.grammar import Node, Tree

ROOT = ""
_FEW = 3  # a phrase pair is rare if it occurs this many times less often than half of all do
Unit = tuple[int, ...]  # its tokens
PhraseUnits = tuple[tuple[Unit, ...], tuple[Unit, ...]]  # source and target


class Part(NamedTuple):
    """A part of a tree: its slot and its leaves ``[first, stop)``, counted in target order."""

    slot: str  # from the root down: [ or < and 1 or 2, the first or second part in the target
    first: int
    stop: int
    inverted: bool = False
    parts: tuple[Part, ...] = ()  # in target order; a leaf has none

    @classmethod
    def of_order(cls, permutation: tuple[int, ...]) -> Part:
        """The whole tree whose leaves, in target order, have these ranks in the source."""
        return cls._of(Tree.from_phrases([(rank, rank + 1) for rank in permutation]), ROOT, 0)

    @classmethod
    def _of(cls, tree: Tree, slot: str, first: int) -> Part:
        if not isinstance(tree, Node):
            return cls(slot, first, first + 1)
        middle = first + tree.first.segments
        parts = (
            cls._of(tree.first, child_slot(slot, tree.inverted, 1), first),
            cls._of(tree.second, child_slot(slot, tree.inverted, 2), middle),
        )
        return cls(slot, first, first + tree.segments, tree.inverted, parts)

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return self.stop - self.first

    def below(self) -> Iterator[Part]:
        """All parts but the whole."""
        for part in self.parts:
            yield part
            yield from part.below()


def child_slot(slot: str, inverted: bool, number: int) -> str:
    """The slot of a part of a node: the first or second in the target."""
    return f"{slot}{'<' if inverted else '['}{number}"


def overlaps(counts: Mapping[str, Mapping[PhraseUnits, int]]) -> dict[tuple[str, str], float]:
    """Morisita's index of every two slots that have a phrase pair in common.

    The chance that a phrase pair from one slot equals one from the other, over the chance within a
    slot: 0 where nothing is shared, about 1 for two samples of the same phrases, however small.
    Phrase pairs seen once, as wrong boundaries make them, hardly count.
    """
    slots_of: defaultdict[PhraseUnits, list[str]] = defaultdict(list)
    for slot, occurrences in counts.items():
        for phrase_pair in occurrences:
            slots_of[phrase_pair].append(slot)
    shared: Counter[tuple[str, str]] = Counter()
    for phrase_pair, slots in slots_of.items():
        for one, other in combinations(sorted(slots), 2):
            shared[one, other] += counts[one][phrase_pair] * counts[other][phrase_pair]
    sizes = {slot: sum(occurrences.values()) for slot, occurrences in counts.items()}
    within = {
        slot: sum(count * (count - 1) for count in occurrences.values())
        / max(1, sizes[slot] * (sizes[slot] - 1))
        for slot, occurrences in counts.items()
    }
    return {
        (one, other): 2 * equal / (sizes[one] * sizes[other]) / (within[one] + within[other])
        for (one, other), equal in shared.items()
        if within[one] + within[other] > 0
    }


class Partners:
    """For every slot, the parts of sentences that may stand there.

    Args:
        phrase_pairs: by slot, the phrase pair that each sentence has there.
        overlap: two slots with at least this Morisita index exchange phrases.
        rare: phrase pairs that occur a third as often as is usual in their slot, or less, are
            taken for wrong, and nothing of their sentences is passed on; unless they are more than
            this share of the slot: rare phrases are then nothing unusual.
    """

    def __init__(
        self, phrase_pairs: Mapping[str, Mapping[int, PhraseUnits]], overlap: float, rare: float
    ) -> None:
        counts = {slot: Counter(chosen.values()) for slot, chosen in phrase_pairs.items()}
        wrong = suspicious(phrase_pairs, rare)
        self.sentences = {
            slot: array("q", [sentence for sentence in chosen if sentence not in wrong] or chosen)
            for slot, chosen in phrase_pairs.items()
        }
        self.overlaps = overlaps(counts)
        self.slots = {slot: [slot] for slot in phrase_pairs}
        for (one, other), index in sorted(self.overlaps.items()):
            if index >= overlap:
                self.slots[one].append(other)
                self.slots[other].append(one)
        self.sizes = {
            slot: sum(len(self.sentences[other]) for other in others)
            for slot, others in self.slots.items()
        }

    def draw(self, slot: str, random: Random) -> tuple[int, str] | None:
        """A sentence, and the slot of its part that is to stand in this one; each equally likely.

        By occurrences, not by different phrase pairs: of those, wrong boundaries make many.
        """
        place = int(random.random() * self.sizes[slot])
        for other in self.slots[slot]:
            sentences = self.sentences[other]
            if place < len(sentences):
                return sentences[place], other
            place -= len(sentences)
        return None


def suspicious(phrase_pairs: Mapping[str, Mapping[int, PhraseUnits]], rare: float) -> set[int]:
    """Sentences with a phrase pair that is taken for wrong, see ``Partners``.

    Where one phrase has a wrong boundary, its neighbour has too, however usual it looks.
    """
    return set().union(*(_rare(chosen, rare) for chosen in phrase_pairs.values()))


def _rare(chosen: Mapping[int, PhraseUnits], rare: float) -> set[int]:
    """The sentences of a slot whose phrase pair there looks like a mistake."""
    counts = Counter(chosen.values())
    often = [counts[phrase_pair] for phrase_pair in chosen.values()]
    limit = median(often) / _FEW
    found = {key for key, phrase_pair in chosen.items() if counts[phrase_pair] <= limit}
    return found if len(found) <= rare * len(often) else set()
