"""N-best lists of a dev set with features, for the search of weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from btg_seq2seq.decoding.phrase_translator import Floats
from btg_seq2seq.evaluation.sentence_statistics import SentenceStatistics
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, RankingWeights


class NBestLists:
    """Candidate translations of each sentence: features, and statistics of a metric.

    Lists can grow: candidates of later rounds join those of earlier ones. A candidate that is the
    same text with the same features is kept once.
    """

    def __init__(self, statistics: SentenceStatistics) -> None:
        self.statistics = statistics
        self._rows: list[dict[tuple[object, ...], list[float]]] = [
            {} for _ in statistics.references
        ]

    def add(self, sentence: int, text: str, features: Sequence[float]) -> None:
        """Add a candidate."""
        key = (text, *(round(value, 6) for value in features))
        self._rows[sentence].setdefault(key, list(features))

    def add_all(self, rows: Iterable[tuple[int, str, Sequence[float]]]) -> None:
        """Add candidates: sentence, text and features."""
        for row in rows:
            self.add(*row)

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Pad the lists: features, statistics, and 0 for a candidate or minus infinity for none.

        ``[sentences, candidates, features]``, ``[sentences, candidates, statistics]``,
        ``[sentences, candidates]``. A sentence without candidates has the empty translation.
        """
        size = max(1, *(len(own) for own in self._rows))
        width = len(self.statistics.of(0, ""))
        features = np.zeros((len(self._rows), size, len(FEATURES)))
        statistics = np.zeros((len(self._rows), size, width))
        padding = np.full((len(self._rows), size), -np.inf)
        for sentence, own in enumerate(self._rows):
            texts = [str(key[0]) for key in own] or [""]
            statistics[sentence, : len(texts)] = [
                self.statistics.of(sentence, text) for text in texts
            ]
            padding[sentence, : len(texts)] = 0.0
            if own:
                features[sentence, : len(own)] = list(own.values())
        return features, statistics, padding


class Objective:
    """The metric of the best candidates under given weights."""

    def __init__(self, lists: NBestLists) -> None:
        self._features, self._statistics, self._padding = lists.arrays()
        self._score = lists.statistics.score
        self._sentences = np.arange(len(self._features))

    def __call__(self, weights: RankingWeights) -> float:
        """Choose the best candidate of each sentence, and compute the metric."""
        return self.of_values(np.array(weights.values))

    def of_values(self, weights: Floats) -> float:
        """Compute it for weights in the order of ``FEATURES``."""
        chosen = (self._features @ weights + self._padding).argmax(1)
        return self._score(self._statistics[self._sentences, chosen].sum(0))
