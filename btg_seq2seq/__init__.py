"""Hierarchical phrase-based sequence-to-sequence learning with bracketing transduction grammars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btg_seq2seq.lazy import lazy_names

if TYPE_CHECKING:
    from btg_seq2seq.model.config import BTGSeq2SeqConfig
    from btg_seq2seq.model.transducer import BTGSeq2Seq
    from btg_seq2seq.recombination.lexical import recombine
    from btg_seq2seq.translation.biparse import biparse
    from btg_seq2seq.translation.rules.rules import Rule
    from btg_seq2seq.translation.translation import Translation
    from btg_seq2seq.translation.translator import Translator

__version__ = "0.2.0"

__all__ = [
    "BTGSeq2Seq",
    "BTGSeq2SeqConfig",
    "Rule",
    "Translation",
    "Translator",
    "biparse",
    "recombine",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BTGSeq2Seq": "model.transducer",
        "BTGSeq2SeqConfig": "model.config",
        "Rule": "translation.rules.rules",
        "Translation": "translation.translation",
        "Translator": "translation.translator",
        "biparse": "translation.biparse",
        "recombine": "recombination.lexical",
    },
)
