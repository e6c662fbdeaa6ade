"""Words of a translation, and the words of the source that they come from.

A phrase of the derivation says which source words its target words come from. Within a phrase,
words that are alike belong together, and the others follow in order.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from btg_seq2seq.grammar import Span
from btg_seq2seq.text.words import is_unspaced, words_of
from btg_seq2seq.translation.documents.blocks import Block, escaped
from btg_seq2seq.translation.documents.markup import Markup
from btg_seq2seq.translation.documents.placeholders import placeholders
from btg_seq2seq.translation.documents.protected_rules import is_protection
from btg_seq2seq.translation.documents.sentences import stripped
from btg_seq2seq.translation.translation import Translation


@dataclass(eq=False)
class Piece:
    """A word of the translation as it is written in the document.

    ``space`` stands before it; ``word`` is the number of its source word in the block.
    """

    space: str
    text: str
    word: int
    is_protected: bool = False


@dataclass(frozen=True)
class Translated:
    """Pieces of a block or sentence; ``near`` has the piece closest to a source word."""

    pieces: list[Piece]
    near: dict[int, Piece]


class SentencePieces:
    """Cuts the translation of one sentence of a block into pieces."""

    def __init__(self, block: Block, span: Span, translation: Translation, markup: Markup) -> None:
        self.block, self.span, self.translation, self.markup = block, span, translation, markup
        first = bisect_left(block.words, span[0], key=lambda word: word[0])
        last = bisect_left(block.words, span[1], key=lambda word: word[0])
        self.words = range(first, last)
        protected = block.protected_by_span
        self.protected = {
            number: protected[block.words[number]]
            for number in self.words
            if block.words[number] in protected
        }

    def cut(self) -> Translated:
        """All pieces: everything that is protected is among them exactly once."""
        pieces: list[Piece] = []
        near: dict[int, Piece] = {}
        phrases = self._phrases()
        given = {number for number, *_ in phrases if number is not None}
        text = self._without_copies([span for number, _, span in phrases if number is not None])
        end = 0
        for number, words, (start, stop) in phrases:
            if number is not None:
                one = self.protected[number]
                space = _space(text[end:start], bool(pieces))
                pieces.append(Piece(space, one.raw, number, is_protected=True))
                near[number] = pieces[-1]
                end = stop
                continue
            own = [(start + word.start, start + word.stop) for word in words_of(text[start:stop])]
            links = self._links([text[slice(*word)] for word in own], words)
            new: list[Piece] = []
            for (first, last), word in zip(own, links, strict=True):
                space = _space(text[end:first], bool(pieces or new))
                new.append(Piece(space, escaped(text[first:last], self.markup), word))
                end = last
            for rank, word in enumerate(words):
                if new:
                    near[word] = new[int((rank + 0.5) * len(new) / len(words))]
            pieces += new
        lost = [number for number in self.protected if number not in given]
        for number in lost:
            self._insert(pieces, near, number)
        self._space_as_in_source(pieces)
        return Translated(pieces, near)

    def _phrases(self) -> list[tuple[int | None, list[int], Span]]:
        """Phrases in target order: what they protect, their source words, their target's span."""
        derivation = self.translation.derivation
        if derivation is None:
            return [(None, list(self.words), (0, len(self.translation.text)))]
        phrases: list[tuple[int | None, list[int], Span]] = []
        given: set[int] = set()
        for phrase in derivation.phrases:
            start, stop = (self.span[0] + place for place in phrase.source_span)
            words = self._words_in(start, stop)
            number = words[0] if len(words) == 1 and words[0] in self.protected else None
            if number in given or not is_protection(phrase.rule):
                number = None
            if number is not None:
                given.add(number)
            span = phrase.target_span
            if number is not None:
                span = stripped(self.translation.text, *span)
            phrases.append((number, words, span))
        return phrases

    def _words_in(self, start: int, stop: int) -> list[int]:
        """Words whose middle is in a span of characters."""
        first, last = (
            bisect_left(self.words, place, key=lambda number: sum(self.block.words[number]) - 1)
            for place in (2 * start, 2 * stop)
        )
        return list(self.words[first:last])

    def _without_copies(self, spans: Sequence[Span]) -> str:
        """The translation, in which copies of what is protected are blank, except ``spans``."""
        text = self.translation.text
        copies = {self.block.plain[one.start : one.stop] for one in self.protected.values()}
        if not copies:
            return text
        characters = list(text)
        for start, stop in spans:
            characters[start:stop] = "\0" * (stop - start)
        rest = "".join(characters)
        pattern = re.compile("|".join(map(re.escape, sorted(copies, key=len, reverse=True))))
        return pattern.sub(lambda match: " " * len(match.group()), rest)

    def _links(self, targets: Sequence[str], words: Sequence[int]) -> list[int]:
        """Number of the source word that each target word comes from."""
        if not words:
            return [self.words[0] if self.words else 0] * len(targets)
        links = [
            words[int((rank + 0.5) * len(words) / len(targets))] for rank in range(len(targets))
        ]
        sources = [self.block.plain[slice(*self.block.words[word])] for word in words]
        once = {text for text, count in Counter(sources).items() if count == 1}
        once &= {text for text, count in Counter(targets).items() if count == 1}
        for rank, target in enumerate(targets):
            if target in once:
                links[rank] = words[sources.index(target)]
        return links

    def _insert(self, pieces: list[Piece], near: dict[int, Piece], number: int) -> None:
        """Insert what was lost behind the piece of the word before it."""
        before = max((piece.word for piece in pieces if piece.word < number), default=None)
        place = 0
        if before is not None:
            place = 1 + max(rank for rank, piece in enumerate(pieces) if piece.word == before)
        piece = Piece(" " if place else "", self.protected[number].raw, number, is_protected=True)
        if not place and pieces:
            pieces[0].space = " "
        pieces.insert(place, piece)
        near[number] = piece

    def _space_as_in_source(self, pieces: Sequence[Piece]) -> None:
        """Separate what is protected from a neighbour as in the source, if it is the same."""
        for first, second in itertools.pairwise(pieces):
            if not (first.is_protected or second.is_protected) or second.word != first.word + 1:
                continue
            stop, start = self.block.words[first.word][1], self.block.words[second.word][0]
            glued = stop == start and self._remain(first, second)
            second.space = "" if glued else " "

    def _remain(self, first: Piece, second: Piece) -> bool:
        """Tell whether two pieces without a space between them are still what they were."""
        if any(piece.is_protected and piece.text.startswith("<") for piece in (first, second)):
            return True  # markup
        both, middle = first.text + second.text, len(first.text)
        found = placeholders(both)
        return (not first.is_protected or (0, middle) in found) and (
            not second.is_protected or (middle, len(both)) in found
        )


def join_sentences(sentences: Sequence[tuple[str, Translated]]) -> Translated:
    """Join sentences; each comes with the white space before it in the source."""
    pieces: list[Piece] = []
    near: dict[int, Piece] = {}
    for space, sentence in sentences:
        if sentence.pieces and pieces:
            glued = not space and not is_unspaced(pieces[-1].text, sentence.pieces[0].text)
            sentence.pieces[0].space = " " if glued else space
        pieces += sentence.pieces
        near |= sentence.near
    return Translated(pieces, near)


def _space(between: str, follows: bool) -> str:
    if not follows or not between:
        return ""
    return between if between.strip(" ") else " "
