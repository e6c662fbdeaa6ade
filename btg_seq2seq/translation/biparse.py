"""Aligned phrases of any bitext, without a model: the lexical teacher's derivations as text.

Words are the units: those of ``text.words``, punctuation marks, and the characters of scripts that
are written without spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from btg_seq2seq.checks import whole
from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.derivations.lexical import (
    LexicalSettings,
    LexicalTeacher,
    TaughtCorpus,
    UnitCorpus,
)
from btg_seq2seq.derivations.lexical.kernels.corpus_kernels import EMPTY
from btg_seq2seq.derivations.lexical.kernels.phrase_kernels import link_matrices
from btg_seq2seq.derivations.lexical.teacher import Track, untracked, used_pairs
from btg_seq2seq.derivations.lexical.word_links import WordLinks
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.alignment import aligned
from btg_seq2seq.translation.inputs import check_pairs
from btg_seq2seq.translation.tokenized_text import TokenizedText
from btg_seq2seq.translation.translation import Translation

WordLink = tuple[int, int]  # units of source and target, from 0
LINKED = 0.1  # least probability of a link


class ParsedBitext:
    """The sentence pairs of a bitext with the derivations of the lexical teacher.

    Iterating gives a ``Translation`` of mode ``given`` for each pair, as ``Translator.align`` does.
    Its ``log_prob`` is that of the derivation among all derivations of the pair. A pair with an
    empty side, or with more than ``max_units`` words on a side, has no derivation.
    """

    def __init__(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        teacher: LexicalTeacher,
        taught: TaughtCorpus,
        segments: int | None = None,
        track: Track = untracked,
    ) -> None:
        self.sources, self.targets = sources, targets
        self.teacher, self.taught, self.segments = teacher, taught, segments
        self._track = track  # of links between words, which are learned when they are asked for

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, position: int) -> Translation:
        position = range(len(self))[position]
        source, target = words_as_tokens(self.sources[position]), self.targets[position]
        derivation = self.derivation(position)
        pair = aligned(source, words_as_tokens(target), derivation)
        log_prob = pair.log_prob
        if derivation is not None:
            log_prob = self.taught.best_log_prob(position, len(derivation.segmentation))
        return replace(pair, log_prob=log_prob, variants=())  # words are no tokens of a model

    def __iter__(self) -> Iterator[Translation]:
        return map(self.__getitem__, range(len(self)))

    def derivation(self, position: int) -> Derivation | None:
        """Find the most probable derivation, with the wanted number of phrases if it is given.

        A pair that is too short for it has as many phrases as possible. The log-probability of a
        phrase is that of its target words given its source words, by the word tables.
        """
        segments = self.segments
        if segments is not None:
            possible = np.flatnonzero(self.taught.log_maxima[position] > -np.inf) + 1
            if not len(possible):
                return None
            segments = int(possible[possible <= segments].max(initial=possible.min()))
        found = self.taught.best_derivation(position, segments)
        if found is None:
            return None
        forward, _ = self._links(position)
        empty = self.teacher.tables.empty_target[self._words[1][self._place(position)[1]]]
        log_probs = tuple(
            float(np.log((1 - EMPTY) * forward[i:k, a:c].mean(0) + EMPTY * empty[a:c]).sum())
            for (i, k), (a, c) in ((pair.source, pair.target) for pair in found.phrases)
        )
        return replace(found, log_probs=log_probs)

    def word_links(self, position: int) -> list[WordLink]:
        """Link the words of each phrase pair that translate each other."""
        derivation = self.derivation(position)
        if derivation is None:
            return []
        probabilities = self._word_links.probabilities(position)
        return sorted(
            (i + int(x), a + int(y))
            for (i, k), (a, c) in ((pair.source, pair.target) for pair in derivation.phrases)
            for x, y in np.argwhere(probabilities[i:k, a:c] > LINKED)
        )

    def pharaoh(self, position: int) -> str:
        """Write the links of a sentence pair as ``0-0 1-2``, counting words between spaces."""
        source, target = (_spaced_words(texts[position]) for texts in (self.sources, self.targets))
        links = sorted({(source[x], target[y]) for x, y in self.word_links(position)})
        return " ".join(f"{x}-{y}" for x, y in links)

    @cached_property
    def _word_links(self) -> WordLinks:
        corpus = self.teacher.corpus
        used = used_pairs(corpus, self.teacher.settings)  # those that the tables know
        return WordLinks.estimate(corpus.only(used), self.teacher.tables, track=self._track)

    @cached_property
    def _words(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.teacher.tables.numbered(self.teacher.corpus)

    def _place(self, position: int) -> tuple[slice, slice]:
        corpus = self.teacher.corpus
        return (
            slice(*corpus.source.ends[position : position + 2]),
            slice(*corpus.target.ends[position : position + 2]),
        )

    def _links(self, position: int) -> NDArray[np.float64]:
        """t(y | x) and t(x | y) of all words of a sentence pair, ``[2, source, target]``."""
        source, target = (
            words[place] for words, place in zip(self._words, self._place(position), strict=True)
        )
        matrices: NDArray[np.float64] = link_matrices(source, target, *self.teacher.tables.entries)
        return matrices


def biparse(
    sources: Sequence[str],
    targets: Sequence[str],
    settings: LexicalSettings | None = None,
    *,
    segments: int | None = None,
    threads: int = 1,
    cache: str | Path | None = None,
    track: Track = untracked,
) -> ParsedBitext:
    """Find the aligned phrases of a bitext; takes seconds for ten thousand short pairs.

    Args:
        sources, targets: the bitext, line by line.
        settings: settings of the lexical teacher.
        segments: phrases per sentence pair, also more than ``settings.max_segments``. By default,
            the most probable number.
        threads: threads that share the work.
        cache: directory for results; an interrupted call goes on from there.
        track: iterates over parts of the work and shows the progress.
    """
    check_pairs(sources, targets)
    settings = settings or LexicalSettings(draws=0)
    if segments is not None:
        whole("segments", segments, least=1)
        settings = replace(settings, max_segments=max(settings.max_segments, segments))
    corpus = UnitCorpus.of_text(sources, targets)
    possible = corpus.most_phrases(settings.max_segments)[used_pairs(corpus, settings)]
    settings = replace(settings, max_segments=int(possible.max(initial=1)))  # saves memory
    teacher = LexicalTeacher.learn(corpus, settings, threads=threads, cache=cache, track=track)
    return ParsedBitext(sources, targets, teacher, teacher.teach(track), segments, track)


def words_as_tokens(text: str) -> TokenizedText:
    """Read a text whose words are tokens and units at once; their ids mean nothing."""
    words = words_of(text)
    spans = tuple((word.start, word.stop) for word in words)
    return TokenizedText(text, (0,) * len(words), spans, tuple(range(len(words) + 1)))


def _spaced_words(text: str) -> list[int]:
    """For each word of a text, its rank among the words of ``text.split()``."""
    ranks, rank = [], -1
    for word in words_of(text):
        rank += word.spaced
        ranks.append(rank)
    return ranks
