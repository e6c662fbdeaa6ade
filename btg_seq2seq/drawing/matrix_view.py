"""The matrix view: source words down the side, target words along the top, phrase pairs as blocks.

Every node of the tree is a frame around its blocks. In a straight node the blocks run down the
diagonal, in an inverted one they run up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from btg_seq2seq.drawing.colours import assigned
from btg_seq2seq.drawing.description import note_on, note_on_part
from btg_seq2seq.drawing.diagram import Diagram, Part
from btg_seq2seq.drawing.fonts import font_family, text_width, wrap
from btg_seq2seq.drawing.svg import element, escaped, group, path
from btg_seq2seq.errors import UserError
from btg_seq2seq.text.words import is_unspaced

SIZE = 15  # of the font
CELL = 30
MARGIN = 26
LONGEST_LABEL = 190.0
ANGLE = 50  # degrees of the labels at the top, where words are wider than a cell
MOST_WORDS = 150  # on each side
MOST_JOINED = 8  # characters of a script without spaces in one row or column

Range = tuple[int, int]


class MatrixView:
    """Places and elements of a picture of a derivation as a matrix of words.

    Columns run in the direction in which the translation is written.
    """

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.colours = assigned(diagram.target_order)
        pairs = diagram.pairs
        above = [joined_words(pair.source_words) for pair in pairs]
        below = [joined_words(pairs[rank].target_words) for rank in diagram.target_order]
        self.rows = _ranges([len(words) for words in above])
        in_order = _ranges([len(words) for words in below])
        self.columns = dict(zip(diagram.target_order, in_order, strict=True))
        sources = [word for words in above for word in words]
        targets = [word for words in below for word in words]
        for side, words in (("source", sources), ("translation", targets)):
            if len(words) > MOST_WORDS:
                raise UserError(
                    f"the {side} has {len(words)} words, but a matrix shows no more than "
                    f"{MOST_WORDS}; draw the tree, or split the text into sentences"
                )
        self.source_labels = [_label(word) for word in sources]
        self.target_labels = [_label(word) for word in targets]
        self.is_mirrored = diagram.target_direction == "rtl"

    # ---- places --------------------------------------------------------------------------------

    @cached_property
    def _is_turned(self) -> bool:
        """Labels at the top are turned if one of them is wider than a cell."""
        return any(text_width(label, SIZE) > CELL for label in self.target_labels)

    @cached_property
    def _widest(self) -> float:
        return max((text_width(label, SIZE) for label in self.target_labels), default=0.0)

    @cached_property
    def left(self) -> float:
        """Left edge of the matrix."""
        widest = max((text_width(label, SIZE) for label in self.source_labels), default=0.0)
        return MARGIN + widest + 14

    @cached_property
    def top(self) -> float:
        """Top edge of the matrix."""
        if not self._is_turned:
            return MARGIN + SIZE + 16
        return MARGIN + self._widest * math.sin(math.radians(ANGLE)) + SIZE + 8

    @cached_property
    def width(self) -> float:
        """Width of the picture."""
        share = math.cos(math.radians(ANGLE)) if self._is_turned else 0.0
        ends = [
            self._across((column, column + 1))[0] + CELL / 2 + share * text_width(label, SIZE)
            for column, label in enumerate(self.target_labels)
        ]
        return max([*ends, self.left + CELL * len(self.target_labels)]) + MARGIN

    @cached_property
    def height(self) -> float:
        """Height of the picture."""
        return self.top + CELL * len(self.source_labels) + MARGIN

    def _across(self, columns: Range) -> tuple[float, float]:
        """Left edge and width of neighbouring columns."""
        start, stop = columns
        if self.is_mirrored:
            start, stop = len(self.target_labels) - stop, len(self.target_labels) - start
        return self.left + CELL * start, CELL * (stop - start)

    # ---- elements ------------------------------------------------------------------------------

    def elements(self) -> Iterator[str]:
        """Write the elements of the picture, those at the back first."""
        yield self._grid()
        for rank in range(len(self.diagram.pairs)):
            yield self._block(rank)
        for node in self.diagram.root.nodes:
            yield self._frame(node)
        yield from self._source_labels()
        yield from self._target_labels()

    def _grid(self) -> str:
        right = self.left + CELL * len(self.target_labels)
        bottom = self.top + CELL * len(self.source_labels)
        across = [
            path("M", self.left, self.top + CELL * row, "H", right)
            for row in range(len(self.source_labels) + 1)
        ]
        down = [
            path("M", self.left + CELL * column, self.top, "V", bottom)
            for column in range(len(self.target_labels) + 1)
        ]
        return element("path", d="".join([*across, *down]), class_="l")

    def _block(self, rank: int) -> str:
        pair = self.diagram.pairs[rank]
        left, width = self._across(self.columns[rank])
        start, stop = self.rows[rank]
        shape = element(
            "rect",
            x=left + 3,
            y=self.top + CELL * start + 3,
            width=max(2.0, width - 6),
            height=max(2.0, CELL * (stop - start) - 6),
            rx=5,
            class_="c m" if pair.mark is None else "r m",
        )
        return group([shape], note_on(pair), class_=f"p q{rank} k{self.colours[rank]}")

    def _frame(self, node: Part) -> str:
        columns = [self.columns[rank] for rank in node.leaves()]
        left, width = self._across((columns[0][0], columns[-1][1]))
        first, last = self.rows[node.start][0], self.rows[node.stop - 1][1]
        beyond = min(2.6 * (node.height - 1), MARGIN / 2)  # outer frames stand further out
        shape = element(
            "rect",
            x=left - beyond,
            y=self.top + CELL * first - beyond,
            width=width + 2 * beyond,
            height=CELL * (last - first) + 2 * beyond,
            rx=6,
            class_="i" if node.inverted else "s",
        )
        return group([shape], note_on_part(node))

    def _source_labels(self) -> Iterator[str]:
        family = font_family(self.diagram.source)
        for row, label in enumerate(self.source_labels):
            yield element(
                "text",
                escaped(label),
                x=self.left - 14,
                y=self.top + CELL * (row + 0.5) + SIZE * 0.36,
                class_="e",
                font_family=family,
            )

    def _target_labels(self) -> Iterator[str]:
        family = font_family(self.diagram.target)
        for column, label in enumerate(self.target_labels):
            left, width = self._across((column, column + 1))
            x, y = left + width / 2, self.top - 16
            turn = f"rotate(-{ANGLE} {round(x, 1)} {round(y, 1)})" if self._is_turned else None
            yield element(
                "text",
                escaped(label),
                x=x,
                y=y,
                transform=turn,
                class_="b" if self._is_turned else None,
                font_family=family,
            )


def joined_words(words: Sequence[str]) -> list[str]:
    """Join characters of scripts without spaces, which are words of their own, into short runs."""
    runs: list[list[str]] = []
    for word in words:
        if runs and is_unspaced(runs[-1][-1], word):
            runs[-1].append(word)
        else:
            runs.append([word])
    labels = []
    for run in runs:
        pieces = -(-len(run) // MOST_JOINED)
        ends = [round(len(run) * piece / pieces) for piece in range(pieces + 1)]
        labels += ["".join(run[start:stop]) for start, stop in pairwise(ends)]
    return labels


def _ranges(counts: Sequence[int]) -> list[Range]:
    """First and last position of neighbouring groups of these sizes."""
    starts = [sum(counts[:rank]) for rank in range(len(counts) + 1)]
    return list(pairwise(starts))


def _label(word: str) -> str:
    return "".join(wrap(word, LONGEST_LABEL, SIZE, 1))
