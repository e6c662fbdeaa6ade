"""Hierarchical phrase-based sequence-to-sequence learning with bracketing transduction grammars."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from btg_seq2seq.decoding.rules import Rule
    from btg_seq2seq.decoding.translation import Translation
    from btg_seq2seq.decoding.translator import Translator
    from btg_seq2seq.model.config import BTGSeq2SeqConfig
    from btg_seq2seq.model.transducer import BTGSeq2Seq

__version__ = "0.1.0"

__all__ = ["BTGSeq2Seq", "BTGSeq2SeqConfig", "Rule", "Translation", "Translator"]

# Imported when they are asked for: the grammar alone needs no transformers.
_MODULES = {
    "BTGSeq2Seq": "model.transducer",
    "BTGSeq2SeqConfig": "model.config",
    "Rule": "decoding.rules",
    "Translation": "decoding.translation",
    "Translator": "decoding.translator",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
