"""Probabilities of given translations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from btg_seq2seq.decoding.chart.target_mass import TargetMass, target_mass
from btg_seq2seq.decoding.hypotheses import Hypothesis
from btg_seq2seq.errors import SentenceError
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.translation.rules.apply import RuledText
from btg_seq2seq.translation.target_text import TargetWriter
from btg_seq2seq.translation.text_hypotheses import log_sum, to_translation
from btg_seq2seq.translation.tokenized_text import TokenizedText
from btg_seq2seq.translation.translation import TextDerivation

if TYPE_CHECKING:
    from btg_seq2seq.translation.translator import Translator


@dataclass(frozen=True)
class Score:
    """Log-probabilities of a given translation."""

    flat_log_prob: float
    """``log p(y | x)`` of the seq2seq model, as flat translation reports it."""

    cky_log_prob: float
    """Sum over all derivations of the grammar within the limits of decoding: spans below
    ``span_threshold`` are no phrases. Cky translation reports the part of this sum that its beams
    find."""

    derivation: TextDerivation | None
    """The most probable derivation."""


def score_strings(
    translator: Translator,
    sources: Sequence[TokenizedText],
    variants: Sequence[Sequence[tuple[int, ...]]],
    settings: DecodingSettings,
) -> list[Score]:
    """Score translations; each has one or more token strings, which are added up."""
    rows = [
        (rank, tokens)
        for rank, (source, strings) in enumerate(zip(sources, variants, strict=True))
        for tokens in strings
        if source.tokens
    ]
    phrases = translator.phrases([sources[rank] for rank, _ in rows], settings)
    try:
        masses = target_mass(phrases, phrases.grammar, [tokens for _, tokens in rows], settings)
    except SentenceError as error:
        raise SentenceError(rows[error.sentence][0], error.reason) from error
    by_rank: dict[int, list[tuple[tuple[int, ...], TargetMass]]] = {}
    for (rank, tokens), mass in zip(rows, masses, strict=True):
        by_rank.setdefault(rank, []).append((tokens, mass))
    return [
        _score(translator.writer, source, by_rank[rank])
        if rank in by_rank
        else _without_tokens(source, variants[rank])
        for rank, source in enumerate(sources)
    ]


def _score(
    writer: TargetWriter, source: TokenizedText, found: list[tuple[tuple[int, ...], TargetMass]]
) -> Score:
    hypotheses = [
        Hypothesis(tokens, mass.log_mass, mass.derivation, mass.log_best)
        for tokens, mass in found
        if mass.derivation is not None
    ]
    best = to_translation(writer, RuledText(source), hypotheses, 1, mode="given")
    flat = log_sum([mass.flat_log_prob for _, mass in found])
    return Score(flat, log_sum([mass.log_mass for _, mass in found]), best.derivation)


def _without_tokens(source: TokenizedText, strings: Sequence[tuple[int, ...]]) -> Score:
    """Score a pair that was not decoded: only an empty source has an empty translation."""
    log_prob = -math.inf if source.tokens or any(strings) else 0.0
    return Score(log_prob, log_prob, None)
