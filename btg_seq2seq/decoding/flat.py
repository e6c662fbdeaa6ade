"""Flat decoding (BTG-1): the phrase translator alone translates whole sentences."""

from __future__ import annotations

from btg_seq2seq.decoding.hypotheses import Hypothesis
from btg_seq2seq.decoding.phrase_translator import PhraseTranslator


def decode_flat(phrases: PhraseTranslator, nbest: int = 1) -> list[list[Hypothesis]]:
    """Find the best translations of each sentence with ``log p(y | x)``, best first."""
    found = phrases.translate_sentences(range(len(phrases.lengths)))
    return [
        [Hypothesis.whole(length, tokens, log_prob) for tokens, log_prob in strings[:nbest]]
        for length, strings in zip(phrases.lengths, found.lists(), strict=True)
    ]
