"""A model on a test set: its translations against references, its trees against gold ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from btg_seq2seq.derivations.best import parse_pairs
from btg_seq2seq.evaluation.metrics import TextMetrics, bleu_with, text_metrics, tree_accuracy
from btg_seq2seq.grammar import Tree
from btg_seq2seq.text import Bitext
from btg_seq2seq.text.gold_trees import gold_trees
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.translation.translator import Translator

NUMBER = re.compile(r"^\d+ tokens, ")


@dataclass(frozen=True)
class Evaluation:
    """What is known of a model after a test.

    ``trees`` is the share of right trees, in percent: of the posterior parser, which has seen the
    reference, and of the prior one, both with the gold tree's number of phrases; with cky, also of
    the derivations that were translated along.
    """

    mode: str
    metrics: TextMetrics
    translations: list[Translation]
    trees: dict[str, float] = field(default_factory=dict)

    @property
    def fallbacks(self) -> int:
        """Sentences that were not decoded as asked."""
        return sum(one.fallback is not None for one in self.translations)

    @property
    def fallback_reasons(self) -> dict[str, int]:
        """How many of these there are for each reason, the most frequent one first."""
        reasons = [one.fallback for one in self.translations if one.fallback is not None]
        # Lengths differ from sentence to sentence: "120 tokens, more than ...".
        return dict(Counter(NUMBER.sub("", reason) for reason in reasons).most_common())


def evaluate(
    translator: Translator,
    bitext: Bitext,
    mode: Literal["flat", "cky"] = "flat",
    tokenize: str = "13a",
    **settings: Any,
) -> Evaluation:
    """Translate the source of a bitext and compare it with the target.

    ``tokenize`` is sacreBLEU's, ``settings`` are fields of ``DecodingSettings``. Trees of the
    bitext are over the words of the source.
    """
    bleu_with(tokenize)  # what is wrong with it is said before the work
    gold = None if bitext.trees is None else gold_trees(translator.tokenizer, bitext)
    translations = translator.translate(bitext.source, mode, **settings)
    texts = [translation.text for translation in translations]
    metrics = text_metrics(texts, bitext.target, tokenize)
    if gold is None:
        return Evaluation(mode, metrics, translations)
    trees = _parser_accuracy(translator, bitext, *gold)
    if mode == "cky":
        found = [one.derivation.tree if one.derivation else None for one in translations]
        trees["derivation"] = tree_accuracy([found[row] for row in gold[0]], gold[1])
    return Evaluation(mode, metrics, translations, trees)


def parser_accuracy(translator: Translator, bitext: Bitext) -> dict[str, float]:
    """Share of right trees of both parsers, in percent, with the gold number of phrases."""
    return _parser_accuracy(translator, bitext, *gold_trees(translator.tokenizer, bitext))


def _parser_accuracy(
    translator: Translator, bitext: Bitext, rows: Sequence[int], gold: Sequence[Tree]
) -> dict[str, float]:
    read = translator.reader.read
    sources = read([bitext.source[row] for row in rows])
    targets = read([bitext.target[row] for row in rows], side="target")
    parsed = parse_pairs(
        translator.model,
        [source.tokens for source in sources],
        [target.tokens for target in targets],
        [tree.segments for tree in gold],
    )
    return {
        "posterior": tree_accuracy([one.derivation.tree if one else None for one in parsed], gold),
        "prior": tree_accuracy([one.prior_tree if one else None for one in parsed], gold),
    }
