"""Minimum-Bayes-risk choice: the text with the highest expected chrF among those found.

Each text is compared with all others as if they were references, weighted by their scores. So a
text that much resembles other good ones wins over one that is alone. sacreBLEU computes chrF.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from btg_seq2seq.translation.translation import Alternative

# A text and the posterior over its number of phrases.
RankedText = tuple[Alternative, tuple[float, ...]]
MOST = 20  # best texts that are compared; time grows with the square


def by_expected_chrf(texts: Sequence[RankedText]) -> list[RankedText]:
    """Rank texts, best first, by expected chrF; those behind the first ``MOST`` are left out."""
    compared = [pair for pair in texts[:MOST] if pair[0].score > -math.inf]
    if not compared:
        return list(texts)
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    highest = max(one.score for one, _ in compared)
    weights = [math.exp(one.score - highest) for one, _ in compared]
    total = sum(weights)

    def alike(one: str, other: str) -> float:
        return 100.0 if one == other else metric.sentence_score(one, [other]).score

    expected = [
        sum(
            weight * alike(one.text, other.text)
            for (other, _), weight in zip(compared, weights, strict=True)
        )
        / total
        for one, _ in compared
    ]
    ranked = [
        (replace(one, rank_score=value), posterior)
        for (one, posterior), value in zip(compared, expected, strict=True)
    ]
    return sorted(ranked, key=lambda pair: -pair[0].score)  # stable: ties keep their order
