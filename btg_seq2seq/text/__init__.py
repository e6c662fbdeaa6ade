"""Plain parallel text: files, tokenizers, and batches of token ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from btg_seq2seq.lazy import lazy_names

if TYPE_CHECKING:
    from btg_seq2seq.text.batches import (
        BucketSampler,
        Collator,
        EncodedBitext,
        Example,
        encode_bitext,
    )
    from btg_seq2seq.text.bitext import Bitext, read_lines, write_lines
    from btg_seq2seq.text.tokenizers import (
        SEGMENT_END,
        SEGMENT_START,
        TextSide,
        add_segment_tokens,
        encode_side,
        load_tokenizer,
        restore_byte_fallback,
        train_tokenizer,
        word_token_spans,
    )

__all__ = [
    "SEGMENT_END",
    "SEGMENT_START",
    "Bitext",
    "BucketSampler",
    "Collator",
    "EncodedBitext",
    "Example",
    "TextSide",
    "add_segment_tokens",
    "encode_bitext",
    "encode_side",
    "load_tokenizer",
    "read_lines",
    "restore_byte_fallback",
    "train_tokenizer",
    "word_token_spans",
    "write_lines",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Bitext": "bitext",
        "BucketSampler": "batches",
        "Collator": "batches",
        "EncodedBitext": "batches",
        "Example": "batches",
        "SEGMENT_END": "tokenizers",
        "SEGMENT_START": "tokenizers",
        "TextSide": "tokenizers",
        "add_segment_tokens": "tokenizers",
        "encode_bitext": "batches",
        "encode_side": "tokenizers",
        "load_tokenizer": "tokenizers",
        "read_lines": "bitext",
        "restore_byte_fallback": "tokenizers",
        "train_tokenizer": "tokenizers",
        "word_token_spans": "tokenizers",
        "write_lines": "bitext",
    },
)
