"""Features of translations: the one place where they are computed.

A translation of a phrase, or of a whole sentence, has a row with one column per feature of
``RankingWeights``. ``ranking`` combines them. The target of a rule has probability 1 in every
respect, so its probabilities and lexical scores are neutral: only its words and its phrase count.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from btg_seq2seq.decoding.phrase_translator import (
    Floats,
    Integers,
    KBest,
    PhraseTranslator,
    SentenceSpan,
    UnitTable,
)
from btg_seq2seq.derivations.lexical.saved_tables import lexical_scores
from btg_seq2seq.errors import UserError
from btg_seq2seq.model.tuned.ranking_weights import FEATURES, LEXICAL
from btg_seq2seq.text.units import begins_unit

FORWARD, GRAMMAR, REVERSE, LEXICAL_FORWARD, LEXICAL_REVERSE, WORD, PHRASE = (
    FEATURES.index(name)
    for name in (
        *("forward", "grammar", "reverse", "lexical", "reverse_lexical", "word", "phrase"),
    )
)


def translation_features(
    phrases: PhraseTranslator,
    spans: Sequence[SentenceSpan],
    found: KBest,
    used: Collection[str],
) -> Floats:
    """Compute the features of the strings found for some spans, ``[strings, features]``.

    Those that take time are computed only if they are ``used``, and 0 otherwise. Of the grammar
    nothing is known here.
    """
    table = np.zeros((len(found.lengths), len(FEATURES)))
    table[:, FORWARD] = found.log_probs
    table[:, WORD] = unit_counts(found.tokens, found.lengths, phrases.unit_table)
    table[:, PHRASE] = 1.0
    if not len(table):
        return table
    if "reverse" in used:
        table[:, REVERSE] = phrases.reverse_scores(spans, found)
    if LEXICAL & {*used}:
        if phrases.tables is None:
            raise UserError(
                "the weights lexical and reverse_lexical need word-translation tables, and the "
                "model has none: attach them with btg tune --train-source and --train-target"
            )
        owners = np.repeat(np.arange(len(spans)), found.counts)
        targets = found.tokens, found.lengths
        scores = lexical_scores(phrases.tables, phrases.source_tokens(spans), targets, owners)
        table[:, [LEXICAL_FORWARD, LEXICAL_REVERSE]] = scores
    return table


def rule_features(log_prob: float, tokens: Sequence[int], unit_table: UnitTable | None) -> Floats:
    """Return the features of the target of a rule, ``[1, features]``."""
    row = np.zeros((1, len(FEATURES)))
    row[0, FORWARD], row[0, PHRASE] = log_prob, 1.0
    own = np.array(tokens, np.int64), np.array([len(tokens)])
    row[0, WORD] = unit_counts(*own, unit_table)[0]
    return row


def unit_counts(tokens: Integers, lengths: Integers, unit_table: UnitTable | None) -> Integers:
    """Count the units of strings, ``[strings]``, which stand one behind the other in ``tokens``."""
    if unit_table is None or not len(tokens):
        return lengths
    entries = unit_entries(tokens, unit_table)
    begins = np.ones(len(tokens), bool)
    begins[1:] = begins_unit(entries[:-1], entries[1:])
    ends = np.cumsum(lengths)
    firsts = ends - lengths
    begins[firsts[lengths > 0]] = True  # whatever stands before them
    counts = np.concatenate([np.zeros(1, np.int64), np.cumsum(begins)])
    return np.asarray(counts[ends] - counts[firsts], np.int64)


def unit_entries(tokens: Integers, unit_table: UnitTable) -> UnitTable:
    """Entries of tokens; those that are in no vocabulary begin and end a unit."""
    known = tokens < len(unit_table)
    return np.where(known, unit_table[np.where(known, tokens, 0)], 0).astype(np.uint8)
