"""The lexical teacher: word-translation tables and recurring phrase pairs, and what they derive.

``LexicalTeacher.learn`` estimates everything from a bitext; ``teach`` gives its derivations. The
work is shared by threads, in ranges of sentence pairs, and compiled programs run side by side.
Results do not depend on ranges or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from btg_seq2seq.derivations.lexical.cache import Arrays, Cache
from btg_seq2seq.derivations.lexical.kernels import corpus_kernels
from btg_seq2seq.derivations.lexical.kernels.corpus_kernels import Entries, Grammar, Text
from btg_seq2seq.derivations.lexical.phrase_counts import PhrasePairCounts
from btg_seq2seq.derivations.lexical.settings import LexicalSettings
from btg_seq2seq.derivations.lexical.taught_corpus import TaughtCorpus
from btg_seq2seq.derivations.lexical.unit_corpus import UnitCorpus
from btg_seq2seq.derivations.lexical.word_tables import WordTables
from btg_seq2seq.derivations.noise import Noise
from btg_seq2seq.grammar import truncated_geometric
from btg_seq2seq.grammar.descent import Chooser

T = TypeVar("T")
RANGE = 64  # sentence pairs; an interruption waits for those that have begun
SMALL = 192  # pairs of units of a sentence pair that is too short to be pruned
# Phrase pairs are learned from sentence pairs of up to this many pairs of units, and from longer
# ones as long as the squares of these numbers, which is what charts cost, do not add up to more.
LEARNED_SIZE, LEARNED_WORK = 256, 4000 * 256**2
VERSION = 7  # of the computation: kept results of another are not used


class Track(Protocol):
    """Iterates over items and shows progress, as ``ProgressReport.track``."""

    def __call__(self, items: Sequence[T], description: str) -> Iterator[T]:
        """Iterate."""


def untracked(items: Sequence[T], description: str) -> Iterator[T]:
    """Iterate without showing anything."""
    return iter(items)


@dataclass(frozen=True, eq=False)
class LexicalTeacher:
    """Knowledge learned from a bitext, and the derivations of its sentence pairs.

    Args:
        corpus: the bitext.
        settings: of the teacher.
        tables: word-translation probabilities.
        counts: recurring phrase pairs.
        log_orders: log-probabilities of straight and of inverted nodes, ``[2]``.
        total: expected number of phrases of the corpus.
        cache: results on disk.
        threads: that share the work.
    """

    corpus: UnitCorpus
    settings: LexicalSettings
    tables: WordTables
    counts: PhrasePairCounts
    log_orders: NDArray[np.float64]
    total: float
    cache: Cache
    threads: int = 1

    @classmethod
    def learn(
        cls,
        corpus: UnitCorpus,
        settings: LexicalSettings | None = None,
        *,
        threads: int = 1,
        cache: str | Path | None = None,
        track: Track = untracked,
        tables: WordTables | None = None,
    ) -> LexicalTeacher:
        """Estimate word-translation tables, then counts of recurring phrase pairs.

        ``cache`` names a directory for results; with it, an interrupted run is resumed. Given
        ``tables`` are used as they are, and nothing is kept.
        """
        settings = settings or LexicalSettings()
        directory = cache if tables is None else None
        kept = Cache(directory, [VERSION, corpus.digest(), asdict(settings)])
        if tables is None:
            short = corpus.only(used_pairs(corpus, settings))
            tables = _kept_tables(short, settings, kept, track)
        teacher = cls(
            corpus,
            settings,
            tables,
            PhrasePairCounts.nothing(len(corpus)),
            np.log([0.5, 0.5]),
            0.0,
            kept,
            max(threads, 1),
        )
        for iteration in range(settings.phrase_iterations):
            teacher = teacher._next(iteration, track)
        return teacher._with_longer_pairs(track) if settings.phrase_iterations else teacher

    # ---- learning ----------------------------------------------------------------------------

    @cached_property
    def _is_used(self) -> NDArray[np.bool_]:
        """Mask of the sentence pairs that get derivations."""
        return used_pairs(self.corpus, self.settings)

    @cached_property
    def _is_learned(self) -> NDArray[np.bool_]:
        """Mask of the sentence pairs from which recurring phrase pairs are learned.

        Long ones cost most and say least, so they are left out where there are enough others.
        """
        sizes = np.where(self._is_used, self.corpus.source.units * self.corpus.target.units, 0)
        ordered = np.sort(sizes)
        affordable = ordered[np.cumsum(ordered.astype(np.float64) ** 2) <= LEARNED_WORK]
        bound = max(LEARNED_SIZE, int(affordable[-1:].sum()))
        return np.asarray(self._is_used & (sizes <= bound))

    @cached_property
    def _most(self) -> NDArray[np.int64]:
        return np.where(self._is_used, self.corpus.most_phrases(self.settings.max_segments), 0)

    @cached_property
    def _grammar(self) -> Grammar:
        settings = self.settings
        return Grammar(
            most=settings.max_segments,
            limit=settings.max_phrase_length or settings.max_units,
            beam=np.inf if settings.beam is None else settings.beam,
            small=SMALL,
            concentration=settings.concentration,
            total=self.total,
            log_orders=self.log_orders,
            log_counts=_log_counts(settings.max_segments, settings.segment_rate, self.log_orders),
        )

    @cached_property
    def _inputs(self) -> tuple[Any, ...]:
        """Arguments of the compiled programs."""
        tables, corpus = self.tables, self.corpus
        source, target = tables.numbered(corpus)
        texts = (
            Text(words, side.ends, side.posts, side.post_ends, side.stops, rates, empty)
            for words, side, rates, empty in (
                (source, corpus.source, tables.source_rates, tables.empty_source),
                (target, corpus.target, tables.target_rates, tables.empty_target),
            )
        )
        entries = Entries(*tables.entries)
        return *texts, entries, self.counts.arrays, self._grammar

    def _next(self, iteration: int, track: Track) -> LexicalTeacher:
        """Estimate the counts once more."""
        name = f"expectations-{iteration}"
        kept = _expectations(self.cache.load(name), iteration, self)
        if kept is None:
            kept = self._expect(iteration, track)
            self.cache.save(name, kept)
        if iteration == 0:
            cells, expected = kept["cells"], kept["expected"]
            counts = PhrasePairCounts.of(self.corpus, kept["sentences"], cells, expected)
        else:
            counts = self.counts.with_expected(kept["expected"])
        orders, total = kept["totals"][:2], float(kept["totals"][2])
        # Neither order is ever impossible.
        log_orders = np.log((orders + 1) / (orders.sum() + 2))
        return replace(self, counts=counts, log_orders=log_orders, total=total)

    def _with_longer_pairs(self, track: Track) -> LexicalTeacher:
        """Look up the phrase pairs in the sentence pairs that they were not learned from."""
        is_longer = self._is_used & ~self._is_learned
        if not is_longer.any():
            return self
        counts, longest = self.counts, self._grammar.limit
        source_keys = counts.source_keys(self.corpus)

        def find(begin: int, end: int) -> NDArray[np.int64]:
            sentences = begin + np.flatnonzero(is_longer[begin:end])
            return counts.known_in(self.corpus, source_keys, sentences, longest)

        parts = self._over_ranges(find, "phrase pairs of long sentences", track)
        found = np.concatenate([part for _, part in parts])
        return replace(self, counts=counts.with_places(found))

    def _expect(self, iteration: int, track: Track) -> Arrays:
        results = np.zeros((len(self.corpus), 4))
        room_per_pair = 128

        def expect(begin: int, end: int) -> NDArray[Any]:
            nonlocal room_per_pair
            while True:
                room = room_per_pair * (end - begin) if iteration == 0 else 0
                found = np.zeros((room, 6))
                results[begin:end] = 0.0
                expected, listed = corpus_kernels.expect(
                    begin, end, *self._inputs, self._is_learned, results, found
                )
                if listed <= room:
                    return np.asarray(found[:listed] if iteration == 0 else expected)
                # With some to spare, so that later ranges are not computed twice.
                room_per_pair = max(room_per_pair, 5 * listed // (4 * (end - begin)) + 1)

        description = f"phrase pairs, iteration {iteration + 1}/{self.settings.phrase_iterations}"
        parts = [part for _, part in self._over_ranges(expect, description, track)]
        totals = results[:, [2, 3, 1]].sum(0)
        if iteration > 0:
            return {"expected": np.concatenate([_NO_EXPECTED, *parts]), "totals": totals}
        found = np.concatenate([np.zeros((0, 6)), *parts])
        return {
            "sentences": found[:, 0].astype(np.int64),
            "cells": found[:, 1:5].astype(np.int16),
            "expected": found[:, 5].astype(np.float32),
            "totals": totals,
        }

    def _over_ranges(
        self, work: Callable[[int, int], T], description: str, track: Track
    ) -> Iterator[tuple[int, T]]:
        """Do some work for all ranges, in threads; results come in order."""
        begins = range(0, len(self.corpus), RANGE)
        self._inputs  # noqa: B018  # made once, not by every thread
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                waiting = [
                    pool.submit(work, begin, min(begin + RANGE, len(self.corpus)))
                    for begin in begins
                ]
                for begin, result in track([*zip(begins, waiting, strict=True)], description):
                    yield begin, result.result()
            finally:
                pool.shutdown(cancel_futures=True)

    # ---- derivations -------------------------------------------------------------------------

    def teach(self, track: Track = untracked) -> TaughtCorpus:
        """Find the best derivations of all sentence pairs, and draw others."""

        def derive(begin: int, end: int) -> TaughtCorpus:
            kept = self.cache.load(f"derivations-{begin}")
            taught = None if kept is None else TaughtCorpus.checked(kept, self._shapes(begin, end))
            if taught is None:
                taught = self._derive(begin, end)
                self.cache.save(f"derivations-{begin}", taught.arrays)
            return taught

        parts = [part for _, part in self._over_ranges(derive, "derivations", track)]
        return TaughtCorpus.joined(parts or [self._derive(0, 0)])

    def _shapes(
        self, begin: int, end: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
        """Units of both sides, draws and phrases, which kept derivations must fit."""
        sides = (self.corpus.source.units[begin:end], self.corpus.target.units[begin:end])
        return *sides, self.settings.draws, self.settings.max_segments

    def _derive(self, begin: int, end: int) -> TaughtCorpus:
        size, most, draws = end - begin, self.settings.max_segments, self.settings.draws
        counts, uniforms = self._random_numbers(begin, end)
        log_counts = np.full((size, most), -np.inf)
        for rank, possible in enumerate(self._most[begin:end]):
            log_counts[rank, :possible] = self._grammar.log_counts[possible, 1 : possible + 1]
        taught = TaughtCorpus(
            np.full((size, most), -np.inf),
            np.full((size, most), -np.inf),
            log_counts,
            np.zeros((size, most, most, 4), np.int16),
            np.zeros((size, draws, most, 4), np.int16),
            np.zeros((size, draws), np.float32),
        )
        out = (
            taught.log_partitions,
            taught.log_maxima,
            taught.best,
            taught.drawn,
            taught.densities,
        )
        corpus_kernels.derive(begin, end, *self._inputs, self._is_used, counts, uniforms, out)
        return taught

    def _random_numbers(
        self, begin: int, end: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Numbers of phrases, ``[sentences, draws]``, and uniforms, ``[sentences, draws, most]``.

        They depend on the seed, the place of a sentence pair and the number of the draw only.
        """
        size, most, draws = end - begin, self.settings.max_segments, self.settings.draws
        counts = np.zeros((size, draws), np.int64)
        uniforms = np.zeros((size, draws, most))
        if size == 0:
            return counts, uniforms
        possible = torch.from_numpy(self._most[begin:end])
        settings = self.settings
        rate = settings.segment_rate if settings.drawn_rate is None else settings.drawn_rate
        log_probs = truncated_geometric(rate, possible.clamp(min=2), at_least=2)
        for draw in range(draws):
            noise = Noise.of(torch.arange(begin, end), self.settings.seed, draw)
            chosen = Chooser(noise.uniforms(_COUNT, 1))(log_probs) + 1
            counts[:, draw] = torch.where(possible > 1, chosen, possible).numpy()
            uniforms[:, draw] = noise.uniforms(_TREE, most).numpy()
        return counts, uniforms


def used_pairs(corpus: UnitCorpus, settings: LexicalSettings) -> NDArray[np.bool_]:
    """Mask of the sentence pairs that are neither empty nor too long on a side, ``[sentences]``."""
    units = np.stack([corpus.source.units, corpus.target.units])
    return np.asarray((units.min(0) > 0) & (units.max(0) <= settings.max_units))


_NO_EXPECTED = np.zeros(0, np.float32)
_COUNT, _TREE = 0, 1  # uses of random numbers


def _log_counts(most: int, rate: float, log_orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log p(n) of one tree with n phrases, by the most phrases that a sentence pair can have.

    The weights of all trees with n leaves add up to more than 1, so p(n) is divided by their sum.
    """
    trees = np.ones((most + 1, 3))  # straight, inverted, either: of all trees with n leaves
    for n in range(2, most + 1):
        for label in range(2):
            parts = (trees[m, 1 - label] * trees[n - m, 2] for m in range(1, n))
            trees[n, label] = np.exp(log_orders[label]) * sum(parts)
        trees[n, 2] = trees[n, :2].sum()
    table = np.full((most + 1, most + 1), -np.inf)
    log_probs = truncated_geometric(rate, torch.arange(1, most + 1)).double().numpy()
    table[1:, 1:] = log_probs - np.log(trees[1:, 2])
    return table


def _kept_tables(
    corpus: UnitCorpus, settings: LexicalSettings, cache: Cache, track: Track
) -> WordTables:
    kept = WordTables.checked(cache.load("tables"))
    if kept is None:
        kept = WordTables.estimate(corpus, settings.table_iterations, settings.agreement, track)
        cache.save("tables", vars(kept))
    return kept


def _expectations(arrays: Arrays | None, iteration: int, teacher: LexicalTeacher) -> Arrays | None:
    """Kept expectations, unless they do not fit the corpus."""
    names = {"expected", "totals"} | ({"sentences", "cells"} if iteration == 0 else set())
    if arrays is None or set(arrays) != names or arrays["totals"].shape != (3,):
        return None
    expected = arrays["expected"]
    if expected.dtype != np.float32 or expected.ndim != 1 or not (expected >= 0).all():
        return None
    if iteration > 0:
        return arrays if expected.shape == teacher.counts.expected.shape else None
    sentences, cells, corpus = arrays["sentences"], arrays["cells"], teacher.corpus
    if sentences.dtype != np.int64 or cells.dtype != np.int16:
        return None
    if sentences.shape != expected.shape or cells.shape != (len(sentences), 4):
        return None
    if len(sentences) == 0:
        return arrays
    if sentences.min() < 0 or sentences.max() >= len(corpus) or (np.diff(sentences) < 0).any():
        return None
    i, k, a, c = cells.T
    fits = (i >= 0) & (i < k) & (k <= corpus.source.units[sentences])
    fits &= (a >= 0) & (a < c) & (c <= corpus.target.units[sentences])
    return arrays if fits.all() else None
