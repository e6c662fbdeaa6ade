"""From what the decoder found, in tokens, to translations as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from btg_seq2seq.decoding.assignment import Assignment
from btg_seq2seq.decoding.records import DerivationRecord, Hypothesis, PhraseRecord
from btg_seq2seq.decoding.target_text import TargetWriter
from btg_seq2seq.decoding.translation import Alternative, Derivation, Mode, Phrase, Translation
from btg_seq2seq.grammar import Leaf


def to_translation(
    writer: TargetWriter,
    assignment: Assignment,
    hypotheses: Sequence[Hypothesis],
    nbest: int,
    *,
    mode: Mode,
    segment_posterior: Sequence[float] = (),
    fallback: str | None = None,
    are_probabilities: bool = True,
) -> Translation:
    """The best texts of a sentence; token strings that read the same are added up.

    Scores that are no probabilities are not added: the best one stands for the text.
    """
    by_text: dict[str, list[Alternative]] = {}
    for hypothesis in hypotheses:
        alternative = _alternative(writer, assignment, hypothesis)
        by_text.setdefault(alternative.text, []).append(alternative)
    texts = [_merged(group, are_probabilities) for group in by_text.values()]
    texts.sort(key=lambda one: -one.log_prob)  # stable: ties stay as the decoder had them
    empty = Alternative("", 0.0 if not assignment.source.tokens else -math.inf)
    best = texts[0] if texts else empty
    if assignment.source.tokens and not texts:
        fallback = fallback or "the decoder found no translation"
    return Translation(
        text=best.text,
        log_prob=best.log_prob,
        variants=best.variants,
        derivation=best.derivation,
        source=assignment.source.text,
        mode=mode,
        alternatives=tuple(texts[1:nbest]),
        segment_posterior=tuple(segment_posterior),
        fallback=fallback,
        notices=tuple(assignment.notices),
    )


def _alternative(
    writer: TargetWriter, assignment: Assignment, hypothesis: Hypothesis
) -> Alternative:
    source, record = assignment.source, hypothesis.derivation
    if record is None:  # the sentence as a whole
        whole = PhraseRecord(0, len(source.tokens), hypothesis.tokens, hypothesis.log_prob, None)
        record = DerivationRecord(Leaf(0, len(source.tokens)), [whole])
    parts = [
        (
            phrase.tokens,
            None if phrase.rule is None else assignment.targets[phrase.rule, phrase.tokens],
        )
        for phrase in record.phrases
    ]
    text, spans = writer.write(parts)
    phrases = tuple(
        Phrase.between(
            source.text,
            text,
            tokens=(phrase.start, phrase.stop),
            source_span=source.characters(phrase.start, phrase.stop),
            target_span=span,
            log_prob=phrase.log_prob,
            rule=None if phrase.rule is None else assignment.matches[phrase.rule].rule,
        )
        for phrase, span in zip(record.phrases, spans, strict=True)
    )
    derivation = Derivation(record.tree, phrases)
    return Alternative(text, hypothesis.log_prob, (hypothesis.tokens,), derivation)


def _merged(group: Sequence[Alternative], add: bool) -> Alternative:
    """One alternative for those with the same text."""
    best = max(group, key=lambda one: one.log_prob)
    variants = tuple(tokens for one in group for tokens in one.variants)
    log_prob = log_sum([one.log_prob for one in group]) if add else best.log_prob
    return Alternative(best.text, log_prob, variants, best.derivation)


def log_sum(log_probs: Sequence[float]) -> float:
    """Logarithm of a sum of probabilities."""
    highest = max(log_probs, default=-math.inf)
    if highest == -math.inf:
        return highest
    return highest + math.log(sum(math.exp(log_prob - highest) for log_prob in log_probs))
