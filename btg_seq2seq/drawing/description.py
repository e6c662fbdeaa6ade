"""Derivations in words: the description for screen readers, and the notes shown on hover."""

from __future__ import annotations

import math
from collections.abc import Iterator

from btg_seq2seq.drawing.diagram import KEPT, Diagram, Pair, Part
from btg_seq2seq.drawing.plain_text import isolated, one_line, shortened

LONGEST_TITLE = 120  # characters of each side
LONGEST_PHRASE = 300
MINUS = "\N{MINUS SIGN}"


def title_of(diagram: Diagram) -> str:
    """Name the picture: the sentence and its translation."""
    source, target = (shortened(text, LONGEST_TITLE) for text in (diagram.source, diagram.target))
    return f"“{isolated(source)}” translated as “{isolated(target)}”"


def description_of(diagram: Diagram) -> str:
    """Read the derivation aloud, part by part."""
    return " ".join(_sentences(diagram))


def note_on(pair: Pair) -> str:
    """Describe a phrase pair in a few lines: its texts, its log-probability and its origin."""
    lines = [f"{_quoted(pair.source)} → {_quoted(pair.target)}"]
    if pair.rule is None:
        lines.append(f"log-probability {log_prob_text(pair.log_prob)}")
    else:
        lines.append(f"given by the rule {isolated(one_line(shortened(str(pair.rule), 300)))}")
    return "\n".join(lines)


def note_on_part(part: Part) -> str:
    """Describe a node of the tree in one line."""
    order = "inverts their order" if part.inverted else "keeps their order"
    return f"{len(part.parts)} parts; the translation {order}"


def log_prob_text(value: float) -> str:
    """Write a log-probability for people, with its probability where that says more."""
    if not math.isfinite(value):
        return f"{MINUS}∞" if value < 0 else "unknown"
    number = f"{value:.3f}".replace("-", MINUS)
    return f"{number} (probability {math.exp(value):.3f})" if -6.9 < value <= 0 else number


def _sentences(diagram: Diagram) -> Iterator[str]:
    count = len(diagram.pairs)
    phrases = "1 phrase" if count == 1 else f"{count} phrases"
    yield f"The derivation of a translation from {phrases}."
    yield from _read(diagram, diagram.root, "The sentence")


def _read(diagram: Diagram, part: Part, name: str) -> Iterator[str]:
    """Sentences about a part, then about the parts in it, numbered like sections of a text."""
    if not part.parts:
        pair = diagram.pairs[part.start]
        yield f"{name}: {_quoted(pair.source)} becomes {_quoted(pair.target)}{_origin(pair)}."
        return
    order = "in reverse order" if part.inverted else "in the same order"
    yield f"{name} has {len(part.parts)} parts, translated {order}."
    number = "" if name == "The sentence" else name.removeprefix("Part ") + "."
    for rank, inner in enumerate(part.parts, 1):
        yield from _read(diagram, inner, f"Part {number}{rank}")


def _origin(pair: Pair) -> str:
    if pair.mark is None:
        return ""
    return ", kept by a rule" if pair.mark == KEPT else ", given by a rule"


def _quoted(text: str) -> str:
    return f"“{isolated(shortened(text, LONGEST_PHRASE))}”" if text else "nothing"
