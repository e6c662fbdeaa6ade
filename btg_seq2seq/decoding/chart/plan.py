"""The plan of a chart: which spans of a sentence may be phrases, and which are worth translating.

Rules restrict the trees just as the phrase length limit does. The source parser's distribution is
then the one over the trees that are left, and p(n | x) the one over the numbers of phrases that are
left. Spans that are phrases with little probability are dropped, except that every number of
phrases keeps its best tree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from btg_seq2seq.decoding.chart.forests import (
    Forests,
    Mask,
    leaves_beside,
    possible_counts,
    tree_batches,
)
from btg_seq2seq.decoding.constraints import RuleSpan, fewest_phrases, forced
from btg_seq2seq.decoding.phrase_translator import Floats
from btg_seq2seq.grammar import phrase_length_limits, spans, truncated_geometric
from btg_seq2seq.grammar.packing import span_count, span_index
from btg_seq2seq.model.decoding_settings import CompleteSettings


@dataclass(frozen=True)
class Plan:
    """The contents of a sentence's chart."""

    segments: int  # most phrases
    kept: Mask  # [spans]: phrases that are translated
    log_counts: Floats  # [segments]: log p(n | x)
    log_partitions: Floats  # [segments]: summed weight of all trees with n leaves; 0 if none
    posterior: Floats  # [spans]: probability of being a phrase, given n > 1
    ignored: list[int]  # preferred rules whose span is a phrase of no tree


def plan_sentences(
    lengths: Sequence[int],
    scores: Sequence[Floats],
    rules: Sequence[Sequence[RuleSpan]],
    settings: CompleteSettings,
) -> list[Plan]:
    """Decide for each sentence by itself which spans are translated.

    ``scores`` are the split scores of each sentence, ``[splits, 2]``.
    """
    shapes = [_Shape.of(*own, settings) for own in zip(lengths, rules, strict=True)]
    analyses = _analyse(shapes, scores, settings)
    beside = _beside_preferred(shapes, scores, rules, [own.log_counts for own in analyses])
    return [
        Plan(
            shape.segments,
            _kept(shape, analysis, neighbours, settings),
            analysis.log_counts,
            np.where(np.isfinite(analysis.log_partitions), analysis.log_partitions, 0.0),
            analysis.posterior,
            _ignored(shape, own, analysis.log_counts, neighbours),
        )
        for shape, analysis, own, neighbours in zip(shapes, analyses, rules, beside, strict=True)
    ]


@dataclass(frozen=True)
class _Shape:
    """The trees that a sentence may have."""

    length: int
    segments: int
    allowed: Mask  # [spans]: what may be a phrase beside others
    may_be_whole: bool
    is_raised: bool  # rules need more phrases than the settings allow

    @classmethod
    def of(cls, length: int, rules: Sequence[RuleSpan], settings: CompleteSettings) -> _Shape:
        segments = min(length, settings.max_segments)
        sizes = torch.tensor([length]), torch.tensor([segments])
        limit = int(phrase_length_limits(*sizes, settings.max_phrase_length))
        must = forced(rules)
        needed = fewest_phrases(length, limit, rules) if must else 1
        start, stop = spans(length).numpy().T
        allowed = stop - start <= limit
        for rule in rules:
            allowed[_index(rule)] = True  # however long it is
        for rule in must:
            allowed &= (start >= rule.stop) | (stop <= rule.start)
        allowed[[_index(rule) for rule in must]] = True
        allowed[span_count(length - 1)] = False  # the whole sentence
        return cls(
            length,
            max(segments, needed),
            allowed,
            not must or (must[0].start, must[0].stop) == (0, length),
            needed > segments,
        )


def _index(rule: RuleSpan) -> int:
    """The packed index of a rule's span."""
    return span_index(rule.start, rule.stop)


@dataclass(frozen=True)
class _Analysis:
    """The source parser's view of a sentence."""

    log_partitions: Floats  # [segments]: minus infinity where there are no trees
    log_counts: Floats  # [segments]: log p(n | x)
    posterior: Floats  # [spans]: probability of being a leaf, given n > 1
    best: Mask  # [spans]: leaves of the best tree for each n > 1


def _analyse(
    shapes: Sequence[_Shape], scores: Sequence[Floats], settings: CompleteSettings
) -> list[_Analysis]:
    possible = [possible_counts(one.length, one.allowed, one.segments) for one in shapes]
    most = [int(own.nonzero()[0].max(initial=-1)) + 1 for own in possible]
    result = [
        _Analysis(
            np.full(shape.segments, -np.inf),
            count_log_probs(settings, shape.may_be_whole, np.full(shape.segments, -np.inf)),
            np.zeros(len(shape.allowed)),
            np.zeros_like(shape.allowed),
        )
        for shape in shapes
    ]
    for batch in tree_batches([shape.length for shape in shapes], most):
        own = [shapes[sentence] for sentence in batch]
        forests = Forests(
            [scores[sentence] for sentence in batch],
            [shape.length for shape in own],
            [most[sentence] for sentence in batch],
            [shape.allowed for shape in own],
        )
        log_partitions = [
            np.pad(values, (0, shape.segments - len(values)), constant_values=-np.inf)
            for shape, values in zip(own, forests.log_partitions, strict=True)
        ]
        log_counts = [
            count_log_probs(settings, shape.may_be_whole, values)
            for shape, values in zip(own, log_partitions, strict=True)
        ]
        weights = [
            _segment_weights(shape, values, most[sentence])
            for sentence, shape, values in zip(batch, own, log_counts, strict=True)
        ]
        posteriors = forests.leaf_posteriors(weights)
        counts = [(np.flatnonzero(np.isfinite(values)) + 1).tolist() for values in log_partitions]
        best = forests.best_leaves(counts)
        for rank, sentence in enumerate(batch):
            result[sentence] = _Analysis(
                log_partitions[rank], log_counts[rank], posteriors[rank], best[rank]
            )
    return result


def count_log_probs(
    settings: CompleteSettings, may_be_whole: bool, log_partitions: Floats
) -> Floats:
    """Compute ``log p(n | x)`` of the possible numbers of phrases, ``[segments]``.

    One phrase has ``flat_weight``, the others share the rest as a truncated geometric distribution.
    The share of impossible numbers goes to the others.
    """
    result = np.full(len(log_partitions), -np.inf)
    several = np.isfinite(log_partitions)
    several[0] = False
    flat = settings.flat_weight if several.any() else 1.0
    if not may_be_whole:
        flat = 0.0
    if flat > 0:
        result[0] = math.log(flat)
    if several.any() and flat < 1:
        most = torch.tensor([len(result)])
        geometric = truncated_geometric(settings.segment_rate, most, at_least=2)[0].double().numpy()
        geometric = np.where(several, geometric, -np.inf)
        total = np.logaddexp.reduce(geometric)
        result[several] = geometric[several] - total + math.log1p(-flat)
    return result


def _segment_weights(shape: _Shape, log_counts: Floats, most: int) -> Floats:
    """Probability of n = 1, ..., ``most`` leaves given n > 1, for the leaf posteriors.

    All 0 where rules raised the number of phrases: then only the best trees are kept.
    """
    weights = np.zeros(most)
    several = np.exp(log_counts[1:most])
    if not shape.is_raised and several.any():
        weights[1:] = several / several.sum()
    return weights


def _beside_preferred(
    shapes: Sequence[_Shape],
    scores: Sequence[Floats],
    rules: Sequence[Sequence[RuleSpan]],
    log_counts: Sequence[Floats],
) -> list[Mask]:
    """Leaves of the best trees in which preferred spans are leaves, ``[spans]`` each."""
    result = [np.zeros_like(shape.allowed) for shape in shapes]
    wanted = {}
    for sentence, (shape, own) in enumerate(zip(shapes, rules, strict=True)):
        places = [_index(rule) for rule in own if rule.mode == "prefer"]
        if places:
            wanted[sentence] = np.zeros_like(shape.allowed)
            wanted[sentence][places] = True
    found = leaves_beside(
        [scores[s] for s in wanted],
        [shapes[s].length for s in wanted],
        [log_counts[s] for s in wanted],
        [shapes[s].allowed for s in wanted],
        list(wanted.values()),
    )
    for sentence, leaves in zip(wanted, found, strict=True):
        result[sentence] = leaves
    return result


def _kept(shape: _Shape, analysis: _Analysis, beside: Mask, settings: CompleteSettings) -> Mask:
    if not np.isfinite(analysis.log_counts[1:]).any():
        return np.zeros_like(shape.allowed)
    if settings.span_threshold == 0:
        return shape.allowed
    is_likely = analysis.posterior >= settings.span_threshold
    return (is_likely | beside | analysis.best) & shape.allowed


def _ignored(
    shape: _Shape, rules: Sequence[RuleSpan], log_counts: Floats, beside: Mask
) -> list[int]:
    """Preferred rules that no tree obeys."""
    may_compete = beside.copy()
    may_compete[span_count(shape.length - 1)] = np.isfinite(log_counts[0])  # the whole sentence
    return [rule.rule for rule in rules if rule.mode == "prefer" and not may_compete[_index(rule)]]
