"""The chart of cky decoding: from phrase candidates and split scores to K-best strings.

A cell holds the best K different strings with the sum of the probabilities of their derivations
inside the chart. This file has the inputs and results; ``kernels`` does the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from btg_seq2seq.decoding.chart.kernels import chart_kernels, string_kernels
from btg_seq2seq.decoding.features import unit_entries
from btg_seq2seq.decoding.hypotheses import TranslatedPhrase
from btg_seq2seq.decoding.phrase_translator import Floats, Integers, Tokens, UnitTable
from btg_seq2seq.decoding.ranking import Ranking
from btg_seq2seq.grammar import spans
from btg_seq2seq.grammar.kernels.compiled import over_batch
from btg_seq2seq.grammar.packing import span_count, split_count
from btg_seq2seq.model.tuned.ranking_weights import FEATURES
from btg_seq2seq.text.units import begins_unit

NO_RULE = -1


class Strings(NamedTuple):
    """Token strings, packed one behind the other."""

    tokens: Integers  # of all strings
    lengths: Integers  # [strings]
    log_probs: Floats  # [strings]
    rules: Integers  # [strings]: number of the rule that gave a string, or NO_RULE
    features: Floats  # [strings, features], or no columns if they are not needed
    offsets: Integers  # [strings + 1]: first token of each string, and the end


class StringPool:
    """Strings to which charts and results refer by number; it can only grow.

    ``has_features``: strings come with their features.
    """

    def __init__(self, has_features: bool = False) -> None:
        self.width = len(FEATURES) if has_features else 0
        self._chunks: list[tuple[Integers, Integers, Floats, Integers, Floats]] = []
        self._all: Strings | None = None
        self.size = 0

    def add(
        self,
        tokens: Any,
        lengths: Any,
        log_probs: Any,
        rule: int = NO_RULE,
        features: Floats | None = None,
    ) -> int:
        """Append strings with concatenated ``tokens``; returns the number of the first."""
        lengths = np.asarray(lengths, np.int64)
        rules = np.full(len(lengths), rule, np.int64)
        if features is None:
            features = np.zeros((len(lengths), 0))
        log_probs = np.asarray(log_probs, np.float64)
        chunk = (np.asarray(tokens, np.int64), lengths, log_probs, rules, features)
        self._chunks.append(chunk)
        self._all = None
        self.size += len(lengths)
        return self.size - len(lengths)

    @property
    def all(self) -> Strings:
        """All strings so far."""
        if self._all is None:
            no_numbers = np.zeros(0, np.int64)
            empty = no_numbers, no_numbers, np.zeros(0), no_numbers, np.zeros((0, self.width))
            columns = zip(empty, *self._chunks, strict=True)
            tokens, lengths, log_probs, rules, features = (
                np.concatenate(column) for column in columns
            )
            self._chunks = [(tokens, lengths, log_probs, rules, features)]
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
            self._all = Strings(tokens, lengths, log_probs, rules, features, offsets)
        return self._all

    def tokens(self, string: int) -> Tokens:
        """Return the tokens of a string."""
        begin, end = self.all.offsets[string : string + 2]
        return tuple(self.all.tokens[begin:end].tolist())

    def phrase(self, start: int, stop: int, string: int) -> TranslatedPhrase:
        """Return a string as the translation of a span."""
        rule = int(self.all.rules[string])
        return TranslatedPhrase(
            *(start, stop, self.tokens(string), float(self.all.log_probs[string])),
            None if rule == NO_RULE else rule,
        )

    def joined(self, other: StringPool) -> StringPool:
        """Concatenate two pools."""
        result = StringPool(self.width > 0)
        result._chunks = [*self._chunks, *other._chunks]
        result.size = self.size + other.size
        return result


@dataclass(frozen=True)
class Chart:
    """The input of one sentence's chart.

    ``leaf_begins`` and ``leaf_counts``, ``[spans]``, are the strings of the pool that a span can
    become as a leaf; those of the whole sentence are sentence-level hypotheses. ``log_counts``,
    ``[segments]``, is the log of p(n | x) over the summed weight of all trees with n leaves.
    """

    length: int
    segments: int
    scores: Floats  # [splits, 2]
    leaf_begins: Integers
    leaf_counts: Integers
    log_counts: Floats


@dataclass(frozen=True)
class ChartString:
    """A string of the root: its log mass, and log mass and leaves of its best derivation.

    Masses are sums of probabilities or, with a ranking, of scores. ``log_prob`` is always the log
    of summed probabilities.
    """

    log_mass: float
    log_best: float
    log_prob: float
    leaves: list[tuple[int, int, int]]  # start, stop, string of the pool; in target order
    posterior: list[float]  # share of derivations with 1, 2, ... leaves in the mass


def run_charts(
    charts: Sequence[Chart],
    pool: StringPool,
    beam_size: int,
    nbest: int | None,
    unit_table: UnitTable | None = None,
    ranking: Ranking | None = None,
) -> list[list[ChartString]]:
    """Fill charts and read the ``nbest`` strings of each, best first; ``None`` for all.

    With a ``unit_table``, phrases meet only between units of the target, so that no word is made of
    parts of two phrases. With a ``ranking``, cells keep the strings with the best scores; without,
    the most probable ones.
    """
    if not charts:
        return []
    if nbest is None:
        wholes = max(int(chart.leaf_counts[span_count(chart.length - 1)]) for chart in charts)
        nbest = wholes + 2 * beam_size * max(chart.segments for chart in charts)
    strings, hashes = pool.all, np.zeros((pool.size, 2), np.int64)
    offsets = strings.offsets
    if pool.size:  # a broken model may find no string at all
        over_batch(string_kernels.hash_strings, pool.size, 50, offsets, strings.tokens, hashes)
    largest = max(chart.segments for chart in charts)
    batch, longest = len(charts), int(strings.lengths.max(initial=0))
    log_counts = np.full((batch, largest), -np.inf)
    for row, chart in zip(log_counts, charts, strict=True):
        row[: chart.segments] = chart.log_counts
    scores, grammar, width = strings.log_probs, 1.0, 2
    if ranking is not None:
        scores = ranking.scores(strings.features, strings.lengths)
        grammar, width = ranking.weights.grammar, 3
    exact = strings.log_probs if ranking is not None else np.zeros(0)
    masses = np.full((batch, nbest, width), -np.inf)
    sizes = np.zeros((batch, nbest), np.int64)
    leaves = np.zeros((batch, nbest, largest, 2), np.int64)
    posteriors = np.zeros((batch, nbest, largest))
    over_batch(
        chart_kernels.decode,
        batch,
        10 * max(chart.length for chart in charts) ** 2 * largest * beam_size**2,
        sentence_table([chart.length for chart in charts], [chart.segments for chart in charts]),
        np.concatenate([chart.scores for chart in charts]),
        log_counts,
        np.concatenate([chart.leaf_begins for chart in charts]),
        np.concatenate([chart.leaf_counts for chart in charts]),
        *(hashes, offsets, scores, exact, edges_of(strings, unit_table), grammar, beam_size),
        string_kernels.base_powers(longest * largest),
        *(masses, sizes, leaves, posteriors),
    )
    exact_column = chart_kernels.MASS if ranking is None else chart_kernels.PROBABILITY
    places = spans(max(chart.length for chart in charts)).tolist()
    return [
        [
            ChartString(
                float(masses[b, rank, chart_kernels.MASS]),
                float(masses[b, rank, chart_kernels.BEST]),
                float(masses[b, rank, exact_column]),
                [(*places[place], string) for string, place in leaves[b, rank, :size].tolist()],
                posteriors[b, rank, : chart.segments].tolist(),
            )
            for rank, size in enumerate(sizes[b].tolist())
            if size
        ]
        for b, chart in enumerate(charts)
    ]


def edges_of(strings: Strings, unit_table: UnitTable | None) -> Integers:
    """Bits that say which strings may meet, ``[strings, 2]``: what each follows, how each ends."""
    if unit_table is None or not len(strings.tokens):
        return np.ones((len(strings.lengths), 2), np.int64)
    # An empty string is a whole sentence and never meets another one, so any token will do.
    first = strings.tokens[np.minimum(strings.offsets[:-1], len(strings.tokens) - 1)]
    last = strings.tokens[np.maximum(strings.offsets[1:] - 1, 0)]
    start, end = (unit_entries(tokens, unit_table) for tokens in (first, last))
    follows = [
        begins_unit(np.full_like(start, bit << 2), start).astype(np.int64) << bit
        for bit in range(4)
    ]
    return np.stack([np.sum(follows, 0), 1 << (end >> 2).astype(np.int64)], 1)


def sentence_table(lengths: Sequence[int], segments: Sequence[int]) -> Integers:
    """List length, segments, first split and first span in packed arrays, ``[batch, 4]``."""
    rows, first_split, first_span = [], 0, 0
    for length, most in zip(lengths, segments, strict=True):
        rows.append((length, most, first_split, first_span))
        first_split += split_count(length)
        first_span += span_count(length)
    return np.array(rows, np.int64)
