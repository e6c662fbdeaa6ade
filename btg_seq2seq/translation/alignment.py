"""Given sentence pairs and their derivations as text."""

from __future__ import annotations

import math
from dataclasses import replace

from btg_seq2seq.derivations.derivation import Derivation
from btg_seq2seq.translation.tokenized_text import TokenizedText
from btg_seq2seq.translation.translation import TextDerivation, TextPhrase, Translation


def aligned(
    source: TokenizedText, target: TokenizedText, derivation: Derivation | None
) -> Translation:
    """Turn a sentence pair and its derivation into text.

    The log-probability is the sum over the phrases. Without a derivation it is minus infinity,
    unless both sides are empty.
    """
    log_prob = -math.inf if source.tokens or target.tokens else 0.0
    given = Translation(target.text, log_prob, (target.tokens,), source=source.text, mode="given")
    if derivation is None:
        return given
    log_probs = derivation.log_probs or (0.0,) * len(derivation.segmentation)
    phrases = tuple(
        TextPhrase.between(
            source.text,
            target.text,
            units=pair.source,
            source_span=source.characters(*pair.source),
            target_span=target.characters(*pair.target),
            log_prob=log_prob,
        )
        for pair, log_prob in zip(derivation.phrases, log_probs, strict=True)
    )
    text = TextDerivation(derivation.tree, phrases)
    return replace(given, log_prob=sum(log_probs), derivation=text)
