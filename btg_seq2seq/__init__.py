"""Hierarchical phrase-based sequence-to-sequence learning with bracketing transduction grammars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btg_seq2seq.lazy import lazy_names

if TYPE_CHECKING:
    from btg_seq2seq.decoding.rules import Rule
    from btg_seq2seq.decoding.translation import Translation
    from btg_seq2seq.decoding.translator import Translator
    from btg_seq2seq.model.config import BTGSeq2SeqConfig
    from btg_seq2seq.model.transducer import BTGSeq2Seq

__version__ = "0.1.0"

__all__ = ["BTGSeq2Seq", "BTGSeq2SeqConfig", "Rule", "Translation", "Translator"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BTGSeq2Seq": "model.transducer",
        "BTGSeq2SeqConfig": "model.config",
        "Rule": "decoding.rules",
        "Translation": "decoding.translation",
        "Translator": "decoding.translator",
    },
)
