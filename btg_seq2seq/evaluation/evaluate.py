"""A model on a test set: its translations against references, its trees against gold trees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from btg_seq2seq.derivations.best import parse_pairs
from btg_seq2seq.evaluation.metrics import (
    MetricOptions,
    Score,
    check_options,
    text_scores,
    tree_scores,
)
from btg_seq2seq.grammar import Tree
from btg_seq2seq.text import Bitext
from btg_seq2seq.text.gold_trees import gold_trees
from btg_seq2seq.translation.translation import Translation
from btg_seq2seq.translation.translator import Translator

NUMBER = re.compile(r"^\d+ words, ")


@dataclass(frozen=True)
class Evaluation:
    """Result of a test.

    Args:
        mode: how the sentences were translated, ``"flat"``, ``"cky"`` or ``"rescored"``.
        scores: metrics of the translations, by name.
        translations: the translations, in the order of the test set.
        tree_scores: metrics of trees, by name, such as ``{"trees": {"posterior": 98.0}}``. The
            posterior parser has seen the reference, the prior parser has not; both are given the
            gold tree's number of phrases. With cky, ``derivation`` scores the trees that the
            sentences were translated with.
    """

    mode: str
    scores: dict[str, Score]
    translations: list[Translation]
    tree_scores: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def fallbacks(self) -> int:
        """Number of sentences not decoded as asked."""
        return sum(one.fallback is not None for one in self.translations)

    @property
    def fallback_reasons(self) -> dict[str, int]:
        """Number of these sentences for each reason, the most frequent first."""
        reasons = [one.fallback for one in self.translations if one.fallback is not None]
        # Lengths differ from sentence to sentence: "120 words, more than ...".
        return dict(Counter(NUMBER.sub("", reason) for reason in reasons).most_common())


def evaluate(
    translator: Translator,
    bitext: Bitext,
    mode: Literal["flat", "cky", "rescored"] = "flat",
    options: MetricOptions = MetricOptions(),  # noqa: B008  it is frozen
    **settings: Any,
) -> Evaluation:
    """Translate the source of a bitext and compare it with the target.

    ``settings`` are fields of ``DecodingSettings``. Trees of the bitext are over the words of the
    source.
    """
    check_options(options)  # before the work
    gold = None if bitext.trees is None else _gold(translator, bitext)
    translations = translator.translate(bitext.source, mode, **settings)
    scores = text_scores([one.text for one in translations], bitext.target, options)
    if gold is None:
        return Evaluation(mode, scores, translations)
    rows, right = gold
    trees = _parsed(translator, bitext, rows, right)
    if mode != "flat":
        found = [one.derivation.tree if one.derivation else None for one in translations]
        trees["derivation"] = [found[row] for row in rows]
    return Evaluation(mode, scores, translations, tree_scores(trees, right))


def parser_scores(translator: Translator, bitext: Bitext) -> dict[str, dict[str, float]]:
    """Score the trees of both parsers, given the gold number of phrases, by metric and parser."""
    rows, gold = _gold(translator, bitext)
    return tree_scores(_parsed(translator, bitext, rows, gold), gold)


def _gold(translator: Translator, bitext: Bitext) -> tuple[list[int], list[Tree]]:
    """Gold trees over the units of the model."""
    return gold_trees(translator.tokenizer, bitext, translator.model.unit_table)


def _parsed(
    translator: Translator, bitext: Bitext, rows: Sequence[int], gold: Sequence[Tree]
) -> dict[str, list[Tree | None]]:
    """Best trees of both parsers for these rows of the bitext."""
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
        "posterior": [one.derivation.tree if one else None for one in parsed],
        "prior": [one.prior_tree if one else None for one in parsed],
    }
