"""Markup as tokens: tags, text and whatever else there is, which tile the input.

Never an error: as in a browser, anything that is no tag is text, and a tag or comment without an
end goes on to the end. Each character is looked at a few times at most, whatever the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import regex

Markup = Literal["text", "html", "xml"]
# ``rest`` is markup without an end, which goes on to the end of the document.
Kind = Literal["text", "open", "close", "void", "other", "rest"]

# Attributes: quotes count after an equals sign alone, as in browsers.
TAG = r"(?: = \s*+ (?: \"[^\"]*+(?:\"|\Z) | '[^']*+(?:'|\Z) ) | [^>] )*+ (?: (?P<end>>) | \Z )"
TOKEN = regex.compile(
    rf"""
    <!-- (?: (?!-->) . )*+ (?: (?P<end>-->) | \Z )
  | <!\[CDATA\[ (?: (?!\]\]>) . )*+ (?: (?P<end>\]\]>) | \Z )
  | <[!?] [^>]*+ (?: (?P<end>>) | \Z )
  | (?P<tag> < (?P<slash>/)?+ (?P<name> [A-Za-z][^\s/>]*+ ) {TAG} )
    """,
    regex.VERBOSE | regex.DOTALL,
)
# In plain text, only what can hardly be anything but a tag.
PLAIN_TOKEN = regex.compile(
    r"""
    (?P<tag> < (?P<slash>/)?+ (?P<name> [A-Za-z][\w:-]*+ )
      (?: [ \t] [^<>\n]*+ | / )?+ (?P<end>>) )
    """,
    regex.VERBOSE,
)

VOID_NAMES = (
    "area base basefont bgsound br col command embed frame hr image img input keygen link meta "
    "param source track wbr"
)
VOID = frozenset(VOID_NAMES.split())
# Their content is no text, and has no tags.
RAW = frozenset(("script", "style", "xmp", "iframe", "noembed", "noframes", "plaintext"))


@dataclass(frozen=True)
class Token:
    """A part of the input as it is written; ``name`` is that of a tag."""

    kind: Kind
    raw: str
    name: str = ""


def tokens_of(text: str, markup: Markup) -> Iterator[Token]:
    """All tokens; joined, they are the text."""
    pattern = PLAIN_TOKEN if markup == "text" else TOKEN
    position = 0
    while match := pattern.search(text, position):
        if match.start() > position:
            yield Token("text", text[position : match.start()])
        position = match.end()
        token = _token(match, markup)
        yield token
        if markup == "html" and token.kind == "open" and token.name in RAW:
            end = regex.compile(rf"</{token.name}\b", regex.IGNORECASE).search(text, position)
            stop = end.start() if end else len(text)
            if stop > position:
                yield Token("other", text[position:stop])
            position = stop
    if position < len(text):
        yield Token("text", text[position:])


def _token(match: regex.Match[str], markup: Markup) -> Token:
    raw = match.group()
    if match.group("end") is None:
        return Token("rest", raw)
    if match.captures("tag") == []:
        return Token("other", raw)
    name = match.group("name")
    if markup != "xml":
        name = name.lower()
    if match.group("slash"):
        return Token("close", raw, name)
    is_void = raw.endswith("/>") or (markup == "html" and name in VOID)
    return Token("void" if is_void else "open", raw, name)
