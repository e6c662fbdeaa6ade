"""Derivations mended by what recurs: of phrases that look wrong, boundaries are moved.

A phrase may be cut wrongly in all of its sentences, and its neighbours with it. They occur in other
company too, where they are right: so a boundary is moved to where the phrase pairs of the sentence
are known from other sentences. Where a phrase is frequent, it is known in its wrong form, and no
sentence alone would be better off: then the boundary is moved in all of its sentences at once.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise, product

from btg_seq2seq.text.batches import EncodedBitext
from btg_seq2seq.training.collected import Derivations
from btg_seq2seq.training.partners import TokenPair
from btg_seq2seq.training.proposals import FARTHEST

Phrases = Sequence[Sequence[int]]  # source start and stop, target start and stop; in target order


def mended(
    derivations: Derivations, examples: EncodedBitext, sentences: Collection[int]
) -> Derivations:
    """Derivations in which these sentences have, if need be, one boundary moved on either side."""
    prefix = derivations.prefix
    rows = [derivations.phrases(sentence) for sentence in range(len(derivations))]

    def pairs(sentence: int, phrases: Phrases) -> list[TokenPair]:
        source, target = examples.source[sentence], examples.target[sentence]
        return [
            (tuple(source[prefix + start : prefix + stop]), tuple(target[first:last]))
            for start, stop, first, last in phrases
        ]

    counts = Counter(pair for sentence, own in enumerate(rows) for pair in pairs(sentence, own))
    _move_together(rows, counts, sentences, pairs)
    for sentence in sorted(sentences):
        counts.subtract(pairs(sentence, rows[sentence]))
        choices = list(_moved(rows[sentence]))
        scores = [
            sum(math.log1p(counts[pair]) for pair in pairs(sentence, choice)) for choice in choices
        ]
        rows[sentence] = choices[scores.index(max(scores))]  # the first of equals: as it is
        counts.update(pairs(sentence, rows[sentence]))
    return Derivations.packed(rows, prefix)


def _move_together(
    rows: list[list[list[int]]],
    counts: Counter[TokenPair],
    sentences: Collection[int],
    pairs: Callable[[int, Phrases], list[TokenPair]],
) -> None:
    """Move a boundary of a phrase pair in all of these sentences that have it.

    Done where it makes more of all phrase pairs recur, by the score that ``mended`` gives a
    sentence, summed; each sentence is changed once at most.
    """
    together: defaultdict[tuple[TokenPair, TokenPair], dict[int, list[list[int]]]]
    together = defaultdict(dict)
    for sentence in sorted(sentences):
        before = pairs(sentence, rows[sentence])
        for choice in _moved(rows[sentence], both=False):
            for old, new in zip(before, pairs(sentence, choice), strict=True):
                if old != new:
                    together[old, new][sentence] = choice

    def change(moves: dict[int, list[list[int]]]) -> Counter[TokenPair]:
        difference: Counter[TokenPair] = Counter()
        for sentence, choice in moves.items():
            difference.update(pairs(sentence, choice))
            difference.subtract(pairs(sentence, rows[sentence]))
        return difference

    def gain(difference: Counter[TokenPair]) -> float:
        return sum(
            math.lgamma(counts[pair] + more + 1) - math.lgamma(counts[pair] + 1)
            for pair, more in difference.items()
        )

    several = [moves for moves in together.values() if len(moves) > 1]
    gains = [gain(change(moves)) for moves in several]
    best_first = sorted(range(len(several)), key=gains.__getitem__, reverse=True)
    changed: set[int] = set()
    for place in (place for place in best_first if gains[place] > 0):
        moves = {key: choice for key, choice in several[place].items() if key not in changed}
        difference = change(moves)
        if len(moves) > 1 and gain(difference) > 0:
            counts.update(difference)
            changed |= moves.keys()
            for sentence, choice in moves.items():
                rows[sentence] = choice


def _moved(phrases: Phrases, both: bool = True) -> Iterator[list[list[int]]]:
    """The phrases as they are, and all with one boundary moved in the source, the target or both.

    No phrase gets lost, and their order stays the same.
    """
    sides = [[(0, 0), *_moves(phrases, side)] for side in (0, 2)]
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


def _moves(phrases: Phrases, side: int) -> Iterator[tuple[int, int]]:
    """Boundaries between two phrases on a side, and by how much each can be moved."""
    spans = sorted((phrase[side], phrase[side + 1]) for phrase in phrases)
    for (start, boundary), (_, stop) in pairwise(spans):
        least, most = max(start + 1 - boundary, -FARTHEST), min(stop - 1 - boundary, FARTHEST)
        yield from ((boundary, by) for by in range(least, most + 1) if by)
