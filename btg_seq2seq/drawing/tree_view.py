"""The tree view: source phrases above, target phrases below, and the tree between them.

Every phrase pair is a line from its source to its target. From top to bottom, the lines pass
through the nodes of the tree, innermost nodes first: a straight node is a pair of square brackets
around its lines, an inverted one a pair of angle brackets in which the lines cross. A column is as
wide as the wider text of its pair. So the lines of a node take up the same width before and after
it, and all nodes of the same height fit into one band.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from btg_seq2seq.drawing.colours import COLOURS, assigned
from btg_seq2seq.drawing.description import note_on, note_on_part
from btg_seq2seq.drawing.diagram import Diagram, Part
from btg_seq2seq.drawing.fonts import balanced, font_family, text_width
from btg_seq2seq.drawing.svg import element, escaped, group, path

SIZE, LINE = 16, 22  # of the font, and between lines of text
MARGIN = 22
PADDING = 13  # between a text and its box
GAP = 26  # between columns; brackets stand in it
NARROWEST = 46  # column
NARROW, LONG_WORD = 176.0, 360.0  # widths that a text, and a word of it, may always have
MOST_LINES = 8  # of text in a box
STRAIGHT_BAND, INVERTED_BAND = 34, 76
STEM = 12  # of a line between a box and the first band
TAG = 18  # height of the mark of a rule
NOTHING = "∅"


@dataclass(frozen=True)
class Box:
    """A phrase on one side: its lines of text."""

    lines: tuple[str, ...]
    width: float


class TreeView:
    """Places and elements of a picture of a derivation as a tree.

    Where both languages are written from right to left, the whole picture is. If only one is, the
    columns run from left to right and are numbered.
    """

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.colours = assigned(diagram.target_order)
        count = len(diagram.pairs)
        # A few phrases may be long; many must be narrow, so that the picture stays readable.
        limit = max(NARROW, min(620.0, 1080 / count - GAP))
        self.sources = [_box(pair.source, limit) for pair in diagram.pairs]
        self.targets = [_box(pair.target, limit) for pair in diagram.pairs]
        self.columns = [
            max(NARROWEST, source.width, target.width, _tag_width(pair.mark)) + 2 * PADDING
            for pair, source, target in zip(diagram.pairs, self.sources, self.targets, strict=True)
        ]
        sides = {diagram.source_direction, diagram.target_direction}
        self.is_mirrored = sides == {"rtl"}
        self.is_numbered = len(sides) == 2 or count > COLOURS

    # ---- places --------------------------------------------------------------------------------

    @cached_property
    def width(self) -> float:
        """Width of the picture."""
        columns = sum(self.columns) + GAP * (len(self.columns) - 1)
        return max(columns, self._legend_width) + 2 * MARGIN + GAP

    @cached_property
    def source_height(self) -> float:
        """Height of the boxes of the source."""
        return _height(self.sources)

    @cached_property
    def target_height(self) -> float:
        """Height of the boxes of the translation."""
        return _height(self.targets)

    @cached_property
    def bands(self) -> list[tuple[float, float]]:
        """Top and bottom of the nodes of each height, innermost first."""
        top, bands = MARGIN + self.source_height + STEM, []
        for height in range(1, self.diagram.root.height + 1):
            nodes = [node for node in self.diagram.root.nodes if node.height == height]
            bottom = top + max(self._band_height(node) for node in nodes)
            bands.append((top, bottom))
            top = bottom + 8
        return bands

    @cached_property
    def target_top(self) -> float:
        """Top of the boxes of the translation."""
        above = self.bands[-1][1] if self.bands else MARGIN + self.source_height + 2 * STEM
        return above + STEM

    @cached_property
    def height(self) -> float:
        """Height of the picture."""
        tags = TAG / 2 + 6 if any(pair.mark for pair in self.diagram.pairs) else 0
        legend = 34 if self.legend else 0
        return self.target_top + self.target_height + tags + legend + MARGIN

    def lefts(self, order: Sequence[int]) -> dict[int, float]:
        """Left edge of every column, by the rank of its pair."""
        taken = sum(self.columns) + GAP * (len(self.columns) - 1)
        left, lefts = (self.width - taken) / 2, {}
        for rank in reversed(order) if self.is_mirrored else order:
            lefts[rank] = left
            left += self.columns[rank] + GAP
        return lefts

    @cached_property
    def _centres(self) -> list[dict[int, float]]:
        """Centre of every column above the first band and below every one."""
        return [
            {rank: left + self.columns[rank] / 2 for rank, left in self.lefts(order).items()}
            for order in self.diagram.orders
        ]

    def _band_height(self, node: Part) -> float:
        if not node.inverted:
            return STRAIGHT_BAND
        # Lines that go far need room, or they would lie flat.
        return min(190.0, INVERTED_BAND + self._extent(node)[1] * 0.07)

    def _extent(self, node: Part) -> tuple[float, float]:
        """Left edge and width of a node, which the order of its parts does not change."""
        lefts = self.lefts(range(len(self.columns)))
        ranks = range(node.start, node.stop)
        left = min(lefts[rank] for rank in ranks)
        return left, max(lefts[rank] + self.columns[rank] for rank in ranks) - left

    # ---- elements ------------------------------------------------------------------------------

    def elements(self) -> Iterator[str]:
        """Write the elements of the picture, those at the back first."""
        for node in self.diagram.root.nodes:
            yield self._brackets(node)
        for rank in self.diagram.orders[0]:
            yield self._line(rank)
        for rank in self.diagram.orders[0]:
            yield self._phrase(rank, is_source=True)
        for rank in self.diagram.orders[-1]:
            yield self._phrase(rank, is_source=False)
        yield self._legend_elements()

    def _brackets(self, node: Part) -> str:
        left, width = self._extent(node)
        top, bottom = self.bands[node.height - 1]
        # Those of inner nodes that share an edge stand a little further inside.
        edge = GAP / 2 - 3
        left, right = left - edge, left + width + edge
        middle = (top + bottom) / 2
        back = element(
            "rect", x=left, y=top, width=right - left, height=bottom - top, rx=6, class_="d"
        )
        if node.inverted:
            arm = 9
            opening = path("M", left + arm, top, "L", left, middle, "L", left + arm, bottom)
            closing = path("M", right - arm, top, "L", right, middle, "L", right - arm, bottom)
        else:
            arm = 7
            opening = path("M", left + arm, top, "H", left, "V", bottom, "H", left + arm)
            closing = path("M", right - arm, top, "H", right, "V", bottom, "H", right - arm)
        lines = element("path", d=opening + closing, class_="i" if node.inverted else "s")
        return group([back, lines], note_on_part(node))

    def _line(self, rank: int) -> str:
        """The line of a pair, on a wider one of the background that parts it from lines below."""
        places = [centres[rank] for centres in self._centres]
        steps: list[str | float] = ["M", places[0], MARGIN + self.source_height]
        for (top, bottom), before, after in zip(self.bands, places, places[1:], strict=False):
            if before != after:
                middle = (top + bottom) / 2
                steps += ["V", top, "C", before, middle, after, middle, after, bottom]
        data = path(*steps, "V", self.target_top)
        parts = [element("path", d=data, class_=name) for name in ("h", "w")]
        return group(
            parts, note_on(self.diagram.pairs[rank]), class_=f"p q{rank} k{self.colours[rank]}"
        )

    def _phrase(self, rank: int, *, is_source: bool) -> str:
        diagram, pair = self.diagram, self.diagram.pairs[rank]
        box = (self.sources if is_source else self.targets)[rank]
        height = self.source_height if is_source else self.target_height
        top = MARGIN if is_source else self.target_top
        left = self.lefts(self.diagram.orders[0] if is_source else self.diagram.orders[-1])[rank]
        width = self.columns[rank]
        centre, mark = left + width / 2, None if is_source else pair.mark
        shape = element(
            "rect",
            x=left,
            y=top,
            width=width,
            height=height,
            rx=8,
            class_="c" if mark is None else "r",
        )
        whole = diagram.source if is_source else diagram.target
        towards = diagram.source_direction if is_source else diagram.target_direction
        first = top + (height - LINE * len(box.lines)) / 2 + LINE * 0.72
        texts = [
            element(
                "text",
                escaped(line),
                x=centre,
                y=first + LINE * row,
                direction="rtl" if towards == "rtl" else None,
                font_family=font_family(whole),
                class_=None if line != NOTHING else "n",
            )
            for row, line in enumerate(box.lines)
        ]
        if self.is_numbered:
            texts.append(element("text", str(rank + 1), x=left + 6, y=top + 13, class_="n b"))
        if mark is not None:
            texts.append(_tag(mark, centre, top + height))
        return group([shape, *texts], note_on(pair), class_=f"p q{rank} k{self.colours[rank]}")

    # ---- legend --------------------------------------------------------------------------------

    @cached_property
    def legend(self) -> list[tuple[str, str, str]]:
        """Signs with their class, and what they mean; only of what is in the picture."""
        nodes = self.diagram.root.nodes
        entries = []
        if any(not node.inverted for node in nodes):
            entries.append(("[ ]", "n", "keeps the order"))
        if any(node.inverted for node in nodes):
            entries.append(("< >", "n x", "inverts it"))
        if len({self.diagram.source_direction, self.diagram.target_direction}) == 2:
            entries.append(("1 2 3", "n", "phrases in the order of the source"))
        return entries

    @cached_property
    def _legend_widths(self) -> list[float]:
        return [text_width(f"{sign} {meaning}", 13) + 30 for sign, _, meaning in self.legend]

    @property
    def _legend_width(self) -> float:
        return sum(self._legend_widths)

    def _legend_elements(self) -> str:
        left, parts = (self.width - self._legend_width) / 2 + 15, []
        for (sign, names, meaning), width in zip(self.legend, self._legend_widths, strict=True):
            signs = element("tspan", escaped(sign), class_=names, font_weight=700)
            words = f"{signs} {escaped(meaning)}"
            parts.append(element("text", words, x=left, y=self.height - MARGIN, class_="n b"))
            left += width
        return "".join(parts)


def _box(text: str, limit: float) -> Box:
    longest = max((text_width(word, SIZE) for word in text.split()), default=0.0)
    if longest <= LONG_WORD:  # rather a wider box than a broken word
        limit = max(limit, longest)
    lines = balanced(text, limit, SIZE, MOST_LINES) or [NOTHING]
    return Box(tuple(lines), max(text_width(line, SIZE) for line in lines))


def _height(boxes: Sequence[Box]) -> float:
    return LINE * max(len(box.lines) for box in boxes) + 20


def _tag_width(mark: str | None) -> float:
    return text_width(mark, 11) + 14 if mark else 0.0


def _tag(mark: str, centre: float, middle: float) -> str:
    """The mark of a rule, on the lower edge of a box."""
    width = _tag_width(mark)
    back = element(
        "rect",
        x=centre - width / 2,
        y=middle - TAG / 2,
        width=width,
        height=TAG,
        rx=TAG / 2,
        class_="k",
    )
    return back + element("text", escaped(mark), x=centre, y=middle + 4, class_="g")
