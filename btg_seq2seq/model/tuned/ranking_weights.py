"""Weights of the log-linear score by which translations are ranked.

Nothing here needs torch: commands check their options before they load it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from btg_seq2seq.checks import finite
from btg_seq2seq.errors import UserError


@dataclass(frozen=True)
class RankingWeights:
    """Weights of the features of a phrase pair, or of a sentence and its translation.

    The score is the sum of all features, each times its weight. With the defaults it is the
    log-probability.
    """

    forward: float = 1.0
    """Weight of log p(target | source) of the seq2seq model."""

    grammar: float = 1.0
    """Weight of the grammar. In the chart, it is for the log-probability of the tree and of the
    number of phrases. Where whole translations are rescored, it is for the log of their probability
    summed over derivations."""

    reverse: float = 0.0
    """Weight of log p(source | target) of the seq2seq model."""

    lexical: float = 0.0
    """Weight of log p(target | source) of the word-translation tables."""

    reverse_lexical: float = 0.0
    """Weight of log p(source | target) of the word-translation tables."""

    word: float = 0.0
    """Bonus per word of the target; a negative one is a penalty."""

    phrase: float = 0.0
    """Bonus per phrase; a negative one is a penalty."""

    def __post_init__(self) -> None:
        for name in FEATURES:
            finite(f"the weight {name}", getattr(self, name), -math.inf)

    @classmethod
    def of(cls, values: object, name: str) -> RankingWeights:
        """Take weights, or make them of a mapping such as ``{"word": 0.5}``."""
        if isinstance(values, cls):
            return values
        if not isinstance(values, Mapping):
            raise UserError(f"{name} must be weights by name, not {values!r}")
        unknown = sorted({*values} - {*FEATURES}, key=str)
        if unknown:
            raise UserError(f"{name}: there is no feature {unknown[0]!r}: {', '.join(FEATURES)}")
        try:
            return cls(**values)
        except UserError as error:
            raise UserError(f"{name}: {error}") from error

    @property
    def are_default(self) -> bool:
        """Tell whether the score is the log-probability."""
        return self == RankingWeights()

    @property
    def used(self) -> frozenset[str]:
        """Names of the features whose weight is not 0."""
        return frozenset(name for name in FEATURES if getattr(self, name) != 0)

    @property
    def values(self) -> list[float]:
        """The weights in the order of ``FEATURES``."""
        return [float(getattr(self, name)) for name in FEATURES]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return dict(zip(FEATURES, self.values, strict=True))


FEATURES = tuple(field.name for field in fields(RankingWeights))
LEXICAL = frozenset({"lexical", "reverse_lexical"})  # features that need tables
