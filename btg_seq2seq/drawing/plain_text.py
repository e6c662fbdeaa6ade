"""Text that is safe to show: nothing that XML forbids, or that disturbs the text around it.

Everything that a picture, a page or a terminal shows of a sentence goes through ``shown``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

import regex

Direction = Literal["ltr", "rtl"]

REPLACEMENT = "\ufffd"
MOST_MARKS = 5  # on one character; more of them would cover the lines above and below
OVERRIDES = "\u202d\u202e"  # these show text in a wrong order, wherever they stand
EMBEDDINGS = "\u202a\u202b\u202c\u2066\u2067\u2068\u2069"  # these are undone by isolation
ISOLATE, END_OF_ISOLATE = "\u2068", "\u2069"
RIGHT_TO_LEFT = ("R", "AL")


def shown(text: str) -> str:
    """Return a text as it is shown.

    Ends of lines and tabs become spaces. Other control characters become their pictures, such as
    ␀. Overrides of the direction, and what is no character, become �.
    """
    if text.isascii() and text.isprintable():
        return text
    pieces = []
    for cluster in clusters("".join(map(_shown_character, text))):
        marks = len(cluster) - 1
        pieces.append(cluster[: 1 + MOST_MARKS] if _is_pile(cluster, marks) else cluster)
    return "".join(pieces)


def one_line(text: str) -> str:
    """Return a text as it is shown, without white space around it and with single spaces."""
    return " ".join(shown(text).split())


def clusters(text: str) -> list[str]:
    """Split a text into what a reader calls characters: letters with their marks, whole emoji."""
    found: list[str] = regex.findall(r"\X", text)
    return found


def shortened(text: str, most: int) -> str:
    """Cut a text to ``most`` characters, with an ellipsis in place of the rest."""
    if len(text) <= most:
        return text
    kept = ""
    for cluster in clusters(text[: most + 1]):
        if len(kept) + len(cluster) >= most:
            break
        kept += cluster
    return kept.rstrip() + "…"


def direction(text: str) -> Direction:
    """Return the direction in which most of its letters are written."""
    kinds = [unicodedata.bidirectional(character) for character in text]
    rightwards = kinds.count("L")
    leftwards = sum(kind in RIGHT_TO_LEFT for kind in kinds)
    return "rtl" if leftwards > rightwards else "ltr"


def isolated(text: str) -> str:
    """Return a text that does not change the order of the text around it."""
    if any(unicodedata.bidirectional(character) in RIGHT_TO_LEFT for character in text):
        return ISOLATE + text + END_OF_ISOLATE
    return text


def _is_pile(cluster: str, marks: int) -> bool:
    """Return whether a cluster is a letter with too many marks; emoji of many parts are none."""
    return marks > MOST_MARKS and re.search("[\u200d\U000e0020-\U000e007f]", cluster) is None


@lru_cache(maxsize=65536)
def _shown_character(character: str) -> str:
    code = ord(character)
    if character in "\t\n\r\x0b\x0c\x85\u2028\u2029":
        return " "
    if code < 0x20:
        return chr(0x2400 + code)  # ␀ and its like
    if code == 0x7F:
        return "\u2421"
    if character in EMBEDDINGS:
        return ""
    is_no_character = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    if is_no_character or character in OVERRIDES or unicodedata.category(character) in ("Cc", "Cs"):
        return REPLACEMENT
    return character
