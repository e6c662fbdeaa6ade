"""Derivations in a terminal: phrases in boxes above and below the brackets of the tree.

The numbers of the boxes match. Where the boxes do not fit, or the text runs from right to left and
a terminal may reorder it, the tree is a list with a line for each phrase.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from btg_seq2seq.drawing.colours import assigned
from btg_seq2seq.drawing.description import log_prob_text
from btg_seq2seq.drawing.diagram import Diagram, Pair, Part
from btg_seq2seq.drawing.plain_text import one_line
from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.translation import Translation

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree as ListedTree

STYLES = ("bright_blue", "magenta", "yellow", "cyan", "green", "red")  # of phrase pairs
INVERTED_STYLE = "bold red"
BORDER = 4  # cells that a box takes beside its text
NARROWEST = 5  # text of a box
INDENT = 4  # of a list in a list
NOTHING = "∅"
CROSS = "\N{BOX DRAWINGS LIGHT DIAGONAL CROSS}"


def explained(translation: Translation, width: int = 100, *, colour: bool = False) -> list[str]:
    """Explain a translation, and its alternatives, in lines of at most ``width`` cells.

    With ``colour``, lines have the codes of terminals.
    """
    lines = []
    for one in (translation, *translation.alternatives):
        shown = replace(
            translation, text=one.text, log_prob=one.log_prob, derivation=one.derivation
        )
        lines += [*_explained(shown, width, colour), ""]
    return lines


def _explained(translation: Translation, width: int, colour: bool) -> list[str]:
    from rich.text import Text

    text = Text(one_line(translation.text), style="bold")
    if translation.text.strip():
        text.append(
            f"  log-probability {log_prob_text(translation.log_prob)}", style="not bold dim"
        )
    try:
        diagram = Diagram.of(translation)
    except UserError as error:  # nothing to draw, or too much
        return _printed([text, Text(str(error), style="dim")], width, colour)
    boxes = Boxes(diagram, width)
    if boxes.fit:
        return _printed([text, *boxes.lines()], width, colour)
    return _printed([text, *_listed(diagram, width)], width, colour)


class Boxes:
    """Boxes for the phrases, and lines of brackets between them."""

    def __init__(self, diagram: Diagram, width: int) -> None:
        from rich.cells import cell_len

        self.diagram = diagram
        self.styles = [STYLES[colour % len(STYLES)] for colour in assigned(diagram.target_order)]
        wanted = [
            max(cell_len(pair.source), cell_len(pair.target), len(_label(rank, pair)), NARROWEST)
            for rank, pair in enumerate(diagram.pairs)
        ]
        least = [max(len(_label(rank, pair)), NARROWEST) for rank, pair in enumerate(diagram.pairs)]
        room = width - 1 - (BORDER + 1) * len(wanted)
        # The longest texts are wrapped first, until all boxes fit.
        limit = max(wanted)
        while limit > 2 * NARROWEST and sum(min(limit, one) for one in wanted) > room:
            limit -= 1
        self.columns = [max(low, min(limit, one)) for low, one in zip(least, wanted, strict=True)]
        directions = {diagram.source_direction, diagram.target_direction}
        self.fit = sum(self.columns) <= room and directions == {"ltr"}

    def lines(self) -> Iterator[Text]:
        """Write the source, the tree from the innermost nodes to the whole, and the translation."""
        orders = self.diagram.orders
        yield from self._row(orders[0], is_source=True)
        for height in range(1, len(orders)):
            yield self._band(height, orders[height - 1])
        yield from self._row(orders[-1], is_source=False)

    def _row(self, order: Sequence[int], *, is_source: bool) -> Iterator[Text]:
        from rich.text import Text

        texts = {
            rank: self._wrapped(pair.source if is_source else pair.target, self.columns[rank])
            for rank, pair in enumerate(self.diagram.pairs)
        }
        height = max(map(len, texts.values()))
        top, bottom = Text(" "), Text(" ")
        for rank in order:
            pair, width, style = self.diagram.pairs[rank], self.columns[rank], self.styles[rank]
            label = str(rank + 1) if is_source else _label(rank, pair)
            top.append(f"╭ {label} {'─' * (width - len(label))}╮ ", style)
            bottom.append(f"╰{'─' * (width + 2)}╯ ", style)
        yield top
        for row in range(height):
            line = Text(" ")
            for rank in order:
                shown = texts[rank][row] if row < len(texts[rank]) else Text()
                shown.align("center", self.columns[rank])
                line.append("│ ", self.styles[rank])
                line.append_text(shown)
                line.append(" │ ", self.styles[rank])
            yield line
        yield bottom

    def _wrapped(self, text: str, width: int) -> list[Text]:
        from rich.console import Console
        from rich.text import Text

        console = Console(file=io.StringIO(), width=width)
        lines = list(Text(text or NOTHING).wrap(console, width))
        for line in lines:
            line.rstrip()
        return lines

    def _band(self, height: int, order: Sequence[int]) -> Text:
        """The nodes of a height in one line, and bars for the pairs that pass them by."""
        from rich.text import Text

        nodes = {node.start: node for node in self.diagram.root.nodes if node.height == height}
        line, place = Text(" "), 0
        while place < len(order):
            node = nodes.get(place)
            if node is None:
                width, rank = self.columns[order[place]] + BORDER, order[place]
                line.append("│".center(width) + " ", self.styles[rank])
                place += 1
            else:
                width = sum(self.columns[rank] + BORDER for rank in order[place : node.stop])
                line.append_text(_node(node, width + node.stop - place - 1))
                place = node.stop
        return line


def _node(node: Part, width: int) -> Text:
    from rich.text import Text

    if node.inverted:
        return Text("<" + f" {CROSS} ".center(width - 2, "─") + "> ", INVERTED_STYLE)
    return Text("[" + "─" * (width - 2) + "] ", "dim")


def _label(rank: int, pair: Pair) -> str:
    return f"{rank + 1} {pair.mark}" if pair.mark else str(rank + 1)


def _listed(diagram: Diagram, width: int) -> list[Text | ListedTree]:
    """The tree as a list, a line for each node and each phrase pair; without nodes, if deep."""
    from rich.text import Text
    from rich.tree import Tree as ListedTree

    styles = [STYLES[colour % len(STYLES)] for colour in assigned(diagram.target_order)]

    def line(part: Part) -> Text:
        if part.parts:
            sign = (
                ("< > reverse order", INVERTED_STYLE) if part.inverted else ("[ ] in order", "dim")
            )
            return Text(*sign)
        pair = diagram.pairs[part.start]
        shown = Text(f"{part.start + 1} ", styles[part.start])
        shown.append(f"{pair.source} → {pair.target or NOTHING}", "default")
        return shown.append(f" ({pair.mark})", "dim") if pair.mark else shown

    def add(place: ListedTree, part: Part) -> None:
        for inner in part.parts:
            add(place.add(line(inner)), inner)

    if INDENT * diagram.root.height > width // 2:
        pairs = [line(Part(rank, rank + 1)) for rank in range(len(diagram.pairs))]
        return [Text(_bracketed(diagram.root)), *pairs]
    tree = ListedTree(line(diagram.root))
    add(tree, diagram.root)
    return [tree]


def _bracketed(part: Part) -> str:
    """The tree in brackets, with the numbers of the pairs: ``[1 <2 3>]``."""
    if not part.parts:
        return str(part.start + 1)
    inside = " ".join(map(_bracketed, part.parts))
    return f"<{inside}>" if part.inverted else f"[{inside}]"


def _printed(parts: Sequence[Text | ListedTree], width: int, colour: bool) -> list[str]:
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        highlight=False,
    )
    for part in parts:
        console.print(part, soft_wrap=False)
    return [line.rstrip() for line in stream.getvalue().splitlines()]
