"""How probable a given translation is: flat, and summed over all derivations of the grammar.

The sum is over the same trees, phrases and numbers of phrases as in cky decoding with the same
settings, but over all translations that beam search could find (the limits of length hold), not
only those that a beam holds. So it is what cky decoding reports with an unbounded beam, and never
less than what it reports with a finite one. ``PreparedTexts.score`` has the latter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from btg_seq2seq.decoding.chart.candidates import score_phrases
from btg_seq2seq.decoding.chart.charts import Floats, Integers
from btg_seq2seq.decoding.chart.kernels import mass_kernels
from btg_seq2seq.decoding.chart.plan import Plan, plan_sentences, prior_scores
from btg_seq2seq.decoding.encoding import (
    Source,
    check_sources,
    encode_sentences,
    padded_states,
    phrase_states,
    to_device,
)
from btg_seq2seq.decoding.hypotheses import DerivationRecord, PhraseRecord, Tokens, hypothesis
from btg_seq2seq.decoding.search.beams import Level, length_batches
from btg_seq2seq.errors import SentenceError, UserError
from btg_seq2seq.grammar import spans
from btg_seq2seq.model.decoding_settings import DecodingSettings
from btg_seq2seq.model.modes import evaluating
from btg_seq2seq.model.transducer import BTGSeq2Seq

MOST_BYTES = 4e9  # that the chart of a pair of sentences may take


@dataclass(frozen=True)
class TargetMass:
    """Log-probabilities of a translation that was given, and its best derivation."""

    flat_log_prob: float  # log p(y | x) of the seq2seq model
    log_mass: float  # log of the sum over derivations, whole sentences among them
    derivation: DerivationRecord | None  # nothing where there is none
    log_best: float  # log mass of the best derivation


def target_mass(
    model: BTGSeq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    settings: DecodingSettings | None = None,
) -> list[TargetMass]:
    """Score each target given its source.

    ``sources`` are token ids with the frame that the tokenizer gives them, ``targets`` without, as
    in ``Hypothesis.tokens``. Lengths are never normalised here.
    """
    settings = settings or model.decoding
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
    check_sources(model, sources)
    results: dict[int, TargetMass] = {}
    with evaluating(model):
        lengths = [max(map(len, pair)) for pair in zip(sources, targets, strict=True)]
        for rows in length_batches(lengths, settings):
            encoded = encode_sentences(model, [sources[row] for row in rows])
            written = [tuple(targets[row]) for row in rows]
            flat = _flat_log_probs(model, encoded, written)
            for row, source, target, log_prob in zip(rows, encoded, written, flat, strict=True):
                try:
                    results[row] = _score(model, source, target, log_prob, settings)
                except UserError as error:
                    raise SentenceError(row, str(error)) from error
    return [results[row] for row in range(len(sources))]


def _flat_log_probs(
    model: BTGSeq2Seq, sources: Sequence[Source], targets: Sequence[Tokens]
) -> list[float]:
    states, mask = padded_states([source.states for source in sources])
    backbone = model.backbone
    ended = [to_device(model, (*target, backbone.sentence_end)) for target in targets]
    labels = torch.nn.utils.rnn.pad_sequence(ended, batch_first=True, padding_value=-100)
    decoded = backbone.decode_labels(labels, states, mask)
    log_probs: list[float] = backbone.token_log_probs(decoded, labels).double().sum(1).tolist()
    return log_probs


def _score(
    model: BTGSeq2Seq, source: Source, target: Tokens, flat: float, settings: DecodingSettings
) -> TargetMass:
    level, longest = Level.sentence(model.backbone), settings.longest_output(source.length)
    is_reachable = not {*target} & {*level.banned, level.end}
    is_reachable &= len(target) <= level.longest(model.backbone, longest)
    as_whole = flat if is_reachable else -np.inf
    whole = [PhraseRecord(0, source.length, target, flat, None)]
    if source.length > settings.max_cky_length:
        return TargetMass(flat, as_whole, hypothesis(flat, whole).derivation, as_whole)
    (scores,) = prior_scores(model, [source])
    (plan,) = plan_sentences(model, [source.length], [scores], [()], settings)
    log_masses, bests = np.full((2, plan.segments), -np.inf)
    log_masses[0] = bests[0] = as_whole
    records = np.zeros((plan.segments, plan.segments, 3), np.int64)
    # The phrases of no tree reach over a target that is longer: there is nothing to fill in.
    longest += (plan.segments - 1) * (settings.max_output_extra + 1)
    places = np.flatnonzero(plan.kept if len(target) <= longest else np.zeros_like(plan.kept))
    if len(places) and len(target) > 1:
        _check_size(source.length, plan.segments, places, len(target))
    tables = _phrase_tables(model, source, target, places.tolist(), settings)
    if len(places) and len(target) > 1:
        mass_kernels.target_masses(
            *(source.length, plan.segments, scores, tables, places, len(target) + 1),
            *(log_masses, bests, records),
        )
    log_masses, bests = log_masses + _factors(plan), bests + _factors(plan)
    best = int(bests.argmax())
    phrases = whole
    if best > 0:
        leaf_rows = {place: row for row, place in enumerate(places.tolist())}
        borders = spans(source.length).tolist()
        phrases = []
        for place, a, c in records[best, : best + 1].tolist():
            start, stop = borders[place]
            log_prob = float(tables[leaf_rows[place], a, c])
            phrases.append(PhraseRecord(start, stop, target[a:c], log_prob, None))
    found = None if bests[best] == -np.inf else hypothesis(0.0, phrases).derivation
    log_mass = float(np.logaddexp.reduce(log_masses))
    return TargetMass(flat, log_mass, found, float(bests[best]))


def _check_size(length: int, segments: int, places: Integers, target: int) -> None:
    """Refuse what would not fit into memory, before it is filled."""
    cells = mass_kernels.layout(length, segments, places)[1]
    size = (2 * cells + len(places)) * (target + 1) ** 2 * np.dtype(float).itemsize
    if size > MOST_BYTES:
        raise UserError(
            f"the sum over all derivations of {length} source and {target} target tokens takes "
            f"{size / 1e9:.1f} GB, more than the {MOST_BYTES / 1e9:.0f} that are allowed: raise "
            "span_threshold, or lower max_segments, max_phrase_length or max_cky_length"
        )


def _factors(plan: Plan) -> Floats:
    return plan.log_counts - plan.log_partitions


def _phrase_tables(
    model: BTGSeq2Seq,
    source: Source,
    target: Tokens,
    places: Sequence[int],
    settings: DecodingSettings,
) -> Floats:
    """Log-probability that each span becomes ``target[a:c]``: ``[places, posts, posts]``."""
    size = len(target)
    tables = np.full((len(places), size + 1, size + 1), -np.inf)
    level = Level.phrase(model.backbone)
    allowed = [token not in {*level.banned, level.end} for token in target]
    runs = [0] * (size + 1)  # how many allowed tokens follow each fencepost
    for a in range(size - 1, -1, -1):
        runs[a] = 1 + runs[a + 1] if allowed[a] else 0
    borders = spans(source.length)[list(places)].tolist()
    rows = [  # span, first target token, longest phrase from there
        (row, a, min(runs[a], level.longest(model.backbone, settings.longest_output(k - i))))
        for row, (i, k) in enumerate(borders)
        for a in range(size)
        if runs[a]
    ]
    for batch in length_batches([longest for *_, longest in rows], settings):
        chosen = [rows[index] for index in batch]
        used = sorted({row for row, *_ in chosen})
        states, mask = phrase_states(model, [(source, *borders[row]) for row in used])
        which = torch.tensor([used.index(row) for row, *_ in chosen], device=states.device)
        parts = [to_device(model, target[a : a + longest]) for _, a, longest in chosen]
        scores = score_phrases(model, states[which], mask[which], parts).cpu().numpy()
        for (row, a, longest), own in zip(chosen, scores, strict=True):
            tables[row, a, a + 1 : a + longest + 1] = own[:longest]
    return tables
