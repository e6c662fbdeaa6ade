"""The interface of phrase translators: what flat decoding, the chart and scoring need.

``seq2seq_phrases`` implements it with a seq2seq model. Any other source of phrase translations,
such as a dictionary, can take its place; the trees come from a ``SourceGrammar``.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from btg_seq2seq.errors import UserError
from btg_seq2seq.derivations.lexical.word_tables import WordTables

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
UnitTable = NDArray[np.uint8]
Tokens = tuple[int, ...]
SentenceSpan = tuple[int, int, int]  # rank of a sentence, start and stop in it


class PhraseTranslator(ABC):
    """Translates and scores some source sentences and their phrases.

    Sentences are named by their rank, phrases by a ``SentenceSpan``. Positions count the units of
    a sentence; target strings are tokens, without those that start and end a sentence. A result may
    not depend on the other sentences and phrases of a call.

    Attributes:
        lengths: number of units of each sentence.
        unit_table: start and end of each target token, see ``text.units``: phrases meet only
            between units. ``None`` if they may meet anywhere.
        tables: word-translation tables, for lexical features; ``None`` if there are none.
    """

    lengths: Sequence[int]
    unit_table: UnitTable | None = None
    tables: WordTables | None = None

    @abstractmethod
    def translate_sentences(self, sentences: Sequence[int]) -> KBest:
        """Find the best translations of whole sentences."""

    @abstractmethod
    def translate_phrases(self, phrases: Sequence[SentenceSpan]) -> KBest:
        """Find the best translations of phrases; none of them may be empty."""

    @abstractmethod
    def score_sentences(self, sentences: Sequence[int], targets: Sequence[Tokens]) -> list[float]:
        """Compute the log-probability that each sentence becomes the target given for it."""

    @abstractmethod
    def score_prefixes(
        self, phrases: Sequence[SentenceSpan], targets: Sequence[Tokens]
    ) -> list[Floats]:
        """Compute the log-probability that each phrase becomes a prefix of its target.

        One array per phrase: the log-probability of the first token as the whole translation, of
        the first two tokens, and so on. It may end early, where no longer prefix can be a
        translation.
        """

    def score_phrases(
        self, phrases: Sequence[SentenceSpan], targets: Sequence[Tokens]
    ) -> list[float]:
        """Compute the log-probability that each phrase becomes the target given for it.

        Rules choose among their targets by it. Minus infinity where there is none to be had.
        """
        prefixes = self.score_prefixes(phrases, targets)
        return [
            float(scores[-1]) if len(scores) == len(target) > 0 else -np.inf
            for scores, target in zip(prefixes, targets, strict=True)
        ]

    def reverse_scores(self, phrases: Sequence[SentenceSpan], found: KBest) -> Floats:
        """Compute the log-probability of each phrase given each string found for it, ``[strings]``.

        Only needed where the feature ``reverse`` has a weight.
        """
        raise UserError(
            f"{type(self).__name__} has no reverse probabilities: set the weight reverse to 0"
        )

    def source_tokens(self, phrases: Sequence[SentenceSpan]) -> tuple[Integers, Integers]:
        """Return the tokens of phrases, one behind the other, and their numbers of tokens.

        Only needed for lexical features.
        """
        raise UserError(
            f"{type(self).__name__} has no source tokens: set the weights lexical and "
            "reverse_lexical to 0"
        )

    def key(self, phrase: SentenceSpan) -> Hashable:
        """Name a phrase such that phrases with the same key have the same translations."""
        return phrase

    def can_write(self, sentence: int, target: Tokens) -> bool:
        """Return whether ``translate_sentences`` could ever find this translation."""
        return True

    def longest_output(self, sentence: int, phrases: int = 1) -> int:
        """Return the most target tokens of a sentence that is cut into ``phrases`` phrases."""
        return sys.maxsize


@dataclass(frozen=True)
class KBest:
    """The best translations of some sentences or phrases, best first, packed into arrays."""

    tokens: Integers  # of all strings, one behind the other
    lengths: Integers  # [strings]
    log_probs: Floats  # [strings]
    counts: Integers  # [phrases]: number of strings of each

    @classmethod
    def of(cls, lists: Iterable[Iterable[tuple[Sequence[int], float]]]) -> KBest:
        """Pack lists of strings and their log-probabilities, one list per phrase."""
        rows = [list(strings) for strings in lists]
        strings = [pair for row in rows for pair in row]
        return cls(
            np.array([token for string, _ in strings for token in string], np.int64),
            np.array([len(string) for string, _ in strings], np.int64),
            np.array([log_prob for _, log_prob in strings], np.float64),
            np.array([len(row) for row in rows], np.int64),
        )

    @classmethod
    def joined(cls, batches: Sequence[tuple[Sequence[int], KBest]]) -> KBest:
        """Put batches together; each comes with the ranks of its phrases in the whole."""
        if not batches:
            return cls.of([])
        order = np.argsort(np.concatenate([ranks for ranks, _ in batches]))
        own = [kbest for _, kbest in batches]
        counts = np.concatenate([kbest.counts for kbest in own])
        lengths = np.concatenate([kbest.lengths for kbest in own])
        strings = _ranges(counts, order)
        return cls(
            np.concatenate([kbest.tokens for kbest in own])[_ranges(lengths, strings)],
            lengths[strings],
            np.concatenate([kbest.log_probs for kbest in own])[strings],
            counts[order],
        )

    def lists(self) -> list[list[tuple[Tokens, float]]]:
        """Unpack: for each phrase, its strings and their log-probabilities."""
        tokens, log_probs = self.tokens.tolist(), self.log_probs.tolist()
        ends = np.cumsum(self.lengths).tolist()
        strings = [
            (tuple(tokens[end - length : end]), log_prob)
            for end, length, log_prob in zip(ends, self.lengths.tolist(), log_probs, strict=True)
        ]
        stops = np.cumsum(self.counts).tolist()
        return [
            strings[stop - count : stop]
            for stop, count in zip(stops, self.counts.tolist(), strict=True)
        ]


def _ranges(sizes: Integers, order: Integers) -> Integers:
    """Places of the items of groups that stand one behind the other, with the groups reordered."""
    begins, chosen = (np.cumsum(sizes) - sizes)[order], sizes[order]
    shift = np.repeat(begins - (np.cumsum(chosen) - chosen), chosen)
    return shift + np.arange(len(shift))
