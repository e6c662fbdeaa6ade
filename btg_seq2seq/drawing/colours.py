"""Colours of phrase pairs in light and dark, and the style sheet that uses them.

The colours were chosen by a search: each has enough contrast with the background, and any two look
different to people with normal vision, protanopia, deuteranopia and tritanopia. Neighbours differ
most. Text is never written on a saturated colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from btg_seq2seq.drawing.fonts import FAMILY
from btg_seq2seq.errors import UserError

ThemeName = Literal["auto", "light", "dark"]


@dataclass(frozen=True)
class Theme:
    """Colours of a picture.

    Args:
        background: of the whole picture.
        ink: words.
        note: remarks and straight brackets.
        inverted: brackets of inverted nodes.
        band: background of a node of the tree.
        frame: line around the picture.
        pairs: lines of phrase pairs, repeated when there are more pairs.
        tint: share of a pair's colour in the background of its words.
    """

    background: str
    ink: str
    note: str
    inverted: str
    band: str
    frame: str
    pairs: tuple[str, ...]
    tint: float

    @property
    def tints(self) -> tuple[str, ...]:
        """Backgrounds of the words of phrase pairs."""
        return tuple(_mixed(colour, self.background, self.tint) for colour in self.pairs)


LIGHT = Theme(
    background="#ffffff",
    ink="#1b1f24",
    note="#57606a",
    inverted="#c2255c",
    band="#f3f5f8",
    frame="#d0d7de",
    pairs=("#4191f9", "#881448", "#bb881d", "#413c8b", "#5e4100", "#f06070"),
    tint=0.17,
)
DARK = Theme(
    background="#161b22",
    ink="#f0f3f6",
    note="#a8b1bb",
    inverted="#ff7b9c",
    band="#21272f",
    frame="#3d444d",
    pairs=("#9d73d0", "#afe1a9", "#239685", "#f4d16a", "#26ebf0", "#bb7643"),
    tint=0.22,
)
COLOURS = len(LIGHT.pairs)
MOST_HOVERED = 40  # pairs that can be pointed at; each needs a rule


def assigned(target_order: Sequence[int]) -> list[int]:
    """Choose a colour for every pair, by its rank in the source.

    The first pairs have all colours in turn. When colours are repeated, pairs that stand side by
    side in the source or in the translation get different ones where possible.
    """
    places = {rank: place for place, rank in enumerate(target_order)}
    chosen: list[int] = []
    for rank in range(len(target_order)):
        # Side by side counts before one apart, and that before how often a colour was used.
        penalties = [[0, 0, chosen.count(colour)] for colour in range(COLOURS)]
        for other, colour in enumerate(chosen):
            distance = min(rank - other, abs(places[rank] - places[other]))
            if distance <= 2:
                penalties[colour][distance - 1] += 1
        turn = [(rank + step) % COLOURS for step in range(COLOURS)]
        chosen.append(min(turn, key=penalties.__getitem__))
    return chosen


def scope_of(theme: ThemeName) -> str:
    """Return the class of pictures in a theme, so that several can be in one page."""
    if theme not in get_args(ThemeName):
        raise UserError(f"theme is {', '.join(get_args(ThemeName))}, not {theme!r}")
    return f"btg-{theme}"


def style_sheet(theme: ThemeName) -> str:
    """Write the style sheet of pictures in a theme; ``auto`` follows the reader's settings."""
    scope = f".{scope_of(theme)}"
    shared = _shapes(scope)
    if theme != "auto":
        return shared + _colours(scope, LIGHT if theme == "light" else DARK)
    dark = _colours(scope, DARK)
    return f"{shared}{_colours(scope, LIGHT)}@media (prefers-color-scheme:dark){{{dark}}}"


def hover_rules(theme: ThemeName, pairs: int) -> str:
    """Write rules that fade all other pairs while the reader points at one."""
    scope = f".{scope_of(theme)}"
    return "".join(
        f"{scope}:has(.q{rank}:hover) .p:not(.q{rank}){{opacity:.25}}"
        for rank in range(min(pairs, MOST_HOVERED))
    )


def _shapes(scope: str) -> str:
    rules = {
        "": f"font-family:{FAMILY}",
        "text": "font-size:16px;text-anchor:middle",
        ".n": "font-size:13px",
        ".g": "font-size:11px;font-weight:600",
        ".e": "text-anchor:end",
        ".b": "text-anchor:start",
        ".s,.i": "fill:none;stroke-width:2.5;stroke-linecap:round;stroke-linejoin:round",
        ".i": "stroke-width:3",
        ".w,.h": "fill:none;stroke-linecap:butt",
        ".w": "stroke-width:9",
        ".h": "stroke-width:15",
        ".c": "stroke-width:1.5",
        ".r": "stroke-width:2.5;stroke-dasharray:6 4",
        ".m": "fill-opacity:.5",
    }
    return "".join(_rule(scope, names, text) for names, text in rules.items())


def _colours(scope: str, theme: Theme) -> str:
    rules = {
        ".f": f"fill:{theme.background};stroke:{theme.frame}",
        "text": f"fill:{theme.ink}",
        ".n": f"fill:{theme.note}",
        ".k": f"fill:{theme.ink}",
        ".g": f"fill:{theme.background}",
        ".d": f"fill:{theme.band}",
        ".l": f"stroke:{theme.frame}",
        ".h": f"stroke:{theme.background}",
        ".s": f"stroke:{theme.note}",
        ".i": f"stroke:{theme.inverted}",
        ".x": f"fill:{theme.inverted}",
    }
    for rank, (line, tint) in enumerate(zip(theme.pairs, theme.tints, strict=True)):
        rules[f".k{rank} .w"] = f"stroke:{line}"
        rules[f".k{rank} .c,.k{rank} .r"] = f"fill:{tint};stroke:{line}"
        rules[f".k{rank} .m"] = f"fill:{line}"
    return "".join(_rule(scope, names, text) for names, text in rules.items())


def _rule(scope: str, names: str, text: str) -> str:
    selectors = ",".join(f"{scope} {name}".rstrip() for name in names.split(","))
    return f"{selectors}{{{text}}}"


def _mixed(colour: str, background: str, share: float) -> str:
    """Mix two colours; ``share`` is that of the first."""
    values = (
        round(share * int(colour[start : start + 2], 16))
        + round((1 - share) * int(background[start : start + 2], 16))
        for start in (1, 3, 5)
    )
    return "#" + "".join(f"{min(value, 255):02x}" for value in values)
