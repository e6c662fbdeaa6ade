"""The derivation of one sentence pair: a tree over the source, and the target phrases along it.

Positions count units of the sentence, see ``text.units``. Training and decoding share this class:
a derivation may be drawn, the most probable one, given, collected from a bitext, or decoded.
``batch`` has the tensors of many derivations and ``corpus`` the derivations of a whole bitext; the
words and characters of a derivation are left to ``translation``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from btg_seq2seq.grammar import Leaf, Tree

if TYPE_CHECKING:
    from btg_seq2seq.grammar import Segmentation, Span


class PhrasePair(NamedTuple):
    """A source phrase and the target phrase that translates it.

    ``log_prob`` is that of the target phrase given the source phrase, if known. ``rule`` is the
    number of the rule that gave the translation; ``None`` if the phrase translator did.
    """

    source: Span
    target: Span
    log_prob: float | None = None
    rule: int | None = None


@dataclass(frozen=True)
class Derivation:
    """A tree over source units and, for each of its leaves in target order, a target phrase."""

    tree: Tree
    segmentation: Segmentation
    log_probs: tuple[float, ...] | None = None  # of each target phrase; None if not known
    rules: tuple[int | None, ...] | None = None  # that gave them; None if there are no rules

    def __post_init__(self) -> None:
        count = self.tree.segments
        if len(self.segmentation) != count:
            raise ValueError(
                f"{len(self.segmentation)} target phrases for the {count} leaves of {self.tree}"
            )
        for name in ("log_probs", "rules"):
            values = getattr(self, name)
            if values is not None and len(values) != count:
                raise ValueError(f"{len(values)} {name} for the {count} leaves of {self.tree}")

    @classmethod
    def from_phrases(cls, phrases: Iterable[PhrasePair]) -> Derivation:
        """Build the derivation with these phrase pairs, given in target order."""
        sources, targets, log_probs, rules = zip(*phrases, strict=True)
        return cls(
            Tree.from_phrases(sources),
            list(targets),
            None if None in log_probs else log_probs,
            rules if any(rule is not None for rule in rules) else None,
        )

    @classmethod
    def whole(cls, source: int, target: int, log_prob: float | None = None) -> Derivation:
        """Build the derivation with one phrase; ``source`` and ``target`` are the lengths."""
        log_probs = None if log_prob is None else (log_prob,)
        return cls(Leaf(0, source), [(0, target)], log_probs)

    @property
    def phrases(self) -> list[PhrasePair]:
        """The phrase pairs in target order."""
        nothing = (None,) * len(self.segmentation)
        columns = (
            self.tree.phrases,
            self.segmentation,
            self.log_probs or nothing,
            self.rules or nothing,
        )
        return [PhrasePair(*row) for row in zip(*columns, strict=True)]
