"""Plain parallel text: files, tokenizers, and batches of token ids."""

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
    add_segment_tokens,
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
    "add_segment_tokens",
    "encode_bitext",
    "load_tokenizer",
    "read_lines",
    "restore_byte_fallback",
    "train_tokenizer",
    "word_token_spans",
    "write_lines",
]
