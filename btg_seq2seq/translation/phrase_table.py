"""Phrase tables: the phrase pairs that a model finds in text.

From a bitext, it counts the phrases of the most probable derivations. From sources alone, it adds
up expected counts: the probability that a span is a phrase under the source parser, times the
probability of a translation under the phrase translator.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from btg_seq2seq.decoding.chart.candidates import Candidates
from btg_seq2seq.decoding.chart.cky import prepare
from btg_seq2seq.decoding.phrase_translator import SentenceSpan
from btg_seq2seq.grammar import Span, spans
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.formats import PhraseTableEntry, formats_for
from btg_seq2seq.translation.prepared_texts import chunks
from btg_seq2seq.translation.rules.files import SEPARATOR
from btg_seq2seq.translation.target_text import REPLACEMENT
from btg_seq2seq.translation.tokenized_text import TokenizedText
from btg_seq2seq.translation.translator import Translator


@dataclass
class _Counts:
    count: float = 0.0
    probability: float = 0.0  # summed over occurrences, weighted by their count


class PhraseTable:
    """Phrase pairs with their counts.

    ``left_out`` counts the phrases that could not be read back as rules: those that end inside of
    a word, and those whose text the Moses format cannot hold.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], _Counts] = defaultdict(_Counts)
        self.left_out = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, source: str, target: str, count: float, log_prob: float) -> None:
        """Count a phrase pair; ``log_prob`` is that of the target given the source."""
        texts = [" ".join(text.split()) for text in (source, target)]
        if not all(texts) or any(SEPARATOR in text or REPLACEMENT in text for text in texts):
            self.left_out += 1
            return
        entry = self._entries[texts[0], texts[1]]
        entry.count += count
        entry.probability += count * math.exp(log_prob)

    def entries(self, min_probability: float = 0.0) -> Iterator[PhraseTableEntry]:
        """Yield the phrase pairs, sorted by source and then by count.

        Pairs with a phi(target | source) below ``min_probability`` are left out.
        """
        of_source: dict[str, float] = defaultdict(float)
        of_target: dict[str, float] = defaultdict(float)
        for (source, target), entry in self._entries.items():
            of_source[source] += entry.count
            of_target[target] += entry.count
        best_first = sorted(
            self._entries.items(), key=lambda item: (item[0][0], -item[1].count, item[0][1])
        )
        for (source, target), entry in best_first:
            forward = entry.count / of_source[source]
            if entry.count > 0 and forward >= min_probability:
                yield PhraseTableEntry(
                    source,
                    target,
                    phi_source=entry.count / of_target[target],
                    phi_target=forward,
                    probability=entry.probability / entry.count,
                    target_count=of_target[target],
                    source_count=of_source[source],
                    count=entry.count,
                )

    def lines(self, min_probability: float = 0.0) -> Iterator[str]:
        """Yield the lines of a Moses phrase table; see ``entries``."""
        moses = formats_for(PhraseTableEntry)["moses"]
        for entry in self.entries(min_probability):
            yield from moses.lines(entry)

    def add_bitext(
        self,
        translator: Translator,
        sources: Sequence[str],
        targets: Sequence[str],
        segments: int | None = None,
    ) -> list[int]:
        """Count the phrases of the most probable derivation of each sentence pair.

        Returns the ranks of the pairs without a derivation, which are too long for the grammar.
        """
        too_long = []
        for rank, pair in enumerate(translator.align(sources, targets, segments)):
            if pair.derivation is None and pair.source.strip() and pair.text.strip():
                too_long.append(rank)
            for phrase in pair.derivation.phrases if pair.derivation else ():
                if _is_words(pair.source, phrase.source_span) and _is_words(
                    pair.text, phrase.target_span
                ):
                    self.add(phrase.source, phrase.target, 1.0, phrase.log_prob)
                else:
                    self.left_out += 1
        return too_long

    def add_sources(self, translator: Translator, texts: Sequence[str]) -> list[int]:
        """Add the expected counts of the phrases of each sentence.

        Returns the ranks of the sentences that were left out, which are too long for a chart.
        """
        too_long, first = [], 0
        for chunk in chunks(translator.read(texts), translator.settings):
            too_long += [first + rank for rank in self._add_sources(translator, chunk)]
            first += len(chunk)
        return too_long

    def _add_sources(self, translator: Translator, read: Sequence[TokenizedText]) -> list[int]:
        ranks = [rank for rank, source in enumerate(read) if source.tokens]
        sources = [read[rank] for rank in ranks]
        phrases = translator.phrases(sources)
        prepared = prepare(phrases, phrases.grammar, translator.settings)
        plans = prepared.plans([()] * len(sources))
        weights: dict[SentenceSpan, float] = {}  # probability that a span is a phrase
        for row, plan in plans.items():
            length = sources[row].units
            flat = math.exp(plan.log_counts[0])
            weights[row, 0, length] = flat
            for (start, stop), posterior in zip(
                spans(length)[plan.kept].tolist(), plan.posterior[plan.kept], strict=True
            ):
                weights[row, start, stop] = (1 - flat) * float(posterior)
        weights = {place: weight for place, weight in weights.items() if weight > 0}
        prepared.candidates.translate_phrases(
            place for place in weights if place[1:] != (0, sources[place[0]].units)
        )
        for place, weight in weights.items():
            self._add_span(translator, sources[place[0]], prepared.candidates, place, weight)
        return [rank for row, rank in enumerate(ranks) if row not in plans]

    def _add_span(
        self,
        translator: Translator,
        source: TokenizedText,
        candidates: Candidates,
        span: SentenceSpan,
        weight: float,
    ) -> None:
        """Add the translations of a span that is a phrase with probability ``weight``."""
        _, start, stop = span
        characters = source.characters(start, stop)
        if not _is_words(source.text, characters):
            self.left_out += 1
            return
        first, count = candidates.find(span)
        for string in range(first, first + count):
            phrase = candidates.pool.phrase(start, stop, string)
            target, _ = translator.writer.write([(phrase.tokens, None)])
            expected = weight * math.exp(phrase.log_prob)
            self.add(source.text[slice(*characters)], target, expected, phrase.log_prob)


def _is_words(text: str, span: Span) -> bool:
    """Return whether a span begins and ends at word boundaries, white space aside."""
    starts, stops = _borders(text)
    inside = text[slice(*span)]
    start = span[0] + len(inside) - len(inside.lstrip())
    stop = start + len(inside.strip())
    return start in starts and stop in stops


@lru_cache(maxsize=2)
def _borders(text: str) -> tuple[frozenset[int], frozenset[int]]:
    """First and last characters of the words of a text; cached, since each phrase needs them."""
    words = words_of(text)
    return frozenset(word.start for word in words), frozenset(word.stop for word in words)
