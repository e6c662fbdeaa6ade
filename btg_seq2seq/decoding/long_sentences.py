"""Rules in a sentence that is too long for a chart: its pieces are translated in source order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from btg_seq2seq.decoding.constraints import RuleSpan
from btg_seq2seq.decoding.records import Hypothesis, PhraseRecord, Tokens, hypothesis
from btg_seq2seq.grammar import Span


def cut_around(length: int, limit: int, forced_spans: Sequence[RuleSpan]) -> list[Span]:
    """The forced spans, and what is between them in even pieces of at most ``limit`` tokens."""
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


def in_source_order(choices: Sequence[Sequence[PhraseRecord]], beam_size: int) -> list[Hypothesis]:
    """The best strings, best first, of phrases with several translations each.

    Strings that come about in several ways have the sum of their probabilities.
    """
    beam: dict[Tokens, tuple[float, float, list[PhraseRecord]]] = {(): (0.0, 0.0, [])}
    for phrase in choices:
        longer: dict[Tokens, tuple[float, float, list[PhraseRecord]]] = {}
        for tokens, (mass, best, phrases) in beam.items():
            for choice in phrase:
                own = mass + choice.log_prob, best + choice.log_prob, [*phrases, choice]
                string = tokens + choice.tokens
                if string in longer:
                    other = longer[string]
                    total = float(np.logaddexp(own[0], other[0]))
                    own = total, *(own if own[1] > other[1] else other)[1:]
                longer[string] = own
        ranked = sorted(longer.items(), key=lambda item: (-item[1][0], item[0]))
        beam = dict(ranked[:beam_size])
    return [hypothesis(mass, phrases, best) for mass, best, phrases in beam.values()]
