"""Tags put back around the words that they belonged to.

An element gets one run of words: the longest of those that come from its source words. Elements
inside another stay inside it, and those beside each other have no word in common. So every tag is
written once, and what was well-formed remains so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from btg_seq2seq.grammar import Span
from btg_seq2seq.translation.documents.blocks import ROOT, Block, Element, Point
from btg_seq2seq.translation.documents.pieces import Translated

TRIES = 20  # words looked at to find the place of a point


@dataclass
class Node:
    """An element with its place in the translation: the pieces ``[start, stop)``."""

    opening: str = ""
    closing: str = ""
    words: Span = (0, 0)
    place: Span = (0, 0)
    children: list[Node] = field(default_factory=list)
    # Markup before a piece, or behind the one before it, by the number of the piece.
    before: dict[int, list[Node | str]] = field(default_factory=dict)
    behind: dict[int, list[Node | str]] = field(default_factory=dict)


class TagWriter:
    """Writes one block with its tags."""

    def __init__(self, block: Block, translated: Translated) -> None:
        self.block, self.pieces = block, translated.pieces
        numbers = {id(piece): rank for rank, piece in enumerate(self.pieces)}
        self.near = {word: numbers[id(piece)] for word, piece in translated.near.items()}
        self.by_word: dict[int, list[int]] = {}
        for rank, piece in enumerate(self.pieces):
            self.by_word.setdefault(piece.word, []).append(rank)
        self.spaces = [piece.space for piece in self.pieces]
        self._starts = [start for start, _ in block.words]
        self._middles = [(start + stop - 1) // 2 for start, stop in block.words]

    def write(self) -> str:
        """The block as it is written in the document."""
        root = Node(words=(0, len(self.block.words)), place=(0, len(self.pieces)))
        nodes = [root]
        elements: dict[int, list[tuple[int, Element]]] = {}
        points: dict[int, list[Point]] = {}
        for number, element in enumerate(self.block.elements):
            elements.setdefault(element.parent, []).append((number, element))
        for point in self.block.points:
            points.setdefault(point.parent, []).append(point)
        numbers = {id(root): ROOT}
        while nodes:
            node = nodes.pop()
            own = elements.get(numbers[id(node)], [])
            placed = [self._node(element) for _, element in own]
            numbers |= {id(one): number for one, (number, _) in zip(placed, own, strict=True)}
            self._place_children(node, placed)
            self._place_points(node, points.get(numbers[id(node)], []))
            nodes += placed
        return self.block.prefix + "".join(self._written(root)) + self.block.suffix

    def _node(self, element: Element) -> Node:
        words = tuple(bisect_left(self._middles, one) for one in (element.start, element.stop))
        return Node(element.opening, element.closing, (words[0], words[1]), (-1, -1))

    def _place_children(self, node: Node, children: Sequence[Node]) -> None:
        """Give each child its run of pieces inside of its parent's."""
        taken: set[int] = set()
        for child in children:
            own = [
                rank
                for word in range(*child.words)
                for rank in self.by_word.get(word, ())
                if node.place[0] <= rank < node.place[1]
            ]
            child.place = self._longest_run(own)
            taken.update(range(*child.place))
        for child in children:
            if child.place[0] == child.place[1]:
                # Its words were not translated by words of their own: the nearest ones, if free.
                own = [self.near[word] for word in range(*child.words) if word in self.near]
                free = {rank for rank in own if node.place[0] <= rank < node.place[1]} - taken
                child.place = self._longest_run(free)
                taken.update(range(*child.place))
        node.children = sorted(
            (child for child in children if child.place[0] < child.place[1]),
            key=lambda child: child.place,
        )
        for child in children:
            if child.place[0] == child.place[1]:
                place = self._boundary(node, child.words[0], is_before=True)
                place, is_before = self._outside(node, place, True)
                child.place = (place, place)
                (node.before if is_before else node.behind).setdefault(place, []).append(child)

    def _longest_run(self, ranks: Iterable[int]) -> Span:
        """The run of consecutive pieces with the most characters; ``(0, 0)`` if there is none."""
        best, size = (0, 0), 0
        start, own, last = 0, 0, -2
        for rank in sorted(set(ranks)):
            if rank != last + 1:
                start, own = rank, 0
            last, own = rank, own + len(self.pieces[rank].text)
            if own > size:
                best, size = (start, rank + 1), own
        return best

    def _place_points(self, node: Node, points: Sequence[Point]) -> None:
        earliest = node.place[0]
        for point in points:
            word = bisect_left(self._starts, point.place)
            word += 0 if point.is_before else -1
            place = self._boundary(node, word, is_before=point.is_before)
            if point.is_tag:  # tags without their partner keep their order
                place = max(place, earliest)
            place, is_before = self._outside(node, place, point.is_before)
            if point.is_tag:
                if place < earliest:
                    place, is_before = self._stop_around(node, earliest), False
                earliest = place
            if point.is_space and self._is_free_space(node, place):
                self.spaces[place] = point.raw
            else:
                (node.before if is_before else node.behind).setdefault(place, []).append(point.raw)

    def _boundary(self, node: Node, word: int, *, is_before: bool) -> int:
        """Number of the piece before which a point stands: at its word, or at the next that is."""
        low, high = node.place
        step = 1 if is_before else -1
        stop = node.words[1] if is_before else node.words[0] - 1
        for one in range(word, stop, step)[:TRIES]:
            found = [rank for rank in self.by_word.get(one, ()) if low <= rank < high]
            if not found and low <= self.near.get(one, -1) < high:
                found = [self.near[one]]
            if found:
                return min(found) if is_before else max(found) + 1
        return high if is_before else low

    def _outside(self, node: Node, place: int, is_before: bool) -> tuple[int, bool]:
        """Move a point out of the child that it would fall into."""
        rank = bisect_left(node.children, place, key=lambda child: child.place[1])
        if rank < len(node.children):
            start, stop = node.children[rank].place
            if start < place < stop:
                return (start, True) if is_before else (stop, False)
        return place, is_before

    def _stop_around(self, node: Node, place: int) -> int:
        """The end of the child around a place."""
        for child in node.children:
            if child.place[0] < place < child.place[1]:
                return child.place[1]
        return place

    def _is_free_space(self, node: Node, place: int) -> bool:
        is_inside = node.place[0] < place < node.place[1]
        return is_inside and self.spaces[place] in (" ", "")

    def _written(self, root: Node) -> Iterable[str]:
        """All strings of a block in order, with a stack of the elements that are open."""
        stack = [(root, root.place[0], iter(root.children))]
        following = {id(root): next(stack[0][2], None)}
        while stack:
            node, rank, children = stack.pop()
            child = following[id(node)]
            yield from _markup(node.behind.get(rank, ()))
            if node.place[0] < rank < node.place[1]:
                yield self.spaces[rank]
            yield from _markup(node.before.get(rank, ()))
            if rank == node.place[1]:
                yield node.closing
            elif child is not None and child.place[0] == rank:
                following[id(node)] = next(children, None)
                stack.append((node, child.place[1], children))
                yield child.opening
                own = iter(child.children)
                following[id(child)] = next(own, None)
                stack.append((child, rank, own))
            else:
                yield self.pieces[rank].text
                stack.append((node, rank + 1, children))


def _markup(items: Sequence[Node | str]) -> Iterable[str]:
    """Markup without words: a string, or an element in which there is nothing else."""
    stack: list[Node | str] = list(reversed(items))
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        else:
            yield item.opening
            inside = [
                own
                for place in (item.behind, item.before)
                for markup in place.values()
                for own in markup
            ]
            stack += [item.closing, *reversed(inside)]
