"""Hypotheses as text, and the translations that they make up.

Several hypotheses may read the same: their probabilities are added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from btg_seq2seq.decoding.hypotheses import Hypothesis
from btg_seq2seq.decoding.phrase_translator import Tokens
from btg_seq2seq.translation.ranking.minimum_risk import RankedText, by_expected_chrf
from btg_seq2seq.translation.rules.apply import RuledText
from btg_seq2seq.translation.target_text import TargetWriter
from btg_seq2seq.translation.translation import (
    Alternative,
    Mode,
    RankedBy,
    TextDerivation,
    TextPhrase,
    Translation,
)


def to_translation(
    writer: TargetWriter,
    ruled: RuledText,
    hypotheses: Sequence[Hypothesis],
    nbest: int,
    *,
    mode: Mode,
    fallback: str | None = None,
    ranked_by: RankedBy = "probability",
    minimum_risk: bool = False,
) -> Translation:
    """Rank the texts of a sentence; token strings that read the same are added up.

    So are their scores, except for those per token: the best one stands for the text. With
    ``minimum_risk``, texts are ranked by expected chrF.
    """
    by_text: dict[str, list[TextHypothesis]] = {}
    for hypothesis in hypotheses:
        written = TextHypothesis.of(writer, ruled, hypothesis)
        by_text.setdefault(written.text, []).append(written)
    texts = [_merged(group, not ranked_by.endswith("per token")) for group in by_text.values()]
    texts.sort(key=lambda pair: -pair[0].score)  # stable: ties keep the decoder's order
    if minimum_risk:
        texts, ranked_by = by_expected_chrf(texts), "expected chrF"
    empty = Alternative("", 0.0 if not ruled.source.tokens else -math.inf)
    best, segment_posterior = texts[0] if texts else (empty, ())
    if ruled.source.tokens and not texts:
        fallback = "; ".join(filter(None, [fallback, "the decoder found no translation"]))
    return Translation(
        text=best.text,
        log_prob=best.log_prob,
        variants=best.variants,
        derivation=best.derivation,
        source=ruled.source.text,
        mode=mode,
        alternatives=tuple(alternative for alternative, _ in texts[1:nbest]),
        segment_posterior=segment_posterior,
        fallback=fallback,
        notices=tuple(dict.fromkeys(ruled.notices)),
        rank_score=best.rank_score,
        ranked_by=ranked_by,
    )


@dataclass(frozen=True)
class TextHypothesis:
    """A hypothesis and its text."""

    hypothesis: Hypothesis
    text: str
    tokens: Tokens
    derivation: TextDerivation

    @classmethod
    def of(cls, writer: TargetWriter, ruled: RuledText, hypothesis: Hypothesis) -> TextHypothesis:
        """Turn a hypothesis into text; targets of rules are copied as they are written."""
        source, translated = ruled.source, hypothesis.phrases
        parts = [ruled.read(phrase.rule, phrase.tokens) for phrase in translated]
        text, spans = writer.write(parts)
        phrases = tuple(
            TextPhrase.between(
                source.text,
                text,
                units=(phrase.start, phrase.stop),
                source_span=source.characters(phrase.start, phrase.stop),
                target_span=span,
                log_prob=phrase.log_prob,
                rule=None if phrase.rule is None else ruled.matches[phrase.rule].rule,
            )
            for phrase, span in zip(translated, spans, strict=True)
        )
        tokens = tuple(token for own, _ in parts for token in own)
        return cls(hypothesis, text, tokens, TextDerivation(hypothesis.derivation.tree, phrases))


def _merged(group: Sequence[TextHypothesis], add: bool) -> RankedText:
    """Merge hypotheses with the same text; also returns the posterior over phrase counts."""
    hypotheses = [one.hypothesis for one in group]
    best = max(group, key=lambda one: one.hypothesis.best_log_prob)
    log_prob = log_sum([one.log_prob for one in hypotheses])
    scores = [one.score for one in hypotheses]
    rank_score = None
    if any(one.rank_score is not None for one in hypotheses):
        rank_score = log_sum(scores) if add else max(scores)
    variants = tuple(dict.fromkeys(one.tokens for one in group))
    posterior = tuple(best.hypothesis.segment_posterior)
    if log_prob > -math.inf:
        longest = max(len(one.hypothesis.segment_posterior) for one in group)
        posterior = tuple(
            sum(
                math.exp(one.hypothesis.log_prob - log_prob) * share
                for one in group
                for share in one.hypothesis.segment_posterior[n : n + 1]
            )
            for n in range(longest)
        )
    return Alternative(
        best.text, log_prob, variants, best.derivation, rank_score=rank_score
    ), posterior


def log_sum(log_probs: Sequence[float]) -> float:
    """Compute the logarithm of a sum of probabilities."""
    highest = max(log_probs, default=-math.inf)
    if highest == -math.inf:
        return highest
    return highest + math.log(sum(math.exp(log_prob - highest) for log_prob in log_probs))
