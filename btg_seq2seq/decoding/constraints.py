"""Rules at the level of units and tokens: source spans with given translations.

``translation`` finds them in texts; the chart obeys them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from btg_seq2seq.grammar import Span


@dataclass(frozen=True)
class RuleSpan:
    """A source span with given translations.

    Args:
        start, stop: source units ``[start, stop)``.
        targets: translations, each a tuple of one or more tokens.
        rule: number of the rule, which results refer to.
        mode: ``"force"``: the span is a phrase and becomes one of the targets, chosen by the
            probabilities of the phrase translator. ``"prefer"``: each target has probability 1 and
            competes with other translations.
        spelled: for each target, the tokens by which it is scored, if they differ from the target.
            Several targets may share them.
    """

    start: int
    stop: int
    targets: tuple[tuple[int, ...], ...]
    rule: int
    mode: Literal["force", "prefer"] = "force"
    spelled: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise ValueError(f"rule {self.rule}: {self.start}:{self.stop} is not a span of words")
        if not self.targets or not all(self.targets):
            raise ValueError(f"rule {self.rule}: it needs targets, each of one or more tokens")
        if self.mode not in ("force", "prefer"):
            raise ValueError(f"rule {self.rule}: the mode is force or prefer, not {self.mode!r}")
        if self.spelled and len(self.spelled) != len(self.targets):
            raise ValueError(f"rule {self.rule}: tokens must be given for all targets, or for none")

    @property
    def choices(self) -> dict[tuple[int, ...], tuple[int, ...]]:
        """The targets, each once, and the tokens by which they are scored."""
        return dict(zip(self.targets, self.spelled or self.targets, strict=True))


def check_spans(sentence: int, length: int, spans: Sequence[RuleSpan]) -> None:
    """Refuse spans beyond the end of the sentence, and forced spans that overlap."""
    for span in spans:
        if span.stop > length:
            raise ValueError(
                f"sentence {sentence}: rule {span.rule} covers words {span.start}:{span.stop}, "
                f"but the sentence has {length}"
            )
    for first, second in pairwise(forced(spans)):
        if second.start < first.stop:
            raise ValueError(
                f"sentence {sentence}: rule {first.rule} forces words {first.start}:{first.stop} "
                f"and rule {second.rule} forces {second.start}:{second.stop}; leave one of them out"
            )


def by_span(rules: Sequence[RuleSpan]) -> dict[Span, list[RuleSpan]]:
    """Group the rules of a sentence by span."""
    result: dict[Span, list[RuleSpan]] = {}
    for rule in rules:
        result.setdefault((rule.start, rule.stop), []).append(rule)
    return result


def forced(spans: Sequence[RuleSpan]) -> list[RuleSpan]:
    """Return the forced rules in source order."""
    chosen = [span for span in spans if span.mode == "force"]
    return sorted(chosen, key=lambda span: (span.start, span.stop))


def fewest_phrases(length: int, limit: int, spans: Sequence[RuleSpan]) -> int:
    """Return the fewest phrases of at most ``limit`` units that include the forced spans."""
    count, position = 0, 0
    for span in forced(spans):
        count += 1 - (-(span.start - position) // limit)
        position = span.stop
    return count - (-(length - position) // limit)
