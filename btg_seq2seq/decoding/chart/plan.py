"""Which spans of a sentence may be phrases, and which of them are worth translating.

Rules restrict the trees as the phrase length limit does: the source parser's distribution is the
one over the trees that are left, and p(n | x) the one over the numbers of phrases that are left.
Spans that are phrases with little probability are then dropped, but never all of a number's trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.decoding.chart.charts import Skeleton, leaves_beside, skeletons
from btg_seq2seq.decoding.constraints import RuleSpan, fewest_phrases, forced
from btg_seq2seq.decoding.phrase_translator import Floats
from btg_seq2seq.grammar import TreeCRF, phrase_length_limits, spans, truncated_geometric
from btg_seq2seq.grammar.packing import span_count, span_index, split_count
from btg_seq2seq.model.decoding_settings import CompleteSettings

Mask = NDArray[np.bool_]

MOST_SPLITS = 2**22  # of the sentences that are parsed together


@dataclass(frozen=True)
class Plan:
    """What the chart of a sentence will hold."""

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
    segments, allowed = [shape.segments for shape in shapes], [shape.allowed for shape in shapes]
    trees = skeletons(scores, lengths, segments, allowed)
    log_counts = [
        count_log_probs(settings, shape.may_be_whole, tree.log_partitions)
        for shape, tree in zip(shapes, trees, strict=True)
    ]
    posteriors = _leaf_posteriors(shapes, scores, log_counts)
    beside = _beside_preferred(shapes, scores, rules, log_counts)
    return [
        Plan(
            shape.segments,
            _kept(shape, tree, log_count, posterior, neighbours, settings),
            log_count,
            np.where(np.isfinite(tree.log_partitions), tree.log_partitions, 0.0),
            posterior,
            _ignored(shape, own, log_count, neighbours),
        )
        for shape, tree, own, log_count, posterior, neighbours in zip(
            shapes, trees, rules, log_counts, posteriors, beside, strict=True
        )
    ]


@dataclass(frozen=True)
class _Shape:
    """Which trees a sentence may have at all."""

    length: int
    segments: int
    allowed: Mask  # [spans]: what may be a phrase beside others
    may_be_whole: bool
    is_raised: bool  # rules needed more phrases than there should be

    @classmethod
    def of(cls, length: int, rules: Sequence[RuleSpan], settings: CompleteSettings) -> _Shape:
        segments = min(length, settings.max_segments)
        own = torch.tensor([length]), torch.tensor([segments])
        limit = int(phrase_length_limits(*own, settings.max_phrase_length))
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


def count_log_probs(
    settings: CompleteSettings, may_be_whole: bool, log_partitions: Floats
) -> Floats:
    """``log p(n | x)`` of the numbers of phrases that are possible, ``[segments]``.

    One phrase has ``flat_weight``, the others share the rest as a truncated geometric distribution;
    what is impossible has nothing, and the others have its share.
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


def _leaf_posteriors(
    shapes: Sequence[_Shape], scores: Sequence[Floats], log_counts: Sequence[Floats]
) -> list[Floats]:
    """Probability that each span is a leaf, mixed over n > 1.

    0 where there is no such n, and where rules raised it: of what they leave, only the best trees
    are kept.
    """
    result = [np.zeros(len(shape.allowed)) for shape in shapes]
    usable = [
        sentence
        for sentence, (shape, log_count) in enumerate(zip(shapes, log_counts, strict=True))
        if np.isfinite(log_count[1:]).any() and not shape.is_raised
    ]
    for sentences in _batches(usable, [shape.length for shape in shapes]):
        # Rules may leave fewer phrases than there could be.
        most = [1 + int(np.isfinite(log_counts[s]).nonzero()[0][-1]) for s in sentences]
        crf = TreeCRF(
            pad_sequence([torch.from_numpy(scores[s]) for s in sentences], batch_first=True),
            [shapes[s].length for s in sentences],
            most,
            allowed_leaves=pad_sequence(
                [torch.from_numpy(shapes[s].allowed) for s in sentences], batch_first=True
            ),
        )
        weights = np.zeros((len(sentences), max(most)))
        for row, sentence, count in zip(weights, sentences, most, strict=True):
            several = np.exp(log_counts[sentence][1:count])
            row[1:count] = several / several.sum()
        marginals = crf.leaf_marginals(torch.from_numpy(weights)).numpy()
        for row, sentence in zip(marginals, sentences, strict=True):
            result[sentence] = np.nan_to_num(row[: len(shapes[sentence].allowed)])
    return result


def _batches(sentences: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Sentences of similar length, whose padded scores fit into memory."""
    batch: list[int] = []
    for sentence in sorted(sentences, key=lambda sentence: (lengths[sentence], sentence)):
        if batch and (len(batch) + 1) * split_count(lengths[sentence]) > MOST_SPLITS:
            yield batch
            batch = []
        batch.append(sentence)
    if batch:
        yield batch


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


def _kept(
    shape: _Shape,
    tree: Skeleton,
    log_counts: Floats,
    posterior: Floats,
    beside: Mask,
    settings: CompleteSettings,
) -> Mask:
    several = [n for n in range(1, shape.segments) if np.isfinite(log_counts[n])]
    if not several:
        return np.zeros_like(shape.allowed)
    if settings.span_threshold == 0:
        return shape.allowed
    kept = (posterior >= settings.span_threshold) | beside
    for n in several:
        kept[tree.best[n]] = True
    return kept & shape.allowed


def _ignored(
    shape: _Shape, rules: Sequence[RuleSpan], log_counts: Floats, beside: Mask
) -> list[int]:
    """Preferred rules that no tree obeys."""
    may_compete = beside.copy()
    may_compete[span_count(shape.length - 1)] = np.isfinite(log_counts[0])  # the whole sentence
    return [rule.rule for rule in rules if rule.mode == "prefer" and not may_compete[_index(rule)]]
