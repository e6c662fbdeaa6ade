"""Flat decoding (BTG-1): the phrase translator alone translates whole sentences."""

from __future__ import annotations

from dataclasses import replace

from btg_seq2seq.decoding.features import translation_features
from btg_seq2seq.decoding.hypotheses import Hypothesis
from btg_seq2seq.decoding.phrase_translator import PhraseTranslator
from btg_seq2seq.decoding.ranking import Ranking
from btg_seq2seq.model.decoding_settings import DecodingSettings


def decode_flat(
    phrases: PhraseTranslator, nbest: int = 1, settings: DecodingSettings | None = None
) -> list[list[Hypothesis]]:
    """Find the best translations of each sentence with ``log p(y | x)``, best first.

    They are ranked as the settings say, by probability unless given.
    """
    rows = range(len(phrases.lengths))
    found = phrases.translate_sentences(rows)
    hypotheses = [
        [Hypothesis.whole(length, tokens, log_prob) for tokens, log_prob in strings]
        for length, strings in zip(phrases.lengths, found.lists(), strict=True)
    ]
    ranking = None if settings is None else Ranking.of(settings)
    if ranking is not None:
        spans = [(row, 0, length) for row, length in zip(rows, phrases.lengths, strict=True)]
        features = translation_features(phrases, spans, found, ranking.weights.used)
        scores = iter(ranking.scores(features, found.lengths).tolist())
        hypotheses = [
            sorted(
                (replace(one, rank_score=next(scores)) for one in own),
                key=lambda one: -one.score,
            )
            for own in hypotheses
        ]
    return [own[:nbest] for own in hypotheses]
