"""Rules in a sentence that is too long for a chart: pieces are translated in source order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.hypotheses import Hypothesis, TranslatedPhrase
from btg_seq2seq.decoding.phrase_translator import UnitTable
from btg_seq2seq.grammar import Span
from btg_seq2seq.text.units import begins_unit


def cut_around(length: int, limit: int, forced_spans: Sequence[RuleSpan]) -> list[Span]:
    """Cut a sentence at the forced spans, and the rest into even pieces of ``limit`` units."""
    pieces: list[Span] = []
    position = 0
    ends = [(span.start, span.stop) for span in forced_spans]
    for start, stop in (*ends, (length, length)):
        count = -(-(start - position) // limit)
        posts = [position + (start - position) * part // max(count, 1) for part in range(count + 1)]
        pieces += pairwise(posts)
        if start < stop:
            pieces.append((start, stop))
        position = stop
    return pieces


@dataclass(frozen=True)
class _Prefix:
    """A translation of the first phrases: the sum over its derivations, and the best of them.

    ``string`` is a unique number of the string. The best derivation is linked from last to first.
    Masses are those that strings are ranked by; ``log_prob`` is the log of summed probabilities.
    """

    string: int
    log_mass: float
    log_best: float
    log_prob: float
    last: TranslatedPhrase | None = None
    before: _Prefix | None = None

    @property
    def phrases(self) -> list[TranslatedPhrase]:
        """Phrases of the best derivation."""
        phrases = []
        prefix: _Prefix | None = self
        while prefix is not None and prefix.last is not None:
            phrases.append(prefix.last)
            prefix = prefix.before
        return phrases[::-1]


def in_source_order(
    choices: Sequence[Sequence[TranslatedPhrase]],
    beam_size: int,
    unit_table: UnitTable | None = None,
    scores: Sequence[Sequence[float]] | None = None,
) -> list[Hypothesis]:
    """Find the best strings, best first, of phrases with several translations each.

    The probabilities of all derivations of a string are added up. Time is linear in the number of
    phrases, since no string is ever copied. With a ``unit_table``, phrases meet between units of
    the target if any can. ``scores``, one for each translation, replace probabilities in ranking.
    """
    # The number of a string, by that of the string without its last token, and that token.
    numbers: dict[tuple[int, int], int] = {}
    beam = [_Prefix(0, 0.0, 0.0, 0.0)]
    for place, phrase in enumerate(choices):
        given = [choice.log_prob for choice in phrase] if scores is None else scores[place]
        scored = list(zip(phrase, given, strict=True))
        pairs = [(prefix, *choice) for prefix in beam for choice in scored]
        if unit_table is not None:
            pairs = [pair for pair in pairs if _may_meet(*pair[:2], unit_table)] or pairs
        longer: dict[int, _Prefix] = {}
        for prefix, choice, score in pairs:
            string = prefix.string
            for token in choice.tokens:
                string = numbers.setdefault((string, token), len(numbers) + 1)
            mass, best = prefix.log_mass + score, prefix.log_best + score
            log_prob = prefix.log_prob + choice.log_prob
            own = _Prefix(string, mass, best, log_prob, choice, prefix)
            if string in longer:
                other = longer[string]
                better = own if own.log_best > other.log_best else other
                own = replace(
                    better,
                    log_mass=float(np.logaddexp(mass, other.log_mass)),
                    log_prob=float(np.logaddexp(log_prob, other.log_prob)),
                )
            longer[string] = own
        beam = sorted(longer.values(), key=lambda prefix: -prefix.log_mass)[:beam_size]
    return [
        Hypothesis.from_phrases(
            prefix.phrases,
            prefix.log_prob,
            prefix.log_best,
            rank_score=None if scores is None else prefix.log_mass,
        )
        for prefix in beam
    ]


def _may_meet(prefix: _Prefix, choice: TranslatedPhrase, unit_table: UnitTable) -> bool:
    """Return whether a phrase begins a unit behind those before it."""
    if prefix.last is None or not prefix.last.tokens or not choice.tokens:
        return True
    edge = prefix.last.tokens[-1], choice.tokens[0]
    # Tokens that are in no vocabulary stand for targets of rules.
    return max(edge) >= len(unit_table) or bool(begins_unit(*(unit_table[token] for token in edge)))
