"""Blocks of a document: runs of text with the tags inside them, and what is between them.

A block has a plain text, which is translated, and what was taken out of it: elements around some of
its characters, and points between them. Everything else is copied as it is written.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import regex

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Span
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.documents.markup import PLAIN_TOKEN, Markup
from btg_seq2seq.translation.documents.placeholders import placeholders

MOST_NESTED = 100  # elements within each other in one block
BLANKS = " \t\n\r\f"
SPACES = regex.compile(r"[ \t\n\r\f]++")
# Text and references; a space that must not break is a point, so that it is put back.
REFERENCE = regex.compile(
    r"\u00a0 | &nbsp; | &\#160; | &\#[xX]0*[aA]0;"
    r"| & (?: [A-Za-z][A-Za-z0-9]{1,31}+ | \#\d{1,7}+ | \#[xX][0-9a-fA-F]{1,6}+ ) ;",
    regex.VERBOSE,
)
ROOT = -1


@dataclass(frozen=True)
class Element:
    """A pair of tags around the characters ``[start, stop)``; ``parent`` is an earlier element."""

    opening: str
    closing: str
    start: int
    stop: int
    parent: int = ROOT


@dataclass(frozen=True)
class Point:
    """Markup between two characters: it stays with the word after it, or before it.

    ``is_tag`` for a tag without its partner: such tags keep their order.
    """

    raw: str
    place: int
    parent: int = ROOT
    is_before: bool = True
    is_space: bool = False
    is_tag: bool = False


@dataclass(frozen=True)
class Protected:
    """Characters that are copied, and how they are written in the document."""

    start: int
    stop: int
    raw: str


@dataclass(frozen=True)
class Block:
    """A run of text: its plain text, and what was taken out of it."""

    plain: str
    prefix: str = ""
    suffix: str = ""
    elements: Sequence[Element] = ()
    points: Sequence[Point] = ()
    protected: Sequence[Protected] = ()  # from left to right

    @cached_property
    def words(self) -> list[Span]:
        """Characters of each word; what is protected is one word."""
        words: list[Span] = []
        position = 0
        end = len(self.plain)
        for start, stop in [*((one.start, one.stop) for one in self.protected), (end, end)]:
            between = words_of(self.plain[position:start])
            words += [(position + word.start, position + word.stop) for word in between]
            if start < stop:
                words.append((start, stop))
            position = stop
        return words

    @cached_property
    def borders(self) -> list[int]:
        """Characters before which there is markup, in order."""
        places = [place for one in self.elements for place in (one.start, one.stop)]
        return sorted([*places, *(point.place for point in self.points)])

    @cached_property
    def protected_by_span(self) -> dict[Span, Protected]:
        """Return the protected parts, by their characters."""
        return {(one.start, one.stop): one for one in self.protected}


@dataclass
class BlockWriter:
    """Collects the tokens of a block, then builds it."""

    markup: Markup
    raw: list[str] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    kept: list[Protected] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _open: list[int] = field(default_factory=list)
    _last: str = ""
    _ends_in: str = ""  # the last token, if it is text

    def add_text(self, raw: str) -> None:
        """Add text; references to characters are read in markup."""
        self.raw.append(raw)
        rest = self._space_behind_point(raw)
        self._ends_in = raw if rest else ""
        raw = rest
        if self.markup == "text":
            self._append(raw)
            return
        position = 0
        for match in REFERENCE.finditer(raw):
            self._append_collapsed(raw[position : match.start()])
            position = match.end()
            character = html.unescape(match.group())
            if character == "\u00a0":
                self._append_collapsed(" ")
                self.points.append(Point(match.group(), self._length, self._parent, is_space=True))
            elif character.isspace() or not character.isprintable():
                self.points.append(Point(match.group(), self._length, self._parent))
            else:
                self._append(character)
        self._append_collapsed(raw[position:])

    def add_open(self, raw: str) -> None:
        """Add a tag that opens an element, which is closed in this block."""
        self.raw.append(raw)
        self._ends_in = ""
        if len(self._open) == MOST_NESTED:
            raise UserError(
                f"more than {MOST_NESTED} tags are open within each other at {raw[:40]!r}; remove "
                "some of them"
            )
        element = Element(raw, "", self._length, self._length, self._parent)
        self._open.append(len(self.elements))
        self.elements.append(element)

    def add_close(self, raw: str) -> None:
        """Add the tag that closes the innermost element."""
        self.raw.append(raw)
        self._ends_in = ""
        number = self._open.pop()
        self.elements[number] = replace(self.elements[number], closing=raw, stop=self._length)

    def add_single(self, raw: str, *, is_opening: bool) -> None:
        """Add a tag whose partner is not in this block."""
        self.raw.append(raw)
        self._ends_in = ""
        self.points.append(
            Point(raw, self._length, self._parent, is_before=is_opening, is_tag=True)
        )

    def add_point(self, raw: str) -> None:
        """Add a tag without content, or a comment."""
        self.raw.append(raw)
        self._ends_in = ""
        is_spaced = not self._last or self._last.isspace()
        self.points.append(Point(raw, self._length, self._parent, is_before=is_spaced))

    def add_kept(self, raw: str, visible: str) -> None:
        """Add an element that is copied; ``visible`` is the text in it."""
        before = self._length
        self.raw.append(raw)
        text = " ".join(html.unescape(visible).split())
        if not text:
            self.raw.pop()
            self.add_point(raw)
            return
        self._append(text)
        self._ends_in = ""
        self.kept.append(Protected(before, self._length, raw))

    def build(self) -> str | Block:
        """The block; or what was collected as it is, if there is nothing to translate."""
        raw, whole = "".join(self.raw), "".join(self._parts)
        plain = whole.rstrip(BLANKS) if self.markup == "html" else whole
        protected = self._protected(plain)
        block = Block(plain, "", "", (), (), protected)
        if not any(_is_word(plain[slice(*word)]) for word in block.words):
            return raw
        around = raw if self.markup == "html" else plain
        prefix = around[: len(around) - len(around.lstrip(BLANKS))]
        last = plain if self.markup != "html" else self._ends_in
        suffix = last[len(last.rstrip(BLANKS)) :]
        return Block(plain, prefix, suffix, self.elements, self.points, protected)

    def _protected(self, plain: str) -> list[Protected]:
        """Return the parts to copy: those marked so, literal tags, and placeholders."""
        found = {(one.start, one.stop): one.raw for one in self.kept}
        spans = [match.span() for match in PLAIN_TOKEN.finditer(plain)] + placeholders(plain)
        taken = [False] * len(plain)
        for start, stop in found:
            taken[start:stop] = [True] * (stop - start)
        for start, stop in spans:
            if not any(taken[start:stop]):
                taken[start:stop] = [True] * (stop - start)
                found[start, stop] = escaped(plain[start:stop], self.markup)
        return [Protected(*span, found[span]) for span in sorted(found)]

    @property
    def _parent(self) -> int:
        return self._open[-1] if self._open else ROOT

    def _space_behind_point(self, text: str) -> str:
        """Add white space to the point just before, if that has some before it too."""
        rest = text.lstrip(BLANKS)
        point = self.points[-1] if self.points else None
        if rest == text or point is None or point.place != self._length or not point.is_before:
            return text
        if point.is_space or point.parent != self._parent:
            return text
        space = " " if self.markup == "html" else text[: len(text) - len(rest)]
        self.points[-1] = replace(point, raw=point.raw + space)
        return rest

    def _append_collapsed(self, text: str) -> None:
        """Append text; in HTML, white space is one space, and none at the start."""
        if self.markup != "html":
            self._append(html.unescape(text))
            return
        text = SPACES.sub(" ", text)
        if text.startswith(" ") and (not self._last or self._last == " "):
            text = text[1:]
        self._append(text)

    def _append(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
            self._last = text[-1]


def escaped(text: str, markup: Markup) -> str:
    """Write text so that nothing in it is markup."""
    return text if markup == "text" else html.escape(text, quote=False)


def _is_word(text: str) -> bool:
    return any(character.isalnum() for character in text)
