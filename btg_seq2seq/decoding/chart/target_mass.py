"""The probability of a given translation: flat, and summed over all derivations of the grammar.

The sum is over the same trees, phrases and numbers of phrases as in cky decoding with the same
settings. But it has all phrase translations that could be found, not only those that a beam holds.
So it is what cky decoding reports with an unbounded beam, and never less than what it reports with
a finite one; for the latter see ``PreparedTexts.score``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from btg_seq2seq.decoding.chart.kernels import mass_kernels
from btg_seq2seq.decoding.chart.plan import Plan, plan_sentences
from btg_seq2seq.decoding.phrase_translator import (
    Floats,
    Integers,
    PhraseTranslator,
    Tokens,
    UnitTable,
)
from btg_seq2seq.decoding.source_grammar import SourceGrammar
from btg_seq2seq.derivations.derivation import Derivation, PhrasePair
from btg_seq2seq.errors import SentenceError, UserError
from btg_seq2seq.grammar import spans
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.text.units import fenceposts_of

MOST_BYTES = 4e9  # of the chart of a sentence pair


@dataclass(frozen=True)
class TargetMass:
    """Log-probabilities of a given translation, and its best derivation."""

    flat_log_prob: float  # log p(y | x) of the phrase translator
    log_mass: float  # log of the sum over all derivations, whole sentences included
    derivation: Derivation | None  # None if there is none
    log_best: float  # log mass of the best derivation


def target_mass(
    phrases: PhraseTranslator,
    grammar: SourceGrammar,
    targets: Sequence[Sequence[int]],
    settings: DecodingSettings | None = None,
) -> list[TargetMass]:
    """Score a target for each sentence of a phrase translator.

    Targets have no start and end tokens, as in ``Hypothesis.tokens``. Scores are never normalised
    by length.
    """
    if len(phrases.lengths) != len(targets):
        raise ValueError(f"{len(phrases.lengths)} sources but {len(targets)} targets")
    complete = (settings or DecodingSettings()).completed_by(grammar)
    written = [tuple(target) for target in targets]
    flat = phrases.score_sentences(range(len(written)), written)
    short = [row for row, n in enumerate(phrases.lengths) if n <= complete.max_cky_length]
    scores = {row: grammar.split_scores([row])[0] for row in short}
    lengths = [phrases.lengths[row] for row in short]
    found = plan_sentences(lengths, list(scores.values()), [()] * len(short), complete)
    plans = dict(zip(short, found, strict=True))
    results = []
    for row, (target, log_prob) in enumerate(zip(written, flat, strict=True)):
        as_whole = log_prob if phrases.can_write(row, target) else -np.inf
        whole = Derivation.whole(phrases.lengths[row], len(target), log_prob)
        mass = TargetMass(log_prob, as_whole, whole, as_whole)
        if row in plans:
            try:
                mass = _summed(phrases, row, target, mass, plans[row], scores[row])
            except UserError as error:
                raise SentenceError(row, str(error)) from error
        results.append(mass)
    return results


def _summed(
    phrases: PhraseTranslator,
    sentence: int,
    target: Tokens,
    whole: TargetMass,
    plan: Plan,
    scores: Floats,
) -> TargetMass:
    """Add all derivations with several phrases to the mass of the sentence as a whole."""
    length, posts = phrases.lengths[sentence], _posts(target, phrases.unit_table)
    units = len(posts) - 1
    log_masses, bests = np.full((2, plan.segments), -np.inf)
    log_masses[0] = bests[0] = whole.log_mass
    leaves = np.zeros((plan.segments, plan.segments, 3), np.int64)
    # A target that is too long for the phrases of any tree needs no tables.
    is_short = len(target) <= phrases.longest_output(sentence, plan.segments)
    places = np.flatnonzero(plan.kept if is_short else np.zeros_like(plan.kept))
    if len(places) and units > 1:
        _check_size(length, plan.segments, places, units)
    tables = _phrase_tables(phrases, sentence, target, posts, places)
    if len(places) and units > 1:
        mass_kernels.target_masses(
            *(length, plan.segments, scores, tables, places, len(posts)),
            *(log_masses, bests, leaves),
        )
    factors = plan.log_counts - plan.log_partitions
    log_masses, bests = log_masses + factors, bests + factors
    best = int(bests.argmax())
    derivation = whole.derivation
    if bests[best] == -np.inf:
        derivation = None
    elif best > 0:
        derivation = _derivation(length, leaves[best, : best + 1], places, tables, posts)
    log_mass = float(np.logaddexp.reduce(log_masses))
    return TargetMass(whole.flat_log_prob, log_mass, derivation, float(bests[best]))


def _posts(target: Tokens, unit_table: UnitTable | None) -> list[int]:
    """Fenceposts of the target at which phrases may meet, in tokens."""
    table = None if unit_table is None else torch.from_numpy(unit_table)
    return fenceposts_of(table, target)


def _derivation(
    length: int, leaves: Integers, places: Integers, tables: Floats, posts: Sequence[int]
) -> Derivation:
    """The derivation with these leaves: packed source span, begin and end in the target."""
    rows = {place: row for row, place in enumerate(places.tolist())}
    borders = [(start, stop) for start, stop in spans(length).tolist()]
    return Derivation.from_phrases(
        PhrasePair(
            borders[place], (posts[begin], posts[end]), float(tables[rows[place], begin, end])
        )
        for place, begin, end in leaves.tolist()
    )


def _check_size(length: int, segments: int, places: Integers, target: int) -> None:
    """Refuse a chart that would not fit into memory before it is filled."""
    cells = mass_kernels.layout(length, segments, places)[1]
    size = (2 * cells + len(places)) * (target + 1) ** 2 * np.dtype(float).itemsize
    if size > MOST_BYTES:
        raise UserError(
            f"the sum over all derivations of {length} source and {target} target words takes "
            f"{size / 1e9:.1f} GB, more than the {MOST_BYTES / 1e9:.0f} that are allowed: raise "
            "span_threshold, or lower max_segments, max_phrase_length or max_cky_length"
        )


def _phrase_tables(
    phrases: PhraseTranslator,
    sentence: int,
    target: Tokens,
    posts: Sequence[int],
    places: Integers,
) -> Floats:
    """Log-probability that each span becomes units ``a:c``: ``[places, posts, posts]``."""
    tables = np.full((len(places), len(posts), len(posts)), -np.inf)
    borders = spans(phrases.lengths[sentence])[places.tolist()].tolist()
    rows = [(row, begin) for row in range(len(places)) for begin in range(len(posts) - 1)]
    suffixes = [target[post:] for post in posts[:-1]]
    ends = np.array(posts)
    scores = phrases.score_prefixes(
        [(sentence, *borders[row]) for row, _ in rows], [suffixes[begin] for _, begin in rows]
    )
    for (row, begin), prefixes in zip(rows, scores, strict=True):
        lasts = ends[begin + 1 :] - posts[begin] - 1  # token that ends each stretch of units
        lasts = lasts[lasts < len(prefixes)]
        tables[row, begin, begin + 1 : begin + 1 + len(lasts)] = prefixes[lasts]
    return tables
