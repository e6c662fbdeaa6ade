"""The terms of the metrics file, in the order and in the groups in which a report shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from btg_seq2seq.reporting.run_files import RunFiles

CKY = "cky_"
PARSERS = ("posterior", "prior")


@dataclass(frozen=True)
class Term:
    """A term, its title, and one line that explains it."""

    name: str
    title: str
    note: str


def _terms(*rows: tuple[str, str, str]) -> tuple[Term, ...]:
    return tuple(Term(*row) for row in rows)


LOSSES = _terms(
    ("loss", "Loss", "what is minimised, per target token"),
    ("flat", "Whole sentences", "log-loss per target token"),
    ("cut_loss", "Sentences cut into phrases", "nats per sentence"),
)
PARTS = _terms(
    ("phrases", "Target phrases", "log-loss given source phrases, nats per sentence"),
    ("reverse", "Source phrases", "log-loss given target phrases, nats per sentence"),
    ("parsing", "Parsers", "log-loss of the drawn derivations, nats per sentence"),
    ("prior", "Prior", "log-loss of the trees for the source parser"),
    ("posterior", "Posterior", "log-loss of the trees for the parser of both sides"),
    ("leaves", "Leaf parser", "log-loss of the target phrases along a tree"),
    ("divergence", "Divergence", "of the posterior's trees from the prior's, in nats"),
)
TREES = _terms(
    ("parsed", "Sentences with trees", "share of the sentences"),
    ("tree_entropy", "Entropy of trees", "of the posterior, in nats"),
    ("leaf_entropy", "Entropy of segmentations", "of the target along a tree, in nats"),
    ("effective_samples", "Effective samples", "drawn trees that count"),
    ("log_posterior", "Probability of the drawn trees", "logarithm, under the posterior"),
    ("reward_deviation", "Spread of rewards", "among the drawn derivations"),
)
PROGRESS = _terms(
    ("learning_rate", "Learning rate", ""),
    ("grad_norm", "Norm of the gradient", "before clipping"),
    ("recombined", "Recombined sentences", "so far"),
    ("coincidences", "Coincidences", "recombined sentences that were held out, and dropped"),
)
LENGTHS = (
    ("phrases_from_1", "1 word"),
    ("phrases_from_2", "2 or 3 words"),
    ("phrases_from_4", "4 to 7 words"),
    ("phrases_from_8", "8 or more"),
)
SCORES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "exact_match": "Exact match",
    "trees": "Right trees",
}
KNOWN = {term.name for group in (LOSSES, PARTS, TREES, PROGRESS) for term in group}
KNOWN |= {name for name, _ in LENGTHS}


def score_names(runs: Iterable[RunFiles]) -> list[str]:
    """Names of the metrics of dev translations and trees, without mode and parser."""
    names: dict[str, None] = {}
    for run in runs:
        for name in run.dev.keys() - run.train.keys() - KNOWN:
            names[base_name(name)] = None
    known = [name for name in SCORES if name in names]
    return known + sorted(names.keys() - SCORES.keys())


def base_name(name: str) -> str:
    """Return ``bleu`` for ``cky_bleu``, and ``trees`` for ``posterior_trees``."""
    for prefix in (CKY, *(f"{parser}_" for parser in PARSERS)):
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def other_terms(runs: Iterable[RunFiles]) -> list[Term]:
    """Terms of the training set that no group has, such as those of other estimators."""
    names = {name for run in runs for name in run.train} - KNOWN
    return [Term(name, name, "") for name in sorted(names)]
