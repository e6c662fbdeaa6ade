"""Frames: the tokens that a tokenizer puts around a sentence.

Families of models frame sentences differently, with end tokens and language codes, and differently
for the two sides. The tokenizer is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from btg_seq2seq.errors import UserError

PROBE = "a"  # any text that a tokenizer does not delete


@dataclass(frozen=True)
class Frame:
    """Tokens that a tokenizer puts before and behind a sentence."""

    prefix: list[int]
    suffix: list[int]

    def __len__(self) -> int:
        return len(self.prefix) + len(self.suffix)


@dataclass(frozen=True)
class Frames:
    """The frames of the encoder's input, of the same with the sides exchanged, and of labels."""

    source: Frame
    reverse: Frame
    labels: Frame

    @classmethod
    def of(cls, tokenizer: Any) -> Frames:
        """Ask a tokenizer, in both directions if it has languages."""
        source, labels = _frame(tokenizer, "text"), _frame(tokenizer, "text_target")
        if getattr(tokenizer, "tgt_lang", None) is None:
            return cls(source, source, labels)
        languages = tokenizer.src_lang, tokenizer.tgt_lang
        tokenizer.tgt_lang, tokenizer.src_lang = languages
        reverse = _frame(tokenizer, "text")
        tokenizer.src_lang, tokenizer.tgt_lang = languages
        return cls(source, reverse, labels)

    @property
    def settings(self) -> dict[str, list[int]]:
        """As fields of ``BTGSeq2SeqConfig``."""
        return {
            "prefix": self.source.prefix,
            "suffix": self.source.suffix,
            "reverse_prefix": self.reverse.prefix,
            "reverse_suffix": self.reverse.suffix,
        }


def _frame(tokenizer: Any, side: str) -> Frame:
    framed = tokenizer(**{side: PROBE})["input_ids"]
    plain = tokenizer(**{side: PROBE}, add_special_tokens=False)["input_ids"]
    for start in range(len(framed) - len(plain) + 1):
        stop = start + len(plain)
        if framed[start:stop] == plain:
            return Frame(framed[:start], framed[stop:])
    raise UserError(
        f"this tokenizer makes {framed} of {PROBE!r} with special tokens and {plain} without: "
        "what it puts around a sentence is unclear"
    )
