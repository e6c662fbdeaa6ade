"""Paired bootstrap: the probability that a difference between systems is due to chance.

The test is sacreBLEU's (Koehn, 2004). Its seed is fixed, so the same translations have the same
p-values.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.base import Score as SacrebleuScore
from sacrebleu.metrics.base import Signature
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.metrics import make_bleu

RESAMPLES = 1000
RIGHT, WRONG = "right", "wrong"
SEED = "SACREBLEU_SEED"


class Agreement(SacrebleuMetric):
    """Percentage of lines that equal the reference, as a metric of sacreBLEU."""

    _SIGNATURE_TYPE = Signature

    def _compute_score_from_stats(self, stats: Sequence[Any]) -> SacrebleuScore:
        return SacrebleuScore("agreement", 100 * float(stats[0]) / max(1.0, float(stats[1])))

    def _aggregate_and_compute(self, stats: list[list[Any]]) -> SacrebleuScore:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])

    def _preprocess_segment(self, sent: str) -> str:
        return " ".join(sent.split())

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"reference": refs[0]}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[int]:
        return [hypothesis == ref_kwargs["reference"], 1]


def paired_bootstrap(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    tokenize: str,
    resamples: int = RESAMPLES,
) -> dict[str, float]:
    """Compute p-values of the differences in ``bleu``, ``chrf`` and ``exact_match``.

    ``tokenize`` is sacreBLEU's tokenizer for BLEU.
    """
    metrics = {"bleu": make_bleu(tokenize), "chrf": CHRF(), "exact_match": _agreement()}
    return _p_values(baseline, system, references, metrics, resamples)


def paired_verdicts(
    baseline: Sequence[bool], system: Sequence[bool], resamples: int = RESAMPLES
) -> float:
    """Compute the p-value of the difference in the share of lines that are right."""
    lines = [[RIGHT if one else WRONG for one in verdicts] for verdicts in (baseline, system)]
    metrics = {"right": _agreement()}
    return _p_values(lines[0], lines[1], [RIGHT] * len(baseline), metrics, resamples)["right"]


def _agreement() -> Any:
    return Agreement()  # type: ignore[no-untyped-call]


def _p_values(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    metrics: dict[str, Any],
    resamples: int,
) -> dict[str, float]:
    if not len(baseline) == len(system) == len(references) or not references:
        raise UserError(
            f"{len(baseline)} and {len(system)} translations cannot be compared by "
            f"{len(references)} references"
        )
    named = [("Baseline", baseline), ("system", system)]
    given = os.environ.pop(SEED, None)  # of another program
    try:
        test = PairedTest(named, metrics, [references], test_type="bs", n_samples=resamples)
        scores = test()[1]
    finally:
        if given is not None:
            os.environ[SEED] = given
    scores.pop("System")
    found: list[Any] = list(scores.values())
    return {
        name: 1.0 if base.score == own.score else float(own.p_value)  # sacreBLEU's would be small
        for name, (base, own) in zip(metrics, found, strict=True)
    }
