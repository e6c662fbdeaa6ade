"""Translations: text, log-probability, and the origin of every word.

Plain values without tensors, which can be written as JSON and read back. ``text_hypotheses`` makes
them from the results of decoding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from btg_seq2seq.grammar import Leaf, Node, Span, Tree
from btg_seq2seq.translation.rules.rules import Rule

Mode = Literal["flat", "cky", "rescored", "given"]
RankedBy = Literal[
    "probability", "probability per token", "score", "score per token", "expected chrF"
]


@dataclass(frozen=True)
class TextPhrase:
    """A phrase of the source and its translation.

    The character spans of a derivation's phrases tile the source and the text, white space
    included; ``source`` and ``target`` are the words in them.
    """

    source: str
    target: str
    units: Span  # of the source
    source_span: Span  # characters
    target_span: Span  # characters
    log_prob: float
    rule: Rule | None = None

    @classmethod
    def between(cls, source: str, text: str, **values: Any) -> TextPhrase:
        """Build a phrase from the two texts; its spans say which words it has."""
        words, translated = (
            whole[slice(*span)].strip()
            for whole, span in ((source, values["source_span"]), (text, values["target_span"]))
        )
        return cls(words, translated, **values)

    @property
    def origin(self) -> str:
        """``seq2seq``, or the rule that gave the translation."""
        return "seq2seq" if self.rule is None else f"rule {self.rule}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "source": self.source,
            "target": self.target,
            "units": list(self.units),
            "source_span": list(self.source_span),
            "target_span": list(self.target_span),
            "log_prob": _to_number(self.log_prob),
            "rule": None if self.rule is None else self.rule.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TextPhrase:
        """Read a phrase written by ``to_json``."""
        return cls(
            source=value["source"],
            target=value["target"],
            units=_span(value["units"] if "units" in value else value["tokens"]),  # before 0.3
            source_span=_span(value["source_span"]),
            target_span=_span(value["target_span"]),
            log_prob=_from_number(value["log_prob"]),
            rule=None if value["rule"] is None else Rule.from_json(value["rule"]),
        )


@dataclass(frozen=True)
class TextDerivation:
    """The derivation of a text, in words and characters: a tree over source units, and phrases."""

    tree: Tree
    phrases: tuple[TextPhrase, ...]  # in target order

    @property
    def bracket(self) -> str:
        """The derivation in brackets: ``[das Haus -> the house <ist -> is, klein -> small>]``.

        In source order; angle brackets mark two parts that the translation inverts.
        """
        by_units = {phrase.units: phrase for phrase in self.phrases}

        def show_leaf(leaf: Leaf) -> str:
            phrase = by_units[leaf.start, leaf.stop]
            return f"{phrase.source} -> {phrase.target}"

        def show_node(node: Node, left: str, right: str) -> str:
            both_leaves = isinstance(node.left, Leaf) and isinstance(node.right, Leaf)
            inside = (", " if both_leaves else " ").join([left, right])
            return f"<{inside}>" if node.inverted else f"[{inside}]"

        return self.tree.fold(show_leaf, show_node)

    def to_json(self) -> dict[str, Any]:
        """Plain values; the tree is printed."""
        return {
            "tree": str(self.tree),
            "bracket": self.bracket,
            "phrases": [phrase.to_json() for phrase in self.phrases],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TextDerivation:
        """Read a derivation written by ``to_json``."""
        phrases = tuple(TextPhrase.from_json(phrase) for phrase in value["phrases"])
        return cls(Tree.parse(value["tree"]), phrases)


@dataclass(frozen=True)
class Alternative:
    """One of the best texts, and its best derivation.

    ``log_prob`` adds up the token strings in ``variants``, which all read as this text.
    ``rank_score`` is the number by which texts are ranked; ``None`` stands for ``log_prob``.
    """

    text: str
    log_prob: float
    variants: tuple[tuple[int, ...], ...] = ()
    derivation: TextDerivation | None = None
    rank_score: float | None = field(default=None, kw_only=True)

    @property
    def score(self) -> float:
        """The number by which texts are ranked."""
        return self.log_prob if self.rank_score is None else self.rank_score

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "text": self.text,
            "log_prob": _to_number(self.log_prob),
            "rank_score": _to_number(self.score),
            "variants": [list(tokens) for tokens in self.variants],
            "derivation": None if self.derivation is None else self.derivation.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Alternative:
        """Read an alternative written by ``to_json``."""
        derivation = value["derivation"]
        return cls(
            text=value["text"],
            log_prob=_from_number(value["log_prob"]),
            variants=tuple(tuple(tokens) for tokens in value["variants"]),
            derivation=None if derivation is None else TextDerivation.from_json(derivation),
            rank_score=_rank_score(value),
        )


@dataclass(frozen=True)
class Translation(Alternative):
    """The best translation of a text, with its alternatives and provenance.

    Args:
        text: the translation.
        log_prob: log-probability of the text, summed over all of its derivations that the decoder
            found. The target of a rule has probability 1; several targets of a forced rule share
            it in proportion to the model's probabilities.
        variants: the token strings that read as this text.
        derivation: the most probable derivation; ``None`` for an empty source.
        rank_score: the number by which texts were ranked, if that is not ``log_prob``.
        source: the text that was translated.
        mode: ``"flat"``, ``"cky"`` or ``"rescored"``, as requested; ``"given"`` for a given text
            that was aligned.
        alternatives: the next best texts, all different.
        segment_posterior: probability that the text is made of 1, 2, ... phrases.
        fallback: reason why the sentence was not decoded as requested; ``None`` if it was.
        notices: messages about rules that were not applied as written.
        ranked_by: meaning of ``rank_score``: ``"probability"``, ``"score"`` for weighted features,
            either of them ``" per token"``, or ``"expected chrF"``.
    """

    source: str = ""
    mode: Mode = "flat"
    alternatives: tuple[Alternative, ...] = ()
    segment_posterior: tuple[float, ...] = ()
    fallback: str | None = None
    notices: tuple[str, ...] = ()
    ranked_by: RankedBy = "probability"

    @property
    def bracket(self) -> str:
        """The derivation in brackets; empty if there is none."""
        return "" if self.derivation is None else self.derivation.bracket

    def draw(
        self,
        view: Literal["tree", "matrix"] = "tree",
        theme: Literal["auto", "light", "dark"] = "auto",
    ) -> Any:
        """Draw the derivation: a ``btg_seq2seq.drawing.drawing.Drawing``, with ``svg``, ``save``.

        ``UserError`` if there is no derivation, or if it is too large.
        """
        # Imported by name, because the layer of drawing is above that of translation.
        return import_module("btg_seq2seq.drawing.drawing").draw(self, view, theme)

    def to_pharaoh(self) -> str:
        """Return the word alignment ``0-0 1-2 ...``: all words of each pair of phrases."""
        if self.derivation is None:
            return ""
        links = set()
        source_words, target_words = _word_spans(self.source), _word_spans(self.text)
        for phrase in self.derivation.phrases:
            sources = _words_in(source_words, phrase.source_span)
            targets = _words_in(target_words, phrase.target_span)
            links |= {(source, target) for source in sources for target in targets}
        return " ".join(f"{source}-{target}" for source, target in sorted(links))

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values, for ``json.dumps``."""
        return {
            "source": self.source,
            **super().to_json(),
            "mode": self.mode,
            "alternatives": [alternative.to_json() for alternative in self.alternatives],
            "segment_posterior": list(self.segment_posterior),
            "fallback": self.fallback,
            "notices": list(self.notices),
            "ranked_by": self.ranked_by,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Translation:
        """Read a translation written by ``to_json``; other fields are ignored."""
        best = Alternative.from_json(value)
        return cls(
            text=best.text,
            log_prob=best.log_prob,
            variants=best.variants,
            derivation=best.derivation,
            source=value["source"],
            mode=value["mode"],
            alternatives=tuple(Alternative.from_json(one) for one in value["alternatives"]),
            segment_posterior=tuple(value["segment_posterior"]),
            fallback=value["fallback"],
            notices=tuple(value["notices"]),
            rank_score=best.rank_score,
            ranked_by=value.get("ranked_by", "probability"),  # not before 0.3
        )


def _word_spans(text: str) -> list[Span]:
    """Characters of each word of ``text.split()``."""
    spans, position = [], 0
    for word in text.split():
        start = text.index(word, position)
        position = start + len(word)
        spans.append((start, position))
    return spans


def _words_in(words: list[Span], span: Span) -> list[int]:
    """Ranks of the words that share a character with a span."""
    return [rank for rank, (start, stop) in enumerate(words) if start < span[1] and span[0] < stop]


def _span(values: Any) -> Span:
    start, stop = values
    return int(start), int(stop)


def _to_number(value: float) -> float | None:
    """JSON has no minus infinity: null stands for it."""
    return value if math.isfinite(value) else None


def _rank_score(value: Mapping[str, Any]) -> float | None:
    """The score of an alternative, unless it is its log-probability; there was none before 0.3."""
    if value.get("rank_score", value["log_prob"]) == value["log_prob"]:
        return None
    return _from_number(value["rank_score"])


def _from_number(value: float | None) -> float:
    return -math.inf if value is None else value
