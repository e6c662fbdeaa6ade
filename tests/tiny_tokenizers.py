"""Tokenizers of multilingual families with a handful of pieces."""

from transformers import MBart50Tokenizer, MBartTokenizer, NllbTokenizer

from btg_seq2seq.text import add_segment_tokens

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = ["▁", "a", "b", "▁a", "▁b"]


def multilingual(name):
    vocabulary = [(token, 0.0) for token in SPECIAL] + [(piece, -1.0) for piece in PIECES]
    if name == "nllb":
        tokenizer = NllbTokenizer(
            vocab={token: row for row, (token, _) in enumerate(vocabulary)},
            merges=[("▁", "a"), ("▁", "b")],
            src_lang="eng_Latn",
            tgt_lang="deu_Latn",
        )
    else:
        kind = {"mbart": MBartTokenizer, "mbart-50": MBart50Tokenizer}[name]
        tokenizer = kind(vocab=vocabulary, src_lang="en_XX", tgt_lang="de_DE")
    add_segment_tokens(tokenizer)
    return tokenizer
