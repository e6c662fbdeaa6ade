"""Contrast, and colours that look different to everybody."""

import itertools

import numpy as np
import pytest

from btg_seq2seq.drawing.colours import (
    COLOURS,
    DARK,
    LIGHT,
    MOST_HOVERED,
    assigned,
    hover_rules,
    scope_of,
    style_sheet,
)
from btg_seq2seq.errors import UserError

# Colour vision: normal, and without one kind of cones (Machado, Oliveira and Fernandes 2009).
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "deuteranopia": [
        [0.3673, 0.8606, -0.2280],
        [0.2801, 0.6725, 0.0474],
        [-0.0118, 0.0429, 0.9689],
    ],
    "tritanopia": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def linear(colour):
    values = np.array([int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Contrast as in the Web Content Accessibility Guidelines."""
    darker, lighter = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def lab(colour, vision):
    seen = np.clip(np.array(VISIONS[vision]) @ linear(colour), 0, 1)
    scaled = TO_XYZ @ seen / [0.9505, 1.0, 1.089]
    root = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def difference(one, other):
    """The least difference that any kind of vision sees; 2.3 is just noticeable."""
    return min(float(np.linalg.norm(lab(one, kind) - lab(other, kind))) for kind in VISIONS)


@THEMES
def test_contrast(theme):
    for background in (theme.background, theme.band, *theme.tints):
        assert contrast(theme.ink, background) >= 7
    for background in (theme.background, theme.band):
        assert contrast(theme.note, background) >= 4.5
        assert contrast(theme.inverted, background) >= 4.5
    assert all(contrast(line, theme.background) >= 3 for line in theme.pairs)


@THEMES
def test_colours_look_different_to_everybody(theme):
    assert len(theme.pairs) == COLOURS
    assert min(difference(*two) for two in itertools.combinations(theme.pairs, 2)) > 25
    neighbours = zip(theme.pairs, (*theme.pairs[1:], theme.pairs[0]), strict=True)
    assert min(difference(*two) for two in neighbours) > 30


def test_neighbours_have_different_colours():
    assert assigned(range(COLOURS)) == [*range(COLOURS)]
    generator = np.random.default_rng(0)
    for count in (8, 30, 200):
        order = [int(rank) for rank in generator.permutation(count)]
        chosen = assigned(order)
        assert {*chosen} == {*range(COLOURS)}
        for row in (chosen, [chosen[rank] for rank in order]):
            assert all(one != other for one, other in itertools.pairwise(row))


def test_style_sheets():
    assert "prefers-color-scheme:dark" in style_sheet("auto")
    assert "@media" not in style_sheet("light") + style_sheet("dark")
    assert LIGHT.ink in style_sheet("light")
    assert DARK.ink in style_sheet("dark")
    for theme in ("auto", "light", "dark"):
        rules = style_sheet(theme).replace("@media (prefers-color-scheme:dark){", "").split("}")
        assert all(rule.startswith(f".{scope_of(theme)}") for rule in rules if rule)
    assert ":has(.q1:hover) .p:not(.q1)" in hover_rules("auto", 2)
    assert hover_rules("auto", 999).count("{") == MOST_HOVERED
    with pytest.raises(UserError, match="theme is auto, light, dark, not 'pink'"):
        scope_of("pink")
