"""Fonts for any script, and how wide a text may become, without measuring a font.

No font is opened: a picture is the same on every machine, whichever fonts the reader has. The
estimates are those of wide fonts (DejaVu Sans, Verdana, Noto), so that text stays within its box.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache

from btg_seq2seq.drawing.plain_text import clusters

FAMILY = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Ubuntu, Cantarell, "
    "'Helvetica Neue', Arial, sans-serif, 'Apple Color Emoji', 'Segoe UI Emoji', 'Noto Color Emoji'"
)
# Scripts, by the first word of the names of their letters, whose font is called otherwise.
CJK = {"CJK": "SC", "HIRAGANA": "JP", "KATAKANA": "JP", "BOPOMOFO": "TC", "HANGUL": "KR"}
COMMON_SCRIPTS = {"LATIN", "GREEK", "CYRILLIC"}  # every font has them

SAFETY = 1.06  # for bold fonts that stand in for missing ones, and letters wider than most
ZERO_WIDTH = ("Mn", "Me", "Cf", "Cc")
# Widths of letters in em: a few classes are enough for Latin, Greek and Cyrillic.
CLASSES = {
    0.36: "ijlI.,:;'!·\u2018\u2019",
    0.46: 'frtJ()[]/\\- "“”',
    0.56: "|`",
    0.84: "OQGDNHUw",
    1.08: "MWm@%…—ЖШЩЮщшжюыфмњљњЉЊœæŒÆǅǄǆǇǊ&",
}
SPACE = 0.33
LOWER, UPPER, OTHER = 0.65, 0.82, 1.0
FULL, EMOJI = 1.05, 1.4
# Widths in em of scripts whose letters are wider or narrower than those of others, by blocks.
BLOCKS = (
    (0x0370, 0x03CF, 0.84),  # Greek
    (0x03D0, 0x03FF, 1.05),  # rare letters of Greek, Coptic
    (0x0400, 0x045F, 0.84),  # Cyrillic
    (0x0460, 0x052F, 1.3),  # rare letters of Cyrillic
    (0x0590, 0x05FF, 0.68),  # Hebrew
    (0x0600, 0x07FF, 0.85),  # Arabic, Syriac, Thaana
    (0x0B80, 0x0BFF, 1.35),  # Tamil
    (0x0900, 0x0B7F, 0.95),  # Devanagari to Oriya
    (0x0C00, 0x0D7F, 1.2),  # Telugu, Kannada, Malayalam
    (0x0D80, 0x0DFF, 1.15),  # Sinhala
    (0x0E00, 0x0EFF, 0.72),  # Thai, Lao
    (0x1000, 0x109F, 1.15),  # Myanmar
    (0x1200, 0x139F, 1.1),  # Ethiopic
    (0x13A0, 0x13FF, 0.92),  # Cherokee
    (0x1780, 0x17FF, 1.1),  # Khmer
    (0xAB70, 0xABBF, 0.85),  # Cherokee, small letters
    (0xA800, 0xABFF, 1.3),  # Javanese and others
    (0xFDF0, 0xFDFF, 4.5),  # whole phrases of Arabic in one character
    (0x12000, 0x1254F, 2.6),  # Cuneiform
    (0x13000, 0x143FF, 1.6),  # hieroglyphs
)
BASMALA = "\ufdfd"  # the widest character


def font_family(text: str) -> str | None:
    """Return the fonts of a text's script; ``None`` where the usual ones have it.

    Browsers find a font for every character themselves. Converters to PNG need the name.
    """
    scripts = Counter(filter(None, map(_script, text)))
    if not scripts:
        return None
    script = scripts.most_common(1)[0][0]
    if script in CJK:  # kana and hangul tell which of the fonts the Han characters need
        telling = next((one for one in scripts if one in CJK and one != "CJK"), script)
        return f"'Noto Sans CJK {CJK[telling]}', system-ui, sans-serif"
    return f"'Noto Sans {script.title()}', system-ui, sans-serif"


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in pixels, generously; ``size`` is that of the font."""
    return SAFETY * size * sum(_cluster_width(cluster) for cluster in clusters(text))


def wrap(text: str, limit: float, size: float, most_lines: int) -> list[str]:
    """Break a text into lines no wider than ``limit`` pixels.

    Lines end at white space. A word that is too long is broken between characters. Beyond
    ``most_lines``, an ellipsis stands for the rest.
    """
    lines: list[str] = []
    for piece in _pieces(text, limit, size):
        joined = f"{lines[-1]} {piece.text}" if lines and piece.spaced else ""
        if not piece.spaced and lines:
            joined = lines[-1] + piece.text
        if joined and text_width(joined, size) <= limit:
            lines[-1] = joined
        elif len(lines) == most_lines:
            lines[-1] = _with_ellipsis(lines[-1], limit, size)
            break
        else:
            lines.append(piece.text)
    return lines


def balanced(text: str, limit: float, size: float, most_lines: int) -> list[str]:
    """Break a text into as few lines as ``wrap`` does, of similar width."""
    lines = wrap(text, limit, size, most_lines)
    if not 1 < len(lines) < most_lines:
        return lines
    narrowest, widest = 0.0, limit
    for _ in range(8):
        middle = (narrowest + widest) / 2
        tried = wrap(text, middle, size, most_lines)
        if len(tried) > len(lines) or _broken(tried, text) > _broken(lines, text):
            narrowest = middle
        else:
            lines, widest = tried, middle
    return lines


def _broken(lines: list[str], text: str) -> int:
    """Number of lines that do not end where a word does."""
    words, end = text.split(), 0
    ends = {end := end + len(word) for word in words}
    seen, broken = 0, 0
    for line in lines:
        seen += len(line.replace(" ", ""))
        broken += seen not in ends
    return broken


class _Piece:
    """A word, or a part of one that is too long; ``spaced`` if white space precedes it."""

    def __init__(self, text: str, spaced: bool) -> None:
        self.text, self.spaced = text, spaced


def _pieces(text: str, limit: float, size: float) -> list[_Piece]:
    pieces = []
    for word in text.split():
        if text_width(word, size) <= limit:
            pieces.append(_Piece(word, spaced=True))
        else:
            for rank, cluster in enumerate(clusters(word)):
                pieces.append(_Piece(cluster, spaced=rank == 0))
    return pieces


def _with_ellipsis(line: str, limit: float, size: float) -> str:
    kept = clusters(line)
    while kept and text_width("".join(kept) + "…", size) > limit:
        kept.pop()
    return "".join(kept).rstrip() + "…"


@lru_cache(maxsize=65536)
def _cluster_width(cluster: str) -> float:
    """Width in em: of the widest letter, with room for the marks that stand beside it."""
    if any(0x1F000 <= ord(one) <= 0x1FBFF or ord(one) == 0xFE0F for one in cluster):
        # Without a font for the whole, the parts of an emoji stand side by side.
        parts = sum(unicodedata.category(one) not in ZERO_WIDTH for one in cluster)
        return EMOJI * min(parts, 4)
    return sum(map(_character_width, cluster))


def _character_width(character: str) -> float:
    code, category = ord(character), unicodedata.category(character)
    if category in ZERO_WIDTH or 0x1160 <= code <= 0x11FF:  # the latter join Hangul syllables
        return 0.0
    if character.isspace():
        return SPACE if unicodedata.east_asian_width(character) != "F" else FULL
    if character == BASMALA:
        return 12.0
    if unicodedata.east_asian_width(character) in "WF":
        return FULL
    # What a letter with an accent is made of, such as e and an acute.
    base = unicodedata.normalize("NFD", character)[0]
    for width, characters in CLASSES.items():
        if base in characters:
            return width
    for first, last, width in BLOCKS:
        if first <= code <= last:
            return width
    if category in ("Ll", "Nd") and code < 0x0250:
        return LOWER
    return UPPER if category == "Lu" and code < 0x0250 else OTHER


@lru_cache(maxsize=65536)
def _script(character: str) -> str | None:
    """Script of a letter, as the first word of its name; ``None`` where all fonts have it."""
    if character.isascii() or not character.isalpha():
        return None
    name = unicodedata.name(character, "").split()
    return name[0] if len(name) > 1 and name[0] not in COMMON_SCRIPTS else None
