"""Corpus metrics from statistics of sentences, so that choices among translations cost little.

The statistics of a translation are computed once. The metric of any choice of translations, one for
each sentence, then follows from their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.bleu_tokenizers import tokenizer_for
from btg_seq2seq.evaluation.metrics import MetricOptions, make_bleu, same_words

Floats = NDArray[np.float64]
DECOMPOSED = ("bleu", "chrf", "exact_match")


class SentenceStatistics:
    """Statistics of translations of a dev set under one metric.

    Args:
        metric: one of ``DECOMPOSED``.
        references: one for each sentence.
        options: options of the metric.
    """

    def __init__(
        self,
        metric: str,
        references: Sequence[str],
        options: MetricOptions = MetricOptions(),  # noqa: B008  it is frozen
    ) -> None:
        if metric not in DECOMPOSED:
            raise UserError(f"the metric must be one of {', '.join(DECOMPOSED)}, not {metric!r}")
        if not references:
            raise UserError("there are no references to compare with")
        self.metric, self.references = metric, references
        self._known: dict[tuple[int, str], list[float]] = {}
        self._own: Any = None
        if metric == "bleu":
            self._own = make_bleu(options.tokenize or tokenizer_for(references))
        elif metric == "chrf":
            from sacrebleu.metrics.chrf import CHRF

            self._own = CHRF()
        if self._own is not None:
            self._prepared = self._own._cache_references([references])

    def of(self, sentence: int, text: str) -> list[float]:
        """Return the statistics of a translation."""
        key = sentence, text
        if key not in self._known:
            if self._own is None:
                found = [float(same_words(text, self.references[sentence])), 1.0]
            else:
                read = self._own._preprocess_segment(text)
                found = self._own._compute_segment_statistics(read, self._prepared[sentence])
            self._known[key] = found
        return self._known[key]

    def score(self, total: Floats) -> float:
        """Compute the metric, in percent, from the summed statistics of all sentences."""
        if self._own is None:
            return float(100 * total[0] / total[1])
        return float(self._own._compute_score_from_stats(total.tolist()).score)

    def of_texts(self, texts: Sequence[str]) -> float:
        """Compute the metric of one translation for each sentence."""
        rows = [self.of(sentence, text) for sentence, text in enumerate(texts)]
        return self.score(np.sum(rows, 0))
