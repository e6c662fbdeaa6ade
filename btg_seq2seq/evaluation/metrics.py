"""Metrics of translations and of trees: a registry with one entry per metric, all in percent.

BLEU and chrF are sacreBLEU's and carry its signature. ``register_metric`` and
``register_tree_metric`` add metrics from outside: they then appear in ``btg evaluate``, in the
evaluations of training, and as ``optimisation.metric``. sacreBLEU is imported when it computes.
"""

from __future__ import annotations

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from btg_seq2seq.errors import UserError
from btg_seq2seq.evaluation.bleu_tokenizers import tokenizer_for
from btg_seq2seq.grammar import Tree
from btg_seq2seq.training.settings.measures import Measure, register_measure

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

PARSERS = ("posterior", "prior")  # with and without the target in sight
CKY = "cky_"  # begins the names of measures of cky translations


@dataclass(frozen=True)
class MetricOptions:
    """Options of metrics.

    ``tokenize``: sacreBLEU's tokenizer for BLEU; ``None`` chooses it by the references' script.
    """

    tokenize: str | None = None


@dataclass(frozen=True)
class Score:
    """A number, with the signature that lets another person reproduce it."""

    value: float
    signature: str = ""


class Metric(ABC):
    """A metric of translations, compared with one reference each.

    ``name`` is used in JSON and as ``optimisation.metric``, ``title`` in tables.
    """

    name: str
    title: str
    greater_is_better = True

    def check(self, options: MetricOptions) -> None:  # noqa: B027  most accept all options
        """Refuse options that cannot be used; called before anything is translated."""

    @abstractmethod
    def compute(
        self, translations: Sequence[str], references: Sequence[str], options: MetricOptions
    ) -> Score:
        """Score translations; there are as many references, at least one."""


class ExactMatch(Metric):
    """Share of translations with the same words as the reference; white space does not count."""

    name, title = "exact_match", "exact match"

    def compute(
        self, translations: Sequence[str], references: Sequence[str], options: MetricOptions
    ) -> Score:
        pairs = zip(translations, references, strict=True)
        return Score(_percent(same_words(*pair) for pair in pairs))


class Bleu(Metric):
    """sacreBLEU's corpus BLEU."""

    name, title = "bleu", "BLEU"

    def check(self, options: MetricOptions) -> None:
        if options.tokenize is not None:
            make_bleu(options.tokenize)

    def compute(
        self, translations: Sequence[str], references: Sequence[str], options: MetricOptions
    ) -> Score:
        return _sacrebleu_score(
            make_bleu(options.tokenize or tokenizer_for(references)), translations, references
        )


class ChrF(Metric):
    """sacreBLEU's chrF."""

    name, title = "chrf", "chrF"

    def compute(
        self, translations: Sequence[str], references: Sequence[str], options: MetricOptions
    ) -> Score:
        from sacrebleu.metrics.chrf import CHRF

        return _sacrebleu_score(CHRF(), translations, references)


class TreeMetric(ABC):
    """A metric of trees, compared with one gold tree each; a missing tree is ``None``."""

    name: str
    title: str
    greater_is_better = True

    @abstractmethod
    def compute(self, trees: Sequence[Tree | None], gold: Sequence[Tree]) -> Score:
        """Score trees; there are as many gold trees, at least one."""


class RightTrees(TreeMetric):
    """Share of trees that equal the gold tree."""

    name, title = "trees", "right trees"

    def compute(self, trees: Sequence[Tree | None], gold: Sequence[Tree]) -> Score:
        return Score(_percent(tree == right for tree, right in zip(trees, gold, strict=True)))


METRICS: dict[str, Metric] = {}
TREE_METRICS: dict[str, TreeMetric] = {}


def register_metric(metric: Metric) -> None:
    """Add a metric of translations; ``NAME`` and ``cky_NAME`` become ``optimisation.metric``."""
    if metric.name in {*METRICS, *TREE_METRICS}:
        raise UserError(f"there is another metric of the name {metric.name!r}")
    register_measure(Measure(metric.name, metric.greater_is_better, "translations"))
    register_measure(Measure(CKY + metric.name, metric.greater_is_better, "cky translations"))
    METRICS[metric.name] = metric


def register_tree_metric(metric: TreeMetric) -> None:
    """Add a metric of trees; both parsers are measured: ``posterior_NAME`` and ``prior_NAME``."""
    if metric.name in {*METRICS, *TREE_METRICS}:
        raise UserError(f"there is another metric of the name {metric.name!r}")
    for parser in PARSERS:
        register_measure(Measure(f"{parser}_{metric.name}", metric.greater_is_better, "trees"))
    TREE_METRICS[metric.name] = metric


for _metric in (ExactMatch(), Bleu(), ChrF()):
    register_metric(_metric)
register_tree_metric(RightTrees())


def check_options(options: MetricOptions) -> None:
    """Refuse options that one of the metrics cannot use."""
    for metric in METRICS.values():
        metric.check(options)


def text_scores(
    translations: Sequence[str],
    references: Sequence[str],
    options: MetricOptions = MetricOptions(),  # noqa: B008  it is frozen
) -> dict[str, Score]:
    """Compute every metric of translations, by name."""
    _check_same_number(translations, references, "references")
    return {
        name: metric.compute(translations, references, options) for name, metric in METRICS.items()
    }


def tree_scores(
    trees: Mapping[str, Sequence[Tree | None]], gold: Sequence[Tree]
) -> dict[str, dict[str, float]]:
    """Compute every metric of trees, by name, for the trees of each parser."""
    for found in trees.values():
        _check_same_number(found, gold, "gold trees")
    return {
        name: {parser: metric.compute(found, gold).value for parser, found in trees.items()}
        for name, metric in TREE_METRICS.items()
    }


def exact_match(translations: Sequence[str], references: Sequence[str]) -> float:
    """Percentage of translations with the words of the reference."""
    _check_same_number(translations, references, "references")
    return METRICS["exact_match"].compute(translations, references, MetricOptions()).value


def make_bleu(tokenize: str) -> BLEU:
    """Make sacreBLEU's metric; an unknown tokenizer is an error."""
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        names = ", ".join(sorted(BLEU.TOKENIZERS))
        raise UserError(f"sacreBLEU has no tokenizer {tokenize!r}; choose from {names}")
    try:
        return BLEU(tokenize=tokenize)
    except RuntimeError as error:  # it needs another package
        raise UserError(f"tokenizer {tokenize!r}: {' '.join(str(error).split())}") from error


def _sacrebleu_score(metric: Any, translations: Sequence[str], references: Sequence[str]) -> Score:
    score = metric.corpus_score(translations, [references]).score
    return Score(score, str(metric.get_signature()))  # it is known once something was scored


def _check_same_number(given: Sequence[object], other: Sequence[object], name: str) -> None:
    if len(given) != len(other):
        raise UserError(f"{len(given)} sentences, but {len(other)} {name}")
    if not other:
        raise UserError(f"there are no {name} to compare with")


def same_words(one: str, other: str) -> bool:
    """Tell whether two texts have the same words; white space does not count."""
    return _words(one) == _words(other)


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFC", text).split()


def _percent(values: Iterable[bool]) -> float:
    counted = list(values)
    return 100 * sum(counted) / len(counted)
