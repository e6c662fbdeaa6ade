"""Exact match, BLEU and chrF of translations, and accuracy of trees; all in percent.

BLEU and chrF are sacreBLEU's, and come with its signature.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from btg_seq2seq.errors import UserError
from btg_seq2seq.grammar import Tree


@dataclass(frozen=True)
class TextMetrics:
    """Metrics of a set of translations."""

    sentences: int
    exact_match: float
    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def text_metrics(
    translations: Sequence[str], references: Sequence[str], tokenize: str = "13a"
) -> TextMetrics:
    """Compare translations with one reference each; ``tokenize`` is sacreBLEU's, for BLEU."""
    check_same_number(translations, references, "references")
    bleu, chrf = bleu_with(tokenize), CHRF()
    return TextMetrics(
        sentences=len(references),
        exact_match=exact_match(translations, references),
        bleu=bleu.corpus_score(translations, [references]).score,
        chrf=chrf.corpus_score(translations, [references]).score,
        bleu_signature=str(bleu.get_signature()),
        chrf_signature=str(chrf.get_signature()),
    )


def bleu_with(tokenize: str) -> BLEU:
    """SacreBLEU's BLEU with one of its tokenizers."""
    if tokenize not in BLEU.TOKENIZERS:
        names = ", ".join(sorted(BLEU.TOKENIZERS))
        raise UserError(f"sacreBLEU has no tokenizer {tokenize!r}, but {names}")
    try:
        return BLEU(tokenize=tokenize)
    except RuntimeError as error:  # it needs another package
        raise UserError(f"tokenizer {tokenize!r}: {' '.join(str(error).split())}") from error


def exact_match(translations: Sequence[str], references: Sequence[str]) -> float:
    """Share of translations that have the words of the reference; white space does not count."""
    check_same_number(translations, references, "references")
    pairs = zip(translations, references, strict=True)
    return _percent([_words(one) == _words(other) for one, other in pairs])


def tree_accuracy(trees: Sequence[Tree | None], gold: Sequence[Tree]) -> float:
    """Share of trees that are the gold tree; a missing tree is wrong."""
    check_same_number(trees, gold, "gold trees")
    return _percent([tree == right for tree, right in zip(trees, gold, strict=True)])


def check_same_number(given: Sequence[object], other: Sequence[object], name: str) -> None:
    """Refuse lists that cannot be compared item by item."""
    if len(given) != len(other):
        raise UserError(f"{len(given)} sentences, but {len(other)} {name}")
    if not other:
        raise UserError(f"there are no {name} to compare with")


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFC", text).split()


def _percent(values: Sequence[bool]) -> float:
    return 100 * sum(values) / len(values)
