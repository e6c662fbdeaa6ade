"""Which spans of a sentence may be phrases, and which of them are worth translating.

Rules restrict the trees as the phrase length limit does: the source parser's distribution is the
one over the trees that are left, and p(n | x) the one over the numbers of phrases that are left.
Spans that are phrases with little probability are then dropped, but never all of a number's trees.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence

from btg_seq2seq.decoding.chart.charts import Floats, Skeleton, leaves_beside, skeletons
from btg_seq2seq.decoding.constraints import RuleSpan, fewest_phrases, forced
from btg_seq2seq.decoding.encoding import Source, padded_states
from btg_seq2seq.grammar import TreeCRF, phrase_length_limits, spans, splits, truncated_geometric
from btg_seq2seq.grammar.packing import span_count, span_index, split_count
from btg_seq2seq.model.decoding_settings import CompleteSettings, DecodingSettings
from btg_seq2seq.model.transducer import BTGSeq2Seq

Mask = NDArray[np.bool_]

# Scores are cut to this size where a model gives infinite ones, or none.
LARGEST_SCORE = 1e6
MOST_SPLITS = 2**22  # that are scored at a time


@dataclass(frozen=True)
class Plan:
    """What the chart of a sentence will hold."""

    segments: int  # most phrases
    kept: Mask  # [spans]: phrases that are translated
    log_counts: Floats  # [segments]: log p(n | x)
    log_partitions: Floats  # [segments]: summed weight of all trees with n leaves; 0 if none
    posterior: Floats  # [spans]: probability of being a phrase, given n > 1
    ignored: list[int]  # preferred rules whose span is a phrase of no tree


def prior_scores(model: BTGSeq2Seq, sources: Sequence[Source]) -> list[Floats]:
    """Split scores of the source parser, ``[splits, 2]`` each."""
    result: list[Floats] = []
    first = 0
    while first < len(sources):
        # Few at a time where they are long: there are about length^3 / 6 splits.
        longest = max(source.length for source in sources[first:])
        some = sources[first : first + max(1, MOST_SPLITS // max(1, split_count(longest)))]
        states, _ = padded_states([source.own_states for source in some])
        lengths = [source.length for source in some]
        scores = model.prior(states, lengths).double()
        finite = scores.nan_to_num(0.0, LARGEST_SCORE, -LARGEST_SCORE).cpu().numpy()
        # Copies, so that no sentence keeps the padding of the others.
        result += [row[: split_count(n)].copy() for row, n in zip(finite, lengths, strict=True)]
        first += len(some)
    return result


def plan_sentences(
    model: BTGSeq2Seq,
    lengths: Sequence[int],
    scores: Sequence[Floats],
    rules: Sequence[Sequence[RuleSpan]],
    settings: DecodingSettings,
) -> list[Plan]:
    """Decide for each sentence, on its own, which spans are translated.

    ``scores`` are the source parser's, ``[splits, 2]`` each. What the settings leave open is as
    the model says.
    """
    chosen = settings.completed_by(model.config)
    shapes = [_Shape.of(*own, chosen) for own in zip(lengths, rules, strict=True)]
    segments, allowed = [shape.segments for shape in shapes], [shape.allowed for shape in shapes]
    trees = skeletons(scores, lengths, segments, allowed)
    log_counts = [
        count_log_probs(chosen, shape.may_be_whole, tree.log_partitions)
        for shape, tree in zip(shapes, trees, strict=True)
    ]
    posteriors = _leaf_posteriors(shapes, scores, rules, log_counts)
    beside = _beside_preferred(shapes, scores, rules, log_counts)
    return [
        Plan(
            shape.segments,
            _kept(shape, tree, log_count, posterior, neighbours, chosen),
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
    limit: int | None  # longest phrase, or nothing for no limit
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
            allowed[_index(rule)] = True
            limit = max(limit, rule.stop - rule.start)
        for rule in must:
            allowed &= (start >= rule.stop) | (stop <= rule.start)
        allowed[[_index(rule) for rule in must]] = True
        allowed[span_count(length - 1)] = False  # the whole sentence
        return cls(
            length,
            max(segments, needed),
            None if settings.max_phrase_length is None else limit,
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
    shapes: Sequence[_Shape],
    scores: Sequence[Floats],
    rules: Sequence[Sequence[RuleSpan]],
    log_counts: Sequence[Floats],
) -> list[Floats]:
    """Probability that each span is a leaf, mixed over n > 1.

    0 where there is no such n, and where rules raised it: of what they leave, only the best trees
    are kept.
    """
    result = [np.zeros(len(shape.allowed)) for shape in shapes]
    groups: dict[int | None, list[int]] = defaultdict(list)
    for sentence, (shape, log_count) in enumerate(zip(shapes, log_counts, strict=True)):
        if np.isfinite(log_count[1:]).any() and not shape.is_raised:
            groups[shape.limit].append(sentence)
    for limit, sentences in groups.items():
        own = [
            torch.from_numpy(_conditioned(shapes[s].length, scores[s], rules[s])) for s in sentences
        ]
        crf = TreeCRF(
            pad_sequence(own, batch_first=True),
            torch.tensor([shapes[sentence].length for sentence in sentences]),
            torch.tensor([shapes[sentence].segments for sentence in sentences]),
            limit,
        )
        weights = np.zeros((len(sentences), max(shapes[s].segments for s in sentences)))
        for row, sentence in zip(weights, sentences, strict=True):
            several = np.exp(log_counts[sentence][1:])
            row[1 : 1 + len(several)] = several / several.sum()
        marginals = crf.leaf_marginals(torch.from_numpy(weights)).numpy()
        for row, sentence in zip(marginals, sentences, strict=True):
            result[sentence] = np.nan_to_num(row[: len(shapes[sentence].allowed)])
    return result


def _conditioned(length: int, scores: Floats, rules: Sequence[RuleSpan]) -> Floats:
    """Scores whose trees have the borders of forced spans and none inside of them.

    A fencepost between two phrases is where exactly one node is split, so a large score there
    leaves no weight to trees without it.
    """
    must = [rule for rule in forced(rules) if rule.stop - rule.start < length]
    if not must:
        return scores
    middle = splits(length).numpy()[:, 1]
    large = 50.0 + 2 * length * float(np.ptp(scores))
    scores = scores.copy()
    for rule in must:
        inside = (middle > rule.start) & (middle < rule.stop)
        scores[inside] -= large
    borders = [rule.start for rule in must] + [rule.stop for rule in must]
    scores[np.isin(middle, borders)] += large
    return scores


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
    settings: DecodingSettings,
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
