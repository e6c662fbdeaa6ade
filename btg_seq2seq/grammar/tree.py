"""Derivation trees of the bracketing transduction grammar, as people read them.

A tree segments a source sentence into phrases and says in which order they are translated. Trees
are in the normal form of the paper (rules ``S -> I S | I I``, ``I -> S I | S S`` in target order),
so every segmentation and reordering that a tree can express is expressed by exactly one. A long
sentence may have a deep tree: nothing here recurses.
"""

from __future__ import annotations

import operator
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, TypeVar

Span = tuple[int, int]
T = TypeVar("T")
CLOSING = {"[": "]", "<": ">"}  # straight and inverted


class Tree:
    """A ``Leaf`` or a ``Node``; positions are fenceposts, a phrase is ``[start, stop)``."""

    if TYPE_CHECKING:  # what both kinds have

        @property
        def start(self) -> int: ...
        @property
        def stop(self) -> int: ...
        @property
        def segments(self) -> int: ...

    def _parts(self) -> Iterator[Tree]:
        """All of its trees, each before its parts, the one first in the target before the other."""
        stack: list[Tree] = [self]
        while stack:
            tree = stack.pop()
            yield tree
            if isinstance(tree, Node):
                stack += [tree.second, tree.first]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Internal nodes, each before its parts, the part first in the target before the other."""
        return tuple(tree for tree in self._parts() if isinstance(tree, Node))

    @cached_property
    def phrases(self) -> tuple[Span, ...]:
        """The leaves' phrases in target order."""
        return tuple((tree.start, tree.stop) for tree in self._parts() if isinstance(tree, Leaf))

    def fold(self, leaf: Callable[[Leaf], T], node: Callable[[Node, T, T], T]) -> T:
        """Compute a value for the whole tree from those of its leaves and nodes, bottom up.

        ``node`` takes a node and the values of its left and its right part.
        """
        done: list[T] = []
        for tree in reversed([*self._parts()]):  # parts before their nodes, first ones last
            if isinstance(tree, Node):
                first, second = done.pop(), done.pop()
                left, right = (second, first) if tree.inverted else (first, second)
                done.append(node(tree, left, right))
            elif isinstance(tree, Leaf):
                done.append(leaf(tree))
        return done[0]

    # The phrases in target order tell trees in normal form apart.
    def __eq__(self, other: object) -> bool:
        return self.phrases == other.phrases if isinstance(other, Tree) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.phrases)

    def __repr__(self) -> str:
        return f"Tree.parse({str(self)!r})"

    def __str__(self) -> str:
        def show(node: Node, left: str, right: str) -> str:
            return f"<{left} {right}>" if node.inverted else f"[{left} {right}]"

        return self.fold(lambda leaf: f"{leaf.start}:{leaf.stop}", show)

    @property
    def permutation(self) -> tuple[int, ...]:
        """For each target position, the rank of its phrase in the source."""
        rank = {phrase: position for position, phrase in enumerate(sorted(self.phrases))}
        return tuple(rank[phrase] for phrase in self.phrases)

    def to_json(self) -> dict[str, Any]:
        """The tree as a dictionary of plain values; ``Tree.from_json`` reads it back."""

        def to_json(node: Node, left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
            orientation = "inverted" if node.inverted else "straight"
            return {"orientation": orientation, "children": [left, right]}

        return self.fold(lambda leaf: {"span": [leaf.start, leaf.stop]}, to_json)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Tree:
        """Build the tree that ``to_json`` wrote."""
        parts: list[Leaf | bool] = []  # leaves, and whether nodes are inverted, before their parts
        ahead: list[Any] = [value]
        while ahead:
            match ahead.pop():
                case {"span": [int(start), int(stop)]}:
                    parts.append(Leaf(start, stop))
                case {"orientation": "straight" | "inverted" as name, "children": [left, right]}:
                    parts.append(name == "inverted")
                    ahead += [right, left]
                case other:
                    raise ValueError(
                        f"not a tree: {reprlib.repr(other)}; expected {{'span': [start, stop]}} or "
                        "{'orientation': 'straight' or 'inverted', 'children': [left, right]}"
                    )
        done: list[Tree] = []
        for part in reversed(parts):  # parts before their nodes, left ones last
            if isinstance(part, Leaf):
                done.append(part)
            else:
                left, right = done.pop(), done.pop()
                done.append(Node(left, right, inverted=part))
        return done[0]

    @staticmethod
    def parse(text: str) -> Tree:
        """Build the tree that ``str`` printed, for example ``[0:2 <2:3 3:5>]``."""
        return _Parser(text).parse()

    @staticmethod
    def from_phrases(phrases: Iterable[Span]) -> Tree:
        """Build the tree whose phrases, in target order, are ``phrases``.

        Raises ``ValueError`` where no bracketing can produce that order (2413 and 3142 patterns).
        """
        # Shift-reduce: as soon as the two topmost trees are neighbours in the source, join them.
        stack: list[_Run] = []
        for start, stop in phrases:
            stack.append(_Run(start, stop, [Leaf(start, stop)]))
            while len(stack) > 1 and stack[-2].is_next_to(stack[-1]):
                second = stack.pop()
                stack.append(stack.pop().joined(second))
        trees = [run.tree for run in stack]
        if len(trees) != 1:
            order = " ".join(f"{start}:{stop}" for tree in trees for start, stop in tree.phrases)
            raise ValueError(f"no bracketing tree has its phrases in the target order {order!r}")
        return trees[0]


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Tree):
    """A phrase ``[start, stop)`` that is translated as a whole."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        for name in ("start", "stop"):  # plain integers, whatever kind was given
            object.__setattr__(self, name, operator.index(getattr(self, name)))
        if not 0 <= self.start < self.stop:
            raise ValueError(f"a phrase needs 0 <= start < stop, not {self.start}:{self.stop}")

    @property
    def segments(self) -> int:
        """Number of leaves."""
        return 1


@dataclass(frozen=True, eq=False, repr=False)
class Node(Tree):
    """Two neighbouring parts, ``left`` and ``right`` in source order.

    A straight node translates ``left`` first, an inverted one ``right``. The part that comes first
    in the target never has its parent's orientation. ``start`` and ``stop`` are the fenceposts
    around both, ``segments`` is their number of leaves.
    """

    left: Tree
    right: Tree
    inverted: bool = False
    start: int = field(init=False)
    stop: int = field(init=False)
    segments: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", self.left.start)
        object.__setattr__(self, "stop", self.right.stop)
        object.__setattr__(self, "segments", self.left.segments + self.right.segments)
        if self.left.stop != self.right.start:
            raise ValueError(f"{self.left} and {self.right} are not neighbours in the source")
        if isinstance(self.first, Node) and self.first.inverted == self.inverted:
            orientation = "inverted" if self.inverted else "straight"
            raise ValueError(
                f"{self} is not in normal form: {self.first} comes first in the target and is "
                f"{orientation} like its parent; Tree.from_phrases builds the normal form"
            )

    @property
    def split(self) -> int:
        """Fencepost between the two parts."""
        return self.left.stop

    @property
    def first(self) -> Tree:
        """The part that comes first in the target."""
        return self.right if self.inverted else self.left

    @property
    def second(self) -> Tree:
        """The part that comes second in the target."""
        return self.left if self.inverted else self.right


@dataclass
class _Run:
    """Neighbouring trees in target order, all joined with the same orientation."""

    start: int
    stop: int
    trees: list[Tree]
    inverted: bool | None = None  # nothing yet: a single tree

    def is_next_to(self, other: _Run) -> bool:
        return self.stop == other.start or other.stop == self.start

    def joined(self, second: _Run) -> _Run:
        """With a run that comes next in the target; this one may be used up."""
        inverted = second.stop == self.start
        trees = self.trees if self.inverted in (None, inverted) else [self.tree]
        trees.append(second.tree)
        fenceposts = self.start, self.stop, second.start, second.stop
        return _Run(min(fenceposts), max(fenceposts), trees, inverted)

    @property
    def tree(self) -> Tree:
        """In normal form: A (B C), not (A B) C, in the order of the target."""

        def join(later: Tree, earlier: Tree) -> Tree:
            return Node(later, earlier, True) if self.inverted else Node(earlier, later)

        return reduce(join, reversed(self.trees))


class _Parser:
    """Reads the tokens of a printed tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [(m[0], m.start()) for m in re.finditer(r"[0-9]+:[0-9]+|[\[\]<>]|\S", text)]
        self.next = 0

    def parse(self) -> Tree:
        opened: list[tuple[str, list[Tree]]] = []  # brackets, and the parts read so far
        while True:
            token = self._take()
            if token in CLOSING:
                opened.append((token, []))
                continue
            if token is None or ":" not in token or token == ":":
                raise self._error("a phrase like 0:2, '[' or '<'")
            start, stop = map(int, token.split(":"))
            tree = self._built(Leaf, start, stop)
            while opened and len(opened[-1][1]) == 1:
                bracket, (left,) = opened.pop()
                if self._take() != CLOSING[bracket]:
                    raise self._error(repr(CLOSING[bracket]))
                tree = self._built(Node, left, tree, bracket == "<")
            if not opened:
                break
            opened[-1][1].append(tree)
        if self._take() is not None:
            raise self._error("the end")
        return tree

    def _built(self, kind: Callable[..., Tree], *parts: Any) -> Tree:
        try:
            return kind(*parts)
        except ValueError as error:
            raise ValueError(f"{self.text!r}: {error}") from None

    def _take(self) -> str | None:
        token = self.tokens[self.next][0] if self.next < len(self.tokens) else None
        self.next += 1
        return token

    def _error(self, expected: str) -> ValueError:
        """An error that says what was expected in place of the last token."""
        if self.next <= len(self.tokens):
            token, position = self.tokens[self.next - 1]
            return ValueError(
                f"{self.text!r}: expected {expected} at character {position + 1}, found {token!r}"
            )
        return ValueError(f"{self.text!r}: expected {expected}, found the end of the text")
