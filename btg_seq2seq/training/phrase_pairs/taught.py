"""Phrase pairs of derivations that the lexical teacher draws: as often as they are probable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from btg_seq2seq.derivations.lexical import LexicalSettings, LexicalTeacher, UnitCorpus
from btg_seq2seq.training.phrase_pairs.consistent import PhrasePair


def taught_pairs(
    sources: Sequence[str], targets: Sequence[str], most: int, longest: int, seed: int = 0
) -> Iterator[list[PhrasePair]]:
    """Find the phrase pairs of each sentence pair.

    Adjacent phrases whose translations are adjacent make a phrase, too.

    Args:
        sources, targets: the bitext, line by line.
        most: most phrases of a derivation.
        longest: most words of a phrase, on either side.
        seed: seed of the draws.
    """
    settings = LexicalSettings(max_segments=most, max_phrase_length=longest, seed=seed)
    corpus = UnitCorpus.of_text(sources, targets)
    taught = LexicalTeacher.learn(corpus, settings).teach()
    for position in range(len(taught)):
        yield [
            pair
            for draw in range(taught.count)
            for pair in joined(taught.phrases(position, draw))
            if max(pair.stop - pair.start, pair.target_stop - pair.target_start) <= longest
        ]


def joined(rows: Sequence[Sequence[int]]) -> Iterator[PhrasePair]:
    """Find all phrase pairs that are made of phrases ``i, k, a, c``, given in target order."""
    for first, (start, stop, target_start, _) in enumerate(rows):
        covered = 0
        for left, right, _, target_stop in rows[first:]:
            start, stop = min(start, left), max(stop, right)
            covered += right - left
            if covered == stop - start:  # there is no gap
                yield PhrasePair(start, stop, target_start, target_stop)
