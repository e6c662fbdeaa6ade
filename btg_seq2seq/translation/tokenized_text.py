"""A text, its tokens and its units: from spans of units to characters, and back.

Rules and people refer to characters, the chart to units. Where a rule ends inside a unit, the unit
is cut in two, and so is a token where it must be.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Literal

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from btg_seq2seq.grammar import Span
from btg_seq2seq.text import TextSide, encode_side, word_token_spans
from btg_seq2seq.text.units import fenceposts_of
from btg_seq2seq.text.words import kind_of

Form = Literal["NFC", "NFKC"]
NOT_SPACE = re.compile(r"\S")
FORMS: tuple[Form | None, ...] = (None, "NFC", "NFKC")  # normal forms used by tokenizers


@dataclass(frozen=True)
class TokenizedText:
    """A sentence and its tokens, without those that frame it.

    ``offsets`` are the characters of each token; several tokens may share a character. ``posts``
    are the tokens at which units meet, from 0 to the number of tokens.
    """

    text: str
    tokens: tuple[int, ...]
    offsets: tuple[Span, ...]
    posts: tuple[int, ...]

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.posts) - 1

    @cached_property
    def fenceposts(self) -> list[int]:
        """First character of each token, white space skipped, and the length of the text."""
        starts = [self._skip_space(start) for start, _ in self.offsets]
        return [*starts, len(self.text)]

    def unit_span(self, start: int, stop: int) -> Span | None:
        """Return the units of a span of characters; ``None`` if it ends inside of a unit.

        White space belongs to the word after it; at the end of a text, to the last word.
        """
        first = self._fencepost(start)
        is_end = self._skip_space(stop) == len(self.text)
        last = self.units if is_end else self._fencepost(stop)
        return None if first is None or last is None or first >= last else (first, last)

    def characters(self, start: int, stop: int) -> Span:
        """Return the characters of a span of units; spans that tile the units tile the text."""
        first = 0 if start == 0 else self._character(start)
        return first, len(self.text) if stop == self.units else self._character(stop)

    def _character(self, unit: int) -> int:
        """First character of a unit."""
        return self.fenceposts[self.posts[unit]]

    def _fencepost(self, character: int) -> int | None:
        """The unit that begins with a character."""
        character = self._skip_space(character)
        place = bisect_left(range(self.units + 1), character, key=self._character)
        is_found = place <= self.units and self._character(place) == character
        return place if is_found else None

    def _skip_space(self, character: int) -> int:
        found = NOT_SPACE.search(self.text, character)
        return found.start() if found else max(character, len(self.text))


class TextReader:
    """Tokenizes texts.

    ``unit_table`` says which tokens begin a unit, as a model has it; without it, all tokens do.
    """

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, unit_table: Tensor | None = None
    ) -> None:
        self.tokenizer, self.unit_table = tokenizer, unit_table

    def read(self, texts: Sequence[str], side: TextSide = "source") -> list[TokenizedText]:
        """Tokenize texts; one of white space alone has no tokens.

        Given translations are tokenized as the target side.
        """
        if not texts:
            return []
        if not self.tokenizer.is_fast:
            return [self._read_without_offsets(text, side) for text in texts]
        encoding = encode_side(self.tokenizer, list(texts), side, return_offsets_mapping=True)
        rows = zip(texts, encoding["input_ids"], encoding["offset_mapping"], strict=True)
        return [
            self._with_units(text, tuple(tokens), _by_byte(text, offsets))
            if text.strip()
            else _empty(text)
            for text, tokens, offsets in rows
        ]

    def _with_units(
        self, text: str, tokens: tuple[int, ...], offsets: tuple[Span, ...]
    ) -> TokenizedText:
        posts = tuple(fenceposts_of(self.unit_table, tokens))
        return TokenizedText(text, tokens, offsets, posts)

    def _read_without_offsets(self, text: str, side: TextSide) -> TokenizedText:
        """Find offsets for a slow tokenizer: by words, or by bytes if each has a token."""
        if not text.strip():
            return _empty(text)
        tokens = tuple(encode_side(self.tokenizer, text, side)["input_ids"])
        if len(tokens) == len(text.encode()):
            offsets = _by_byte(text, [(0, len(text))] * len(tokens))
            return self._with_units(text, tokens, offsets)
        by_word: list[Span] = []
        position = 0
        for word, (start, stop) in zip(
            text.split(), word_token_spans(self.tokenizer, text, side), strict=True
        ):
            position = text.index(word, position)
            by_word += [(position, position + len(word))] * (stop - start)
            position += len(word)
        return self._with_units(text, tokens, tuple(by_word))

    def cut(
        self,
        source: TokenizedText,
        characters: Iterable[int],
        between_tokens: Iterable[int] = (),
    ) -> TokenizedText:
        """Cut units at the given characters, and tokens too, as far as possible.

        At the characters ``between_tokens``, units are cut only where two tokens meet.
        """
        wanted = {source._skip_space(character) for character in characters}
        cut = self._cut_tokens(source, sorted(wanted - {*source.fenceposts}))
        wanted |= {source._skip_space(character) for character in between_tokens}
        missing = wanted - {cut._character(unit) for unit in range(cut.units)}
        # The first token of a character: others may share it.
        new = [
            bisect_left(cut.fenceposts, character) for character in missing & {*cut.fenceposts[:-1]}
        ]
        return replace(cut, posts=tuple(sorted([*cut.posts, *new]))) if new else cut

    def _cut_tokens(self, source: TokenizedText, inside: Sequence[int]) -> TokenizedText:
        if not inside:
            return source
        tokens: list[int] = []
        offsets: list[Span] = []
        for token, (start, stop) in zip(source.tokens, source.offsets, strict=True):
            cuts = inside[bisect_right(inside, start) : bisect_left(inside, stop)]
            parts = self._parts(token, source.text, [*cuts, stop]) if cuts else [[token]]
            if parts is None:
                parts, cuts = [[token]], []
            for part, span in zip(parts, pairwise([start, *cuts, stop]), strict=True):
                tokens += part
                offsets += [span] * len(part)
        return self._with_units(source.text, tuple(tokens), tuple(offsets))

    def _parts(self, token: int, text: str, stops: Sequence[int]) -> list[list[int]] | None:
        """Tokens for each part of a token that is cut at all but the last of ``stops``."""
        piece = str(self.tokenizer.convert_ids_to_tokens(token))
        tail = text[stops[0] : stops[-1]]
        if not piece.endswith(tail) or piece == tail:
            return None  # not spelled like the text: a byte, or an unknown word
        strings = [piece.removesuffix(tail)]
        strings += [text[start:stop] for start, stop in pairwise(stops)]
        parts = [self._spell(string) for string in strings]
        return None if None in parts else [part for part in parts if part is not None]

    def _spell(self, string: str) -> list[int] | None:
        """Spell a part of a token with the longest tokens, or with bytes."""
        tokens: list[int] = []
        while string:
            sizes = range(min(len(string), self._longest_piece), 0, -1)
            size = next((size for size in sizes if string[:size] in self._vocabulary), 0)
            if size:
                tokens.append(self._vocabulary[string[:size]])
            else:
                size, names = 1, [f"<0x{byte:02X}>" for byte in string[0].encode()]
                if not self._vocabulary.keys() >= {*names}:
                    return None
                tokens += [self._vocabulary[name] for name in names]
            string = string[size:]
        return tokens

    @cached_property
    def _longest_piece(self) -> int:
        return max(map(len, self._vocabulary), default=0)

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        special: Collection[str] = self.tokenizer.all_special_tokens
        vocabulary = self.tokenizer.get_vocab()
        return {piece: token for piece, token in vocabulary.items() if piece not in special}


def _empty(text: str) -> TokenizedText:
    return TokenizedText(text, (), (), (0,))


def _by_byte(text: str, offsets: Sequence[Span]) -> tuple[Span, ...]:
    """Offsets in which each token for a single byte has the character of that byte.

    Tokenizers only report that a run of bytes stands for a run of characters.
    """
    result: list[Span] = []
    for (start, stop), run in groupby(offsets):
        count = len(list(run))
        spans = [(start, stop)] * count
        if count > 1:
            end = stop  # a mark that is composed with its letter may be left out
            while end < len(text) and kind_of(text[end]) == "mark":
                end += 1
            choices = (
                _character_of_bytes(text, start, last, form)
                for last in (stop, end)
                for form in FORMS
            )
            spans = next((choice for choice in choices if len(choice) == count), spans)
        result += spans
    return tuple(result)


def _character_of_bytes(text: str, start: int, stop: int, form: Form | None) -> list[Span]:
    """Character, with its marks, of each byte of a text in a normal form."""
    borders = [place for place in range(start + 1, stop) if kind_of(text[place]) != "mark"]
    spans: list[Span] = []
    for span in pairwise([start, *borders, stop]):
        character = text[slice(*span)]
        normal = character if form is None else unicodedata.normalize(form, character)
        spans += [span] * len(normal.encode())
    return spans
