"""From a document to its blocks, and to what is copied between them.

In HTML, the names of tags say which of them end a run of text. In XML, an element that stands in
the middle of text is inside a block; others end one. In plain text, line breaks do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import regex

from btg_seq2seq.translation.documents.blocks import Block, BlockWriter
from btg_seq2seq.translation.documents.markup import Markup, Token, tokens_of

Cut = Literal["none", "lines", "paragraphs"]

# HTML elements that end a run of text; all others, known or not, are in the middle of it.
OUTER_NAMES = (
    "address article aside audio blockquote body br button canvas caption center col colgroup dd "
    "details dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 "
    "h2 h3 h4 h5 h6 head header hgroup hr html iframe legend li link main map menu meta nav "
    "noembed noframes noscript object ol optgroup option p param plaintext pre script search "
    "section select source style summary table tbody td template textarea tfoot th thead title tr "
    "track ul video xmp"
)
OUTER = frozenset(OUTER_NAMES.split())
UNTRANSLATED_NAMES = "code kbd math pre samp script style sub sup svg textarea tt var xmp"
UNTRANSLATED = frozenset(UNTRANSLATED_NAMES.split())
NO_TRANSLATION = regex.compile(
    r"""\stranslate\s*=\s*["']?no\b | \sclass\s*=\s*(?:"[^"]*|'[^']*|[^\s>]*)\bnotranslate\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
LINE_BREAK = regex.compile(r"(\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])")
PARAGRAPH_BREAK = regex.compile(r"((?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)\s*|[\f\u2029])")


def parts_of(
    text: str, markup: Markup, cut: Cut, copied: Collection[str] = ()
) -> list[str | Block]:
    """Blocks, and the strings between them; what is in no block is copied.

    ``copied`` are names of elements that are kept as they are, in the place of a word.
    """
    if markup != "text":
        return _Reader(list(tokens_of(text, markup)), markup, copied).parts()
    pattern = PARAGRAPH_BREAK if cut == "paragraphs" else LINE_BREAK
    parts: list[str | Block] = []
    for rank, piece in enumerate(pattern.split(text)):
        if rank % 2:
            parts.append(piece)
        elif piece:
            parts += _Reader(list(tokens_of(piece, markup)), markup).parts()
    return parts


class _Reader:
    """Reads tokens one after the other; blocks end at tags that are outside of text."""

    def __init__(
        self, tokens: Sequence[Token], markup: Markup, copied: Collection[str] = ()
    ) -> None:
        self.tokens, self.markup = tokens, markup
        self.copied = frozenset(copied)
        self.partners, parents = _pairs(tokens)
        self.mixed = {
            parent
            for parent, token in zip(parents, tokens, strict=True)
            if token.kind == "text" and token.raw.strip()
        }
        self.parents = parents
        self._parts: list[str | Block] = []
        self._inside: list[tuple[int, Token]] = []  # of the block under way
        self._kept: dict[int, int] = {}  # first token of an element that is copied: its last

    def parts(self) -> list[str | Block]:
        place = 0
        while place < len(self.tokens):
            last = self._last_untranslated(place)
            if self._is_outer(place):
                self._end_block()
                self._parts.append("".join(one.raw for one in self.tokens[place : last + 1]))
            else:
                if last > place:
                    self._kept[place] = last
                self._inside += ((rank, self.tokens[rank]) for rank in range(place, last + 1))
            place = last + 1
        self._end_block()
        return self._parts

    def _is_outer(self, place: int) -> bool:
        token = self.tokens[place]
        if token.kind == "rest":
            return True
        if token.kind == "text" or self.markup == "text":
            return False
        if self.markup == "xml":
            return self.parents[place] not in self.mixed
        return token.name in OUTER if token.name else False

    def _last_untranslated(self, place: int) -> int:
        """Last token of an element that is copied as a whole; the token itself for any other."""
        token = self.tokens[place]
        if token.kind != "open" or self.markup == "text":
            return place
        is_named = token.name in self.copied
        is_named = is_named or (self.markup == "html" and token.name in UNTRANSLATED)
        if not is_named and not NO_TRANSLATION.search(token.raw):
            return place
        return self.partners.get(place, place)

    def _end_block(self) -> None:
        items, self._inside = self._inside, []
        if not items:
            return
        writer = BlockWriter(self.markup)
        numbers = {number for number, _ in items}
        position = 0
        while position < len(items):
            number, token = items[position]
            last = self._kept.get(number, number)
            inside = items[position : position + 1 + last - number]
            if last > number:
                visible = "".join(one.raw for _, one in inside if one.kind == "text")
                if token.name in self.copied and not visible.strip():
                    visible = token.name  # it stands for something
                writer.add_kept("".join(one.raw for _, one in inside), visible)
            elif token.kind == "text":
                writer.add_text(token.raw)
            elif token.kind == "void" and token.name in self.copied:
                writer.add_kept(token.raw, token.name)
            elif token.kind in ("void", "other"):
                writer.add_point(token.raw)
            elif self.partners.get(number) not in numbers:
                writer.add_single(token.raw, is_opening=token.kind == "open")
            elif token.kind == "open":
                writer.add_open(token.raw)
            else:
                writer.add_close(token.raw)
            position += len(inside)
        self._parts.append(writer.build())


def _pairs(tokens: Sequence[Token]) -> tuple[dict[int, int], list[int]]:
    """Partner of each tag that has one, and the element that each token is in; -1 for none."""
    partners: dict[int, int] = {}
    parents: list[int] = []
    stack: list[int] = []
    opened: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token.kind == "close" and opened.get(token.name):
            while stack:
                last = stack.pop()
                opened[tokens[last].name] -= 1
                if tokens[last].name == token.name:
                    partners[last], partners[place] = place, last
                    break
        parents.append(stack[-1] if stack else -1)
        if token.kind == "open":
            stack.append(place)
            opened[token.name] = opened.get(token.name, 0) + 1
    return partners, parents
