"""Derivations mended by what recurs: of phrases that look wrong, boundaries are moved.

A phrase may be cut wrongly in all of its sentences, and its neighbours with it. They occur in other
company too, where they are right: so a boundary is moved to where the phrase pairs of the sentence
are known from other sentences. Where a phrase is frequent, it is known in its wrong form, and no
sentence alone would be better off: then the boundary is moved in all of its sentences at once.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise, product

from btg_seq2seq.derivations.corpus import DerivationCorpus
from btg_seq2seq.derivations.proposals import FARTHEST
from btg_seq2seq.recombination.slots import PhraseUnits
from btg_seq2seq.text.corpus_units import CorpusUnits
from btg_seq2seq.text.units import NO_JOINS, WordJoins

Phrases = Sequence[Sequence[int]]  # source start and stop, target start and stop; in target order
Moves = dict[int, list[list[int]]]  # by sentence, its phrases with a boundary moved


def mended(
    derivations: DerivationCorpus,
    sides: tuple[CorpusUnits, CorpusUnits],
    sentences: Collection[int],
    joins: WordJoins = NO_JOINS,
) -> DerivationCorpus:
    """Derivations in which these sentences have, if need be, boundaries moved.

    ``sides`` are source and target. A boundary is never put where it may cut a word, see
    ``word_joins``; and no phrase gets longer than the longest that there is on its side.
    """
    mending = _Mending(derivations, sides, joins)
    mending.move_together(sentences)
    for sentence in sorted(sentences):
        mending.move_alone(sentence)
    return DerivationCorpus.packed(mending.rows, derivations.prefix)


class _Mending:
    """The phrases of all sentences, and how often each phrase pair occurs among them."""

    def __init__(
        self,
        derivations: DerivationCorpus,
        sides: tuple[CorpusUnits, CorpusUnits],
        joins: WordJoins,
    ) -> None:
        self.sides, self.joins = sides, joins
        self.rows = [derivations.phrases(sentence) for sentence in range(len(derivations))]
        self.counts = Counter(
            phrase_pair
            for sentence, phrases in enumerate(self.rows)
            for phrase_pair in self.phrase_pairs(sentence, phrases)
        )
        lengths = derivations.spans[:, 1::2] - derivations.spans[:, ::2]  # [phrases, 2]
        self.longest: list[int] = lengths.max(0, initial=0).tolist()

    def phrase_pairs(self, sentence: int, phrases: Phrases) -> list[PhraseUnits]:
        """The phrase pairs of a sentence, as units."""
        source, target = (side[sentence] for side in self.sides)
        return [
            (tuple(source[start:stop]), tuple(target[first:last]))
            for start, stop, first, last in phrases
        ]

    def move_alone(self, sentence: int) -> None:
        """Move a boundary of a sentence on either side to where its phrase pairs recur."""
        self.counts.subtract(self.phrase_pairs(sentence, self.rows[sentence]))
        choices = list(self.moved(sentence))
        scores = [
            sum(
                math.log1p(self.counts[phrase_pair])
                for phrase_pair in self.phrase_pairs(sentence, choice)
            )
            for choice in choices
        ]
        self.rows[sentence] = choices[scores.index(max(scores))]  # the first of equals: as it is
        self.counts.update(self.phrase_pairs(sentence, self.rows[sentence]))

    def move_together(self, sentences: Collection[int]) -> None:
        """Move a boundary of a phrase pair in all of these sentences that have it.

        Done where it makes more of all phrase pairs recur, by the score that ``move_alone`` gives a
        sentence, summed; each sentence is changed once at most.
        """
        together: defaultdict[tuple[PhraseUnits, PhraseUnits], Moves] = defaultdict(dict)
        for sentence in sorted(sentences):
            before = self.phrase_pairs(sentence, self.rows[sentence])
            for choice in self.moved(sentence, both=False):
                for old, new in zip(before, self.phrase_pairs(sentence, choice), strict=True):
                    if old != new:
                        together[old, new][sentence] = choice
        several = [moves for moves in together.values() if len(moves) > 1]
        gains = [self.gain(self.change(moves)) for moves in several]
        best_first = sorted(range(len(several)), key=gains.__getitem__, reverse=True)
        changed: set[int] = set()
        for place in (place for place in best_first if gains[place] > 0):
            moves = {key: choice for key, choice in several[place].items() if key not in changed}
            difference = self.change(moves)
            if len(moves) > 1 and self.gain(difference) > 0:
                self.counts.update(difference)
                changed |= moves.keys()
                for sentence, choice in moves.items():
                    self.rows[sentence] = choice

    def change(self, moves: Moves) -> Counter[PhraseUnits]:
        """The change in the count of each phrase pair."""
        difference: Counter[PhraseUnits] = Counter()
        for sentence, choice in moves.items():
            difference.update(self.phrase_pairs(sentence, choice))
            difference.subtract(self.phrase_pairs(sentence, self.rows[sentence]))
        return difference

    def gain(self, difference: Counter[PhraseUnits]) -> float:
        """The gain of a change."""
        return sum(
            math.lgamma(self.counts[phrase_pair] + more + 1)
            - math.lgamma(self.counts[phrase_pair] + 1)
            for phrase_pair, more in difference.items()
        )

    def moved(self, sentence: int, both: bool = True) -> Iterator[list[list[int]]]:
        """The phrases as they are, and all with one boundary moved in the source, the target, both.

        No phrase gets lost, and their order stays the same.
        """
        phrases = self.rows[sentence]
        units = [side[sentence] for side in self.sides]
        sides = [[(0, 0), *self.moves(phrases, *side)] for side in enumerate(units)]
        for (source, by), (target, far) in product(*sides):
            if by and far and not both:
                continue
            yield [
                [
                    start + by * (start == source),
                    stop + by * (stop == source),
                    first + far * (first == target),
                    last + far * (last == target),
                ]
                for start, stop, first, last in phrases
            ]

    def moves(
        self, phrases: Phrases, side: int, units: Sequence[tuple[int, ...]]
    ) -> Iterator[tuple[int, int]]:
        """Boundaries between two phrases on a side, and by how much each can be moved."""
        spans = sorted((phrase[2 * side], phrase[2 * side + 1]) for phrase in phrases)
        for (start, boundary), (_, stop) in pairwise(spans):
            room = max(self.longest[side], boundary - start, stop - boundary)
            least = max(start + 1, stop - room, boundary - FARTHEST)
            most = min(stop - 1, start + room, boundary + FARTHEST)
            for new in range(least, most + 1):
                if new != boundary and not self.joins.at(units, new):
                    yield boundary, new - boundary
