"""Words of a text: where a phrase of the grammar, or the match of a rule, may begin or end.

A word is a run of letters, digits, underscores and the marks on them; every other character that
is no white space stands for itself, with the marks on it. Scripts that are written without spaces
have no such runs: any of their characters may begin or end a match.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["space", "word", "unspaced", "mark", "other"]

# Thai, Lao, Tibetan, Myanmar; Khmer; Han and kana, with what stands among and for them.
UNSPACED = (
    (0x0E00, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x312F),
    (0x31A0, 0x31FF),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x3FFFF),
)
# Letters to Unicode, but never without one before them: am of Thai and Lao, and the voicing marks
# of halfwidth kana.
SPACING_MARKS = "\u0e33\u0eb3\uff9e\uff9f"
STACKERS = "\u17d2\u1039"  # of Khmer and Myanmar: the next consonant is written below the last
ZERO_WIDTH_SPACE = "\u200b"
UNREADABLE = "\ufffd"  # stands for bytes that are no character
JOINER = "\u200d"  # within words of Indic scripts and emoji
SKIN_TONES = range(0x1F3FB, 0x1F400)  # change the emoji before them
REGIONAL_INDICATORS = range(0x1F1E6, 0x1F200)  # two of these letters are a flag


_BEFORE: dict[Kind, str] = {"other": JOINER, "unspaced": STACKERS}  # what follows is one with it


class Word(NamedTuple):
    """Position of a word; ``spaced`` if white space or the start of the text precedes it."""

    start: int
    stop: int
    spaced: bool


@lru_cache(maxsize=65536)
def kind_of(character: str) -> Kind:
    """The effect of a character on word boundaries."""
    if character.isspace():
        return "space"
    code = ord(character)
    category = unicodedata.category(character)
    # Joiners, soft hyphens, tags of flags and whatever else is invisible belong to their neighbour.
    is_invisible = category == "Cf" and character != ZERO_WIDTH_SPACE
    if is_invisible or code in SKIN_TONES or character in SPACING_MARKS or category[0] == "M":
        return "mark"
    if not character.isalnum() and character != "_" and code not in REGIONAL_INDICATORS:
        return "other"
    return "unspaced" if any(first <= code <= last for first, last in UNSPACED) else "word"


def words_of(text: str) -> list[Word]:
    """All words of a text, from left to right."""
    words: list[Word] = []
    previous: Kind = "space"
    for position, character in enumerate(text):
        kind = kind_of(character)
        if kind == "mark" and previous != "space":
            kind = previous  # it belongs to what it is put on
            words[-1] = words[-1]._replace(stop=position + 1)
        elif kind == "mark" or (kind == "word" and previous != "word"):
            words.append(Word(position, position + 1, previous == "space"))
            kind = "word"
        elif kind == "word" or (kind == previous and text[position - 1] in _BEFORE.get(kind, "")):
            words[-1] = words[-1]._replace(stop=position + 1)
        elif kind != "space":
            words.append(Word(position, position + 1, previous == "space"))
        previous = kind
    return words


def is_punctuation(text: str) -> bool:
    """Tell whether a text consists of punctuation and symbols, with or without marks on them."""
    kinds = {unicodedata.category(character)[0] for character in text.strip()}
    return bool(kinds & {"P", "S"}) and kinds <= {"P", "S", "M"} and UNREADABLE not in text


def would_merge(before: str, after: str) -> bool:
    """Tell whether two texts, joined without a space, would merge two words into one.

    A mark that follows would change the last letter, so it counts too.
    """
    if not before or not after:
        return False
    last, first = _last_kind(before), kind_of(after[0])
    return last != "space" and (first == "mark" or (first == last == "word"))


def is_unspaced(before: str, after: str) -> bool:
    """Tell whether both texts, where they meet, are in scripts without spaces."""
    return bool(before and after) and _last_kind(before) == kind_of(after[0]) == "unspaced"


def _last_kind(text: str) -> Kind:
    """The kind of the last character, ignoring marks on it."""
    return next((kind for kind in map(kind_of, reversed(text)) if kind != "mark"), "word")


def half_character(text: str) -> str | None:
    """Return the first lone surrogate of a text, escaped."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return ascii(text[error.start])
    return None
