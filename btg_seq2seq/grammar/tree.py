"""Derivation trees of the bracketing transduction grammar, as people read them.

A tree segments a source sentence into phrases and says in which order they are translated. Trees
are in the normal form of the paper (rules ``S -> I S | I I``, ``I -> S I | S S`` in target order),
so every segmentation and reordering that a tree can express is expressed by exactly one.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

Span = tuple[int, int]


class Tree:
    """A ``Leaf`` or a ``Node``; positions are fenceposts, a phrase is ``[start, stop)``."""

    if TYPE_CHECKING:  # what both kinds have

        @property
        def start(self) -> int: ...
        @property
        def stop(self) -> int: ...
        @property
        def segments(self) -> int: ...
        @property
        def nodes(self) -> tuple[Node, ...]: ...
        @property
        def phrases(self) -> tuple[Span, ...]: ...

    @property
    def permutation(self) -> tuple[int, ...]:
        """For each target position, the rank of its phrase in the source."""
        rank = {phrase: position for position, phrase in enumerate(sorted(self.phrases))}
        return tuple(rank[phrase] for phrase in self.phrases)

    def to_json(self) -> dict[str, Any]:
        """The tree as a dictionary of plain values; ``Tree.from_json`` reads it back."""
        raise TypeError("a tree is a Leaf or a Node")

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Tree:
        """Build the tree that ``to_json`` wrote."""
        match value:
            case {"span": [int(start), int(stop)]}:
                return Leaf(start, stop)
            case {"orientation": "straight" | "inverted" as orientation, "children": [left, right]}:
                parts = Tree.from_json(left), Tree.from_json(right)
                return Node(*parts, inverted=orientation == "inverted")
        raise ValueError(
            f"not a tree: {value!r}; expected {{'span': [start, stop]}} or "
            "{'orientation': 'straight' or 'inverted', 'children': [left, right]}"
        )

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
        stack: list[Tree] = []
        for start, stop in phrases:
            stack.append(Leaf(start, stop))
            while len(stack) > 1 and _are_neighbours(stack[-2], stack[-1]):
                second = stack.pop()
                stack.append(_join(stack.pop(), second))
        if len(stack) != 1:
            order = " ".join(f"{start}:{stop}" for tree in stack for start, stop in tree.phrases)
            raise ValueError(f"no bracketing tree has its phrases in the target order {order!r}")
        return stack[0]


@dataclass(frozen=True)
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

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Internal nodes: none."""
        return ()

    @property
    def phrases(self) -> tuple[Span, ...]:
        """The phrase itself."""
        return ((self.start, self.stop),)

    def to_json(self) -> dict[str, Any]:
        return {"span": [self.start, self.stop]}

    def __str__(self) -> str:
        return f"{self.start}:{self.stop}"


@dataclass(frozen=True)
class Node(Tree):
    """Two neighbouring parts, ``left`` and ``right`` in source order.

    A straight node translates ``left`` first, an inverted one ``right``. The part that comes first
    in the target never has its parent's orientation.
    """

    left: Tree
    right: Tree
    inverted: bool = False

    def __post_init__(self) -> None:
        if self.left.stop != self.right.start:
            raise ValueError(f"{self.left} and {self.right} are not neighbours in the source")
        if isinstance(self.first, Node) and self.first.inverted == self.inverted:
            orientation = "inverted" if self.inverted else "straight"
            raise ValueError(
                f"{self} is not in normal form: {self.first} comes first in the target and is "
                f"{orientation} like its parent; Tree.from_phrases builds the normal form"
            )

    @property
    def start(self) -> int:
        """First fencepost."""
        return self.left.start

    @property
    def stop(self) -> int:
        """Last fencepost."""
        return self.right.stop

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

    @cached_property
    def segments(self) -> int:
        """Number of leaves."""
        return self.left.segments + self.right.segments

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Internal nodes, each before its parts, the part first in the target before the other."""
        return (self, *self.first.nodes, *self.second.nodes)

    @cached_property
    def phrases(self) -> tuple[Span, ...]:
        """The leaves' phrases in target order."""
        return self.first.phrases + self.second.phrases

    def to_json(self) -> dict[str, Any]:
        return {
            "orientation": "inverted" if self.inverted else "straight",
            "children": [self.left.to_json(), self.right.to_json()],
        }

    def __str__(self) -> str:
        opening, closing = "<>" if self.inverted else "[]"
        return f"{opening}{self.left} {self.right}{closing}"


def _are_neighbours(first: Tree, second: Tree) -> bool:
    return first.stop == second.start or second.stop == first.start


def _join(first: Tree, second: Tree) -> Tree:
    """The normal form of a node over ``first`` and ``second``, given in target order."""
    inverted = second.stop == first.start
    if isinstance(first, Node) and first.inverted == inverted:
        # (A B) C has the same order as A (B C), which is the one in normal form.
        return _join(first.first, _join(first.second, second))
    return Node(second, first, True) if inverted else Node(first, second)


class _Parser:
    """Recursive descent over the tokens of a printed tree."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [(m[0], m.start()) for m in re.finditer(r"[0-9]+:[0-9]+|[\[\]<>]|\S", text)]
        self.next = 0

    def parse(self) -> Tree:
        tree = self._tree()
        if self.next < len(self.tokens):
            raise self._error("the end")
        return tree

    def _tree(self) -> Tree:
        token = self._take()
        try:
            if token and ":" in token and token != ":":
                start, stop = map(int, token.split(":"))
                return Leaf(start, stop)
            if token == "[" or token == "<":
                left, right = self._tree(), self._tree()
                closing = ">" if token == "<" else "]"
                if self._take() != closing:
                    self.next -= 1
                    raise self._error(repr(closing))
                return Node(left, right, inverted=token == "<")
        except _ParseError:
            raise
        except ValueError as error:
            raise _ParseError(f"{self.text!r}: {error}") from None
        self.next -= 1
        raise self._error("a phrase like 0:2, '[' or '<'")

    def _take(self) -> str | None:
        token = self.tokens[self.next][0] if self.next < len(self.tokens) else None
        self.next += 1
        return token

    def _error(self, expected: str) -> ValueError:
        if self.next < len(self.tokens):
            token, position = self.tokens[self.next]
            return _ParseError(
                f"{self.text!r}: expected {expected} at character {position + 1}, found {token!r}"
            )
        return _ParseError(f"{self.text!r}: expected {expected}, found the end of the text")


class _ParseError(ValueError):
    """A malformed printed tree, with its place already in the message."""
