"""From a bitext to the bitext of its phrase pairs, by one of three methods."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Literal

from btg_seq2seq.errors import UserError
from btg_seq2seq.text import Bitext
from btg_seq2seq.text.words import Word, words_of
from btg_seq2seq.training.phrase_pairs.consistent import PhrasePair, consistent_pairs
from btg_seq2seq.training.phrase_pairs.split import random_split
from btg_seq2seq.training.phrase_pairs.taught import taught_pairs
from btg_seq2seq.training.phrase_pairs.word_alignment import fast_align

Method = Literal["trivial", "fast-align", "teacher"]
LONGEST = 7  # words of a phrase, as is usual for phrase tables, unless the caller has a limit


def phrase_bitext(
    bitext: Bitext, method: Method, most: int, seed: int = 0, longest: int = LONGEST
) -> Bitext:
    """Make the bitext of all phrase pairs, as often as they occur.

    Words are those of the grammar: in scripts without spaces, every character is one.

    Args:
        bitext: sentence pairs.
        method: ``trivial`` cuts at random, ``fast-align`` finds phrases by word alignments,
            ``teacher`` draws derivations of the lexical teacher.
        most: most phrases into which a sentence is cut at random or by the teacher.
        seed: seed of the random cuts.
        longest: most words of a phrase that is not cut at random, on both sides.
    """
    sides = [list(map(words_of, side)) for side in (bitext.source, bitext.target)]
    if method == "trivial":
        random = Random(seed)
        found: Iterable[Iterable[PhrasePair]] = (
            random_split(len(source), len(target), most, random)
            for source, target in zip(*sides, strict=True)
        )
    elif method == "teacher":
        found = taught_pairs(bitext.source, bitext.target, most, longest, seed)
    else:
        texts = [
            [_texts(text, words) for text, words in zip(lines, side, strict=True)]
            for lines, side in zip((bitext.source, bitext.target), sides, strict=True)
        ]
        found = (
            consistent_pairs(links, len(source), len(target), longest)
            for links, source, target in zip(fast_align(*texts), *sides, strict=True)
        )
    sources, targets = [], []
    for row, pairs in enumerate(found):
        for pair in pairs:
            sources.append(_phrase(bitext.source[row], sides[0][row], pair.start, pair.stop))
            start, stop = pair.target_start, pair.target_stop
            targets.append(_phrase(bitext.target[row], sides[1][row], start, stop))
    if not sources:
        raise UserError(f"{bitext.name}: no phrase pairs were found; are all lines single words?")
    return Bitext(sources, targets, name=f"phrase pairs of {bitext.name}")


def _texts(text: str, words: list[Word]) -> list[str]:
    return [text[word.start : word.stop] for word in words]


def _phrase(text: str, words: list[Word], start: int, stop: int) -> str:
    return text[words[start].start : words[stop - 1].stop]
