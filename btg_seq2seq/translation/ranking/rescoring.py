"""The mode rescored: candidates of flat and cky, ranked together by features of whole sentences.

The candidates are all strings that the root of a chart holds. Among them are those of flat beam
search, the chart's entries with one phrase. Each is scored as a whole: by the seq2seq model in both
directions, by the word-translation tables, by its length, and by the grammar, which gives the log
of its probability summed over derivations. So candidates differ in how they were found, but not in
how they are ranked.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from btg_seq2seq.decoding.features import GRAMMAR, PHRASE, translation_features
from btg_seq2seq.decoding.hypotheses import Hypothesis
from btg_seq2seq.decoding.phrase_translator import Floats, KBest, PhraseTranslator, Tokens
from btg_seq2seq.decoding.ranking import Ranking
from btg_seq2seq.model.tuned.ranking_weights import RankingWeights

LEAST = -1e4  # stands for the log of 0


@dataclass(frozen=True)
class Candidate:
    """A hypothesis for a sentence, and its tokens with the targets of rules spelled out."""

    hypothesis: Hypothesis
    tokens: Tokens


def sentence_features(
    phrases: PhraseTranslator,
    candidates: Sequence[Sequence[Candidate]],
    used: Collection[str],
) -> Floats:
    """Compute the features of all candidates of all sentences, ``[candidates, features]``.

    ``phrases`` has the sentences, and there is a list of candidates for each of them. The number of
    phrases is the expected one, over all derivations of a candidate.
    """
    strings = [[(one.tokens, 0.0) for one in own] for own in candidates]
    found = KBest.of(strings)
    rows = [row for row, own in enumerate(candidates) for _ in own]
    every = [one for own in candidates for one in own]
    if "forward" in used:
        log_probs = phrases.score_sentences(rows, [one.tokens for one in every])
        found = replace(found, log_probs=np.array(log_probs, np.float64))
    spans = [(row, 0, length) for row, length in enumerate(phrases.lengths)]
    features = translation_features(phrases, spans, found, used)
    for row, one in enumerate(every):
        shares = one.hypothesis.segment_posterior
        features[row, GRAMMAR] = one.hypothesis.log_prob
        features[row, PHRASE] = sum(n * share for n, share in enumerate(shares, 1))
    return np.maximum(features, LEAST)


def rescored(
    phrases: PhraseTranslator,
    candidates: Sequence[Sequence[Candidate]],
    weights: RankingWeights,
) -> list[list[Hypothesis]]:
    """Rank the candidates of each sentence, best first."""
    features = sentence_features(phrases, candidates, weights.used)
    lengths = np.array([len(one.tokens) for own in candidates for one in own], np.int64)
    scores = iter(Ranking(weights).scores(features, lengths).tolist())
    return [
        sorted(
            [replace(one.hypothesis, rank_score=next(scores), log_best=None) for one in own],
            key=lambda one: -one.score,
        )
        for own in candidates
    ]
