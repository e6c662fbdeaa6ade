"""The content of a picture: phrase pairs in source order, and the tree over them.

The only place where leaves of a tree are matched with phrases of the text. Drawings of all kinds
start from a ``Diagram``. Runs of nodes with the same orientation become one node of several parts:
in the normal form of trees, ``[a [b c]]`` is how ``[a b c]`` is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from btg_seq2seq.drawing.plain_text import Direction, direction, one_line
from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Leaf, Node, Span
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.rules.rules import Rule
from btg_seq2seq.translation.translation import TextPhrase, Translation

MOST_PHRASES = 200
MOST_CHARACTERS = 100_000  # of a text
KEPT, GIVEN, PREFERRED = "kept", "rule", "preferred"


@dataclass(frozen=True)
class Pair:
    """A phrase pair: its texts as they are shown, and its words."""

    source: str
    target: str
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    log_prob: float
    rule: Rule | None

    @property
    def mark(self) -> str | None:
        """One word for the rule that gave the translation; ``None`` if the model did."""
        if self.rule is None:
            return None
        return {"keep": KEPT, "prefer": PREFERRED}.get(self.rule.mode, GIVEN)


@dataclass(frozen=True)
class Part:
    """A part of the sentence: a phrase pair, or several parts in source order.

    Args:
        start: rank of its first phrase pair in the source.
        stop: rank after its last one.
        inverted: the translation has its parts in reverse order.
        parts: empty for a phrase pair.
    """

    start: int
    stop: int
    inverted: bool = False
    parts: tuple[Part, ...] = ()

    @cached_property
    def height(self) -> int:
        """Number of nodes on the longest way down to a phrase pair."""
        return 1 + max(part.height for part in self.parts) if self.parts else 0

    @cached_property
    def nodes(self) -> tuple[Part, ...]:
        """All nodes, each after those inside it."""
        inside = [node for part in self.parts for node in part.nodes]
        return (*inside, self) if self.parts else ()

    @property
    def in_target_order(self) -> tuple[Part, ...]:
        """Its parts in the order of the translation."""
        return self.parts[::-1] if self.inverted else self.parts

    def leaves(self) -> Iterator[int]:
        """Ranks of its phrase pairs in the order of the translation."""
        if not self.parts:
            yield self.start
        for part in self.in_target_order:
            yield from part.leaves()


@dataclass(frozen=True)
class Diagram:
    """A sentence, its translation, its phrase pairs in source order, and the tree."""

    source: str
    target: str
    pairs: tuple[Pair, ...]
    root: Part
    log_prob: float
    mode: str

    @classmethod
    def of(cls, translation: Translation) -> Diagram:
        """Take a translation apart; ``UserError`` for one that cannot be drawn."""
        derivation = translation.derivation
        if derivation is None:
            raise UserError("there is no derivation to draw: the text is empty, or was too long")
        leaves = derivation.tree.phrases  # in target order, as the phrases are
        phrases = derivation.phrases
        _check(translation, leaves)
        in_source_order = sorted(range(len(leaves)), key=lambda rank: leaves[rank])
        ranks = {leaves[place]: rank for rank, place in enumerate(in_source_order)}
        _check_tiling(translation.source, [phrases[rank].source_span for rank in in_source_order])
        _check_tiling(translation.text, [phrase.target_span for phrase in phrases])
        return cls(
            one_line(translation.source),
            one_line(translation.text),
            tuple(_pair(translation, phrases[rank]) for rank in in_source_order),
            derivation.tree.fold(lambda leaf: _leaf(leaf, ranks), _joined),
            translation.log_prob,
            translation.mode,
        )

    @cached_property
    def target_order(self) -> tuple[int, ...]:
        """Ranks of the pairs in the order of the translation."""
        return tuple(self.root.leaves())

    @cached_property
    def orders(self) -> list[list[int]]:
        """Ranks of the pairs in source order, then after the nodes of each height."""
        order = list(range(len(self.pairs)))
        orders = [order]
        for height in range(1, self.root.height + 1):
            order = list(order)
            for node in self.root.nodes:
                if node.height == height and node.inverted:
                    order[node.start : node.stop] = node.leaves()
            orders.append(order)
        return orders

    @property
    def source_direction(self) -> Direction:
        """Direction in which the source is written."""
        return direction(self.source)

    @property
    def target_direction(self) -> Direction:
        """Direction in which the translation is written."""
        return direction(self.target)


def _check(translation: Translation, leaves: tuple[Span, ...]) -> None:
    derivation = translation.derivation
    phrases = derivation.phrases if derivation is not None else ()
    for name, text in (("source", translation.source), ("text", translation.text)):
        if not isinstance(text, str):
            raise UserError(f"{name!r} must be a text, not {type(text).__name__}")
        if len(text) > MOST_CHARACTERS:
            raise UserError(
                f"{name!r} has {len(text)} characters, but no more than {MOST_CHARACTERS} can be "
                "drawn; split it into sentences"
            )
    if len(leaves) > MOST_PHRASES:
        raise UserError(
            f"the derivation has {len(leaves)} phrases, but no more than {MOST_PHRASES} can be "
            "drawn; split the text into sentences"
        )
    if len(leaves) != len(phrases):
        raise UserError(f"the tree has {len(leaves)} phrases, but {len(phrases)} are given")
    log_probs = (translation.log_prob, *(phrase.log_prob for phrase in phrases))
    if not all(isinstance(value, int | float) for value in log_probs):
        raise UserError("'log_prob' must be a number or null")


def _check_tiling(text: str, spans: list[Span]) -> None:
    """Refuse spans that do not follow each other within the text."""
    ends = [0, *(end for span in spans for end in span), len(text)]
    if ends != sorted(ends):
        raise UserError(
            "the character spans of the phrases are not those of the tree and the text; draw what "
            "btg translate --format jsonl or btg align --format json wrote, unchanged"
        )


def _pair(translation: Translation, phrase: TextPhrase) -> Pair:
    source = translation.source[slice(*phrase.source_span)]
    target = translation.text[slice(*phrase.target_span)]
    return Pair(
        one_line(source),
        one_line(target),
        _words(source),
        _words(target),
        phrase.log_prob,
        phrase.rule,
    )


def _words(text: str) -> tuple[str, ...]:
    """Words as they are shown; a phrase may end within one."""
    found = (one_line(text[word.start : word.stop]) for word in words_of(text))
    return tuple(filter(None, found))


def _leaf(leaf: Leaf, ranks: dict[Span, int]) -> Part:
    rank = ranks[leaf.start, leaf.stop]
    return Part(rank, rank + 1)


def _joined(node: Node, left: Part, right: Part) -> Part:
    """Join two parts; the one that comes second may continue a run of the same orientation."""

    def run(part: Part) -> tuple[Part, ...]:
        return part.parts if part.parts and part.inverted == node.inverted else (part,)

    return Part(left.start, right.stop, node.inverted, (*run(left), *run(right)))
