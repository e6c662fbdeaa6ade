"""A dev set that is translated again and again under other settings.

Whatever does not depend on what is tuned is computed once: whole sentences, phrases, features. A
trial of other weights or other probabilities of cuts only fills charts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from btg_seq2seq.decoding.chart.cky import PreparedSentences, prepare
from btg_seq2seq.decoding.features import translation_features
from btg_seq2seq.decoding.hypotheses import Hypothesis
from btg_seq2seq.decoding.phrase_translator import Tokens
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, LEXICAL
from btg_seq2seq.translation.prepared_texts import chunks
from btg_seq2seq.translation.ranking.rescoring import Candidate, sentence_features
from btg_seq2seq.translation.tokenized_text import TokenizedText
from btg_seq2seq.translation.translator import Translator

Row = tuple[int, str, list[float]]  # sentence, translation, features


def available_features(translator: Translator) -> frozenset[str]:
    """Return the features that a model has.

    A model that was trained on whole sentences only has learned neither trees nor the reverse
    direction; not every estimator learns the latter.
    """
    found = {"forward", "word"}
    if translator.model.config.parsers_learned:
        found |= {"grammar", "phrase"}
        found |= {"reverse"} if translator.model.config.reverse_learned else set()
    return frozenset(found | (LEXICAL if translator.tables is not None else set()))


class Trials:
    """Translations of a dev set under many settings.

    Args:
        translator: the model.
        texts: the source.
        settings: those that all trials share: the beam and other limits of the search.
    """

    def __init__(
        self, translator: Translator, texts: Sequence[str], settings: DecodingSettings
    ) -> None:
        self.translator, self.settings = translator, settings
        self.features = available_features(translator)
        read = translator.read(texts, settings)
        self.count = len(read)
        # Ranks of the sentences that are not empty, in chunks that fit into memory.
        self.chunks: list[list[tuple[int, TokenizedText]]] = []
        first = 0
        for chunk in chunks(read, settings):
            self.chunks.append([pair for pair in enumerate(chunk, first) if pair[1].tokens])
            first += len(chunk)
        self._prepared: list[PreparedSentences] = []
        self._texts: dict[Tokens, str] = {}

    @property
    def size(self) -> int:
        """Number of chunks."""
        return len(self.chunks)

    def text(self, tokens: Tokens) -> str:
        """Return the text of a token string."""
        if tokens not in self._texts:
            self._texts[tokens] = self.translator.writer.write([(tokens, None)])[0]
        return self._texts[tokens]

    # ---- flat ----------------------------------------------------------------------------------

    def flat(self) -> Iterator[list[Row]]:
        """Translate flat, chunk by chunk; yields all hypotheses of the beams."""
        for chunk in self.chunks:
            phrases = self.translator.phrases([source for _, source in chunk], self.settings)
            found = phrases.translate_sentences(range(len(chunk)))
            spans = [(row, 0, length) for row, length in enumerate(phrases.lengths)]
            features = translation_features(phrases, spans, found, self.features)
            if self.settings.length_normalised:
                features = features / (found.lengths[:, None] + 1)
            values = iter(features.tolist())
            yield [
                (rank, self.text(tokens), next(values))
                for (rank, _), strings in zip(chunk, found.lists(), strict=True)
                for tokens, _ in strings
            ]

    # ---- cky -----------------------------------------------------------------------------------

    def prepare(self) -> Iterator[None]:
        """Translate whole sentences and phrases for the charts, chunk by chunk."""
        complete = self.settings.completed_by(self.translator.model.config)
        for chunk in self.chunks:
            phrases = self.translator.phrases([source for _, source in chunk], self.settings)
            prepared = prepare(phrases, phrases.grammar, complete, self.features)
            prepared.decode(nbest=1)
            self._prepared.append(prepared)
            yield

    def decode(
        self, settings: DecodingSettings, nbest: int | None = 1
    ) -> Iterator[list[tuple[int, TokenizedText, list[Hypothesis]]]]:
        """Fill all charts under other settings; yields chunks of hypotheses."""
        complete = settings.completed_by(self.translator.model.config)
        for chunk, prepared in zip(self.chunks, self._prepared, strict=True):
            found = prepared.with_settings(complete).decode(nbest=nbest)
            yield [
                (rank, source, result.hypotheses)
                for (rank, source), result in zip(chunk, found, strict=True)
            ]

    def best_texts(self, settings: DecodingSettings) -> list[str]:
        """Return the best translation of each sentence by cky."""
        texts = [""] * self.count
        for chunk in self.decode(settings):
            for rank, _, hypotheses in chunk:
                texts[rank] = self.text(hypotheses[0].tokens) if hypotheses else ""
        return texts

    def cky(self, settings: DecodingSettings) -> Iterator[Row]:
        """List the strings of all charts with the features of their best derivations."""
        for chunk in self.decode(settings, None):
            for rank, _, hypotheses in chunk:
                for one in hypotheses:
                    # A sentence too long for a chart has none; equal ones keep its first string.
                    features = one.features or (0.0,) * len(FEATURES)
                    yield rank, self.text(one.tokens), list(features)

    def rescored(self, settings: DecodingSettings) -> Iterator[list[Row]]:
        """List the strings of all charts with features of whole sentences, chunk by chunk."""
        for chunk in self.decode(settings, None):
            phrases = self.translator.phrases([source for _, source, _ in chunk], self.settings)
            candidates = [[Candidate(one, one.tokens) for one in own] for _, _, own in chunk]
            features = sentence_features(phrases, candidates, self.features)
            if settings.length_normalised:
                lengths = np.array([len(one.tokens) for own in candidates for one in own], int)
                features = features / (lengths[:, None] + 1)
            values = iter(features.tolist())
            yield [
                (rank, self.text(one.tokens), next(values)) for rank, _, own in chunk for one in own
            ]
