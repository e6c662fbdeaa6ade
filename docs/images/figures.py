"""Figures of how-it-works.md: the flow of training, the three choices, and the chart.

Written by hand with the elements and the style sheet of ``btg_seq2seq.drawing``. ``make.py`` saves
them, and a test compares them with the files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from btg_seq2seq.drawing.colours import DARK, LIGHT, Theme, style_sheet
from btg_seq2seq.drawing.drawing import escaped_style
from btg_seq2seq.drawing.fonts import text_width
from btg_seq2seq.drawing.svg import element, escaped, path

SCOPE = "btg-auto"


@dataclass(frozen=True)
class Figure:
    """A picture with a title, a description for screen readers, and its elements."""

    name: str
    title: str
    description: str
    width: int
    height: int
    elements: tuple[str, ...]

    @property
    def svg(self) -> str:
        """The picture as an SVG document."""
        frame = element(
            "rect", x=0.5, y=0.5, width=self.width - 1, height=self.height - 1, rx=10, class_="f"
        )
        content = [
            element("title", escaped(self.title), id=f"{self.name}-title"),
            element("desc", escaped(self.description), id=f"{self.name}-desc"),
            element("style", escaped_style(style_sheet("auto") + _arrow_style())),
            frame,
            *self.elements,
        ]
        return element(
            "svg",
            "\n" + "\n".join(content) + "\n",
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {self.width} {self.height}",
            width=self.width,
            height=self.height,
            role="img",
            aria_labelledby=f"{self.name}-title {self.name}-desc",
            class_=SCOPE,
        )


def _arrow_style() -> str:
    def colours(theme: Theme) -> str:
        return (
            f".{SCOPE} .a{{stroke:{theme.note}}}.{SCOPE} .at{{fill:{theme.note}}}"
            f".{SCOPE} .v{{stroke:{theme.inverted}}}.{SCOPE} .vt{{fill:{theme.inverted}}}"
            f".{SCOPE} .o{{fill:{theme.band};stroke:{theme.frame}}}"
        )

    shapes = (
        f".{SCOPE} .a,.{SCOPE} .v{{fill:none;stroke-width:2}}.{SCOPE} .v{{stroke-dasharray:6 4}}"
    )
    shapes += f".{SCOPE} .t{{font-weight:600}}"
    return f"{shapes}{colours(LIGHT)}@media (prefers-color-scheme:dark){{{colours(DARK)}}}"


def words(text: str, x: float, y: float, names: str | None = None) -> str:
    """A line of text; it is centred unless its classes say otherwise."""
    return element("text", escaped(text), x=x, y=y, class_=names)


def box(x: float, y: float, width: float, lines: Sequence[str], colour: int | None = None) -> str:
    """A box around lines of text; the first is bold if the box has no colour of a pair."""
    height = 20 + 22 * len(lines)
    shape = element(
        "rect", x=x, y=y, width=width, height=height, rx=8, class_="o" if colour is None else "c"
    )
    texts = [
        words(line, x + width / 2, y + 26 + 22 * row, _line_class(colour, row))
        for row, line in enumerate(lines)
    ]
    inside = shape + "".join(texts)
    return inside if colour is None else element("g", inside, class_=f"k{colour}")


def _line_class(colour: int | None, row: int) -> str | None:
    if colour is not None:
        return None
    return "n" if row else "t"


def arrow(points: Sequence[tuple[float, float]], *, learns: bool = False) -> str:
    """A line with a head at its end; dashed and red for what is learned."""
    (x0, y0), (x1, y1) = points[-2], points[-1]
    angle = math.atan2(y1 - y0, x1 - x0)
    steps = [part for x, y in points for part in ("L", x, y)]
    line = element("path", d=path("M", *steps[1:]), class_="v" if learns else "a")
    left, right = angle + 2.6, angle - 2.6
    head = path(
        *("M", x1, y1, "L", x1 + 11 * math.cos(left), y1 + 11 * math.sin(left)),
        *("L", x1 + 11 * math.cos(right), y1 + 11 * math.sin(right), "Z"),
    )
    return line + element("path", d=head, class_="vt" if learns else "at")


def training_flow() -> Figure:
    """Parsers and seq2seq model, and what they learn from each other."""
    parts = [
        box(40, 30, 300, ["sie hat das alte Haus renoviert", "source"]),
        box(500, 30, 300, ["she has renovated the old house", "target"]),
        arrow([(190, 94), (190, 128), (330, 128), (330, 154)]),
        arrow([(650, 94), (650, 128), (510, 128), (510, 154)]),
        box(270, 158, 300, ["posterior parser", "sees both sides"]),
        arrow([(420, 222), (420, 268)]),
        words("draws derivations", 430, 250, "n b"),
        box(150, 274, 150, ["sie hat", "she has"], 0),
        box(330, 274, 180, ["das alte Haus", "the old house"], 1),
        box(540, 274, 150, ["renoviert", "renovated"], 2),
        arrow([(420, 338), (420, 384)]),
        words("phrase pairs to learn from", 430, 366, "n b"),
        box(230, 390, 380, ["seq2seq model", "translates phrases of every size"]),
        # The whole sentence.
        arrow([(740, 94), (740, 422), (616, 422)]),
        words("the whole sentence,", 748, 300, "n b"),
        words("one phrase", 748, 318, "n b"),
        # The prior.
        box(20, 158, 166, ["prior parser", "sees only the source"]),
        arrow([(90, 94), (90, 154)]),
        arrow([(266, 182), (192, 182)], learns=True),
        words("trees", 229, 174, "n"),
        words("to predict", 229, 202, "n"),
        arrow([(226, 422), (90, 422), (90, 246), (310, 246), (310, 226)], learns=True),
        words("how well phrases", 98, 366, "n b"),
        words("explain each other", 98, 384, "n b"),
    ]
    return Figure(
        "training-flow",
        "The flow of training",
        "A posterior parser sees source and target and draws derivations. Their phrase pairs, and "
        "the whole sentence, train the seq2seq model. How well the phrases explain each other "
        "trains the posterior parser, whose trees train a prior parser that sees only the source.",
        900,
        480,
        tuple(parts),
    )


def three_choices() -> Figure:
    """A translation as three choices: the number of phrases, the tree, and the phrases."""
    parts = [
        words("1  number of phrases", 40, 44, "t b"),
        words("p(n | x)", 40, 66, "n b"),
        words("2  tree", 300, 44, "t b"),
        words("p(tree | x, n)", 300, 66, "n b"),
        words("3  translations of the phrases", 640, 44, "t b"),
        words("p(leaves | x, tree)", 640, 66, "n b"),
    ]
    for n, share in enumerate((30, 48, 96, 36, 14), 1):
        bar = element(
            "rect", x=30 + 38 * n, y=240 - share, width=26, height=share, rx=4, class_="m c"
        )
        parts.append(element("g", bar, class_="k0") if n == 3 else bar.replace("m c", "o"))
        parts.append(words(str(n), 43 + 38 * n, 260, "n"))
    parts += [*_tree(300, 96), *_leaves(640, 96)]
    return Figure(
        "three-choices",
        "A translation as three choices",
        "First the number of phrases is chosen, here three; then the tree over the source, "
        "[sie hat <das alte Haus, renoviert>]; then the translation of each phrase: she has, the "
        "old house, renovated. The inverted node puts renovated before the old house.",
        990,
        290,
        tuple(parts),
    )


def _tree(left: float, top: float) -> Iterable[str]:
    """The brackets over the source."""
    names = [("sie hat", 0, 74), ("das alte Haus", 1, 126), ("renoviert", 2, 92)]
    x = left
    centres = []
    for name, colour, width in names:
        yield box(x, top + 104, width, [name], colour)
        centres.append((x, x + width))
        x += width + 10
    yield element("path", d=_bracket(left, centres[-1][1], top + 30), class_="s")
    yield element("path", d=_angle(centres[1][0], centres[2][1], top + 76), class_="i")
    yield words("keeps the order", (left + centres[-1][1]) / 2, top + 20, "n")
    yield words("inverts it", (centres[1][0] + centres[2][1]) / 2, top + 66, "n x")


def _leaves(left: float, top: float) -> Iterable[str]:
    """Source phrases above, target phrases below, the last two crossed."""
    above = [("sie hat", 0, 74), ("das alte Haus", 1, 116), ("renoviert", 2, 92)]
    below = [("she has", 0, 80), ("renovated", 2, 96), ("the old house", 1, 116)]
    places: dict[int, tuple[float, float]] = {}
    x = left
    for name, colour, width in above:
        yield box(x, top, width, [name], colour)
        places[colour] = (x + width / 2, 0)
        x += width + 8
    x = left
    for name, colour, width in below:
        start = places[colour][0]
        end = x + width / 2
        data = path("M", start, top + 42, "C", start, top + 74, end, top + 74, end, top + 104)
        yield element("g", element("path", d=data, class_="w"), class_=f"k{colour}")
        yield box(x, top + 104, width, [name], colour)
        x += width + 8


def _bracket(left: float, right: float, y: float) -> str:
    return path("M", left, y + 12, "V", y, "H", right, "V", y + 12)


def _angle(left: float, right: float, y: float) -> str:
    return path("M", left, y + 12, "L", left + 8, y, "H", right - 8, "L", right, y + 12)


CELLS = {
    (0, 4): ("he has eaten bread", "[ ]"),
    (1, 4): ("has eaten bread", "[ ]"),
    (2, 4): ("eaten bread", "< >"),
    (0, 3): ("he has bread", "[ ]"),
    (0, 2): ("he has", "[ ]"),
    (1, 3): ("has bread", "[ ]"),
    (0, 1): ("he", ""),
    (1, 2): ("has", ""),
    (2, 3): ("bread", ""),
    (3, 4): ("eaten", ""),
}
BEST = {(0, 1): 0, (1, 2): 3, (2, 3): 1, (3, 4): 2, (2, 4): None, (1, 4): None, (0, 4): None}
SOURCE = ("er", "hat", "Brot", "gegessen")


def chart() -> Figure:
    """The chart of a sentence of four words, with the best entry of every cell."""
    cell, row, left, top = 206, 74, 44, 40
    parts: list[str] = []
    centres = {}
    for start, stop in CELLS:
        length = stop - start
        x = left + cell * start + cell * (length - 1) / 2
        centres[start, stop] = (x + (cell - 16) / 2, top + row * (4 - length))
    for parent, children in {
        (0, 4): [(0, 1), (1, 4)],
        (1, 4): [(1, 2), (2, 4)],
        (2, 4): [(2, 3), (3, 4)],
    }.items():
        for child in children:
            (x0, y0), (x1, y1) = centres[parent], centres[child]
            crossed = "i" if parent == (2, 4) else "s"
            parts.append(element("path", d=path("M", x0, y0 + 44, "L", x1, y1), class_=crossed))
    for (start, stop), (text, sign) in CELLS.items():
        x, y = centres[start, stop]
        width = max(96.0, text_width(text, 16) + 30)
        is_best = (start, stop) in BEST
        colour = BEST.get((start, stop))
        parts.append(_cell(x - width / 2, y, width, text, colour, is_best))
        if sign:
            names = "n x t" if sign == "< >" else "n t"
            parts.append(words(sign, x + width / 2 + 18, y + 26, names))
    for place, name in enumerate(SOURCE):
        x = left + cell * place + (cell - 16) / 2
        parts.append(words(name, x, top + row * 4 - 4, "t"))
    return Figure(
        "chart",
        "The chart of a sentence",
        "A triangle of cells over the words er hat Brot gegessen. Single words are translated by "
        "the seq2seq model: he, has, bread, eaten. Cells above join neighbours: Brot gegessen "
        "becomes eaten bread, inverted; then has eaten bread; then he has eaten bread. Cells that "
        "the best derivation does not use are grey.",
        890,
        top + row * 4 + 22,
        tuple(parts),
    )


def _cell(x: float, y: float, width: float, text: str, colour: int | None, is_best: bool) -> str:
    shape = element("rect", x=x, y=y, width=width, height=44, rx=8, class_="c" if is_best else "o")
    inside = shape + words(text, x + width / 2, y + 28, None if is_best else "n")
    if not is_best:
        return inside
    return element("g", inside, class_=f"k{4 if colour is None else colour}")


FIGURES = {
    "training-flow.svg": training_flow(),
    "three-choices.svg": three_choices(),
    "chart.svg": chart(),
}
