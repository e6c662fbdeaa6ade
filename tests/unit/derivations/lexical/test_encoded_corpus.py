"""Encoded sentences in units: frames are left out, and words are whole."""

from itertools import pairwise

import numpy as np
import pytest

from btg_seq2seq.derivations.lexical.encoded_corpus import unit_corpus
from btg_seq2seq.text import Bitext, encode_bitext, train_tokenizer
from btg_seq2seq.text.units import unit_table

SOURCE, TARGET = ["unbelievable words, here"], ["unglaubliche Wörter hier"]


def test_tokens_without_frame_and_fenceposts_between_words():
    tokenizer = train_tokenizer("bpe", SOURCE + TARGET, 300)
    data = encode_bitext(Bitext(SOURCE, TARGET), tokenizer)
    table = unit_table(tokenizer)
    corpus = unit_corpus(data, tokenizer, table, in_tokens=True)
    for side, texts in ((corpus.source, SOURCE), (corpus.target, TARGET)):
        plain = tokenizer(texts, add_special_tokens=False)["input_ids"]
        assert side.tokens.tolist() == plain[0]
        posts = side.fenceposts(0).tolist()
        words = [tokenizer.decode(plain[0][start:stop]).strip() for start, stop in pairwise(posts)]
        assert " ".join(words).replace(" ,", ",") == texts[0]
    in_tokens = unit_corpus(data, tokenizer, None)
    assert in_tokens.source.units.tolist() == [len(corpus.source.tokens)]


def test_words_are_translated_as_a_whole():
    """Their tokens are of no interest to the tables."""
    texts = ["unbelievable words believe words", "words"]
    tokenizer = train_tokenizer("bpe", [*texts, *SOURCE, *TARGET], 300)
    data = encode_bitext(Bitext(texts, texts), tokenizer)
    table = unit_table(tokenizer)
    corpus, in_tokens = (
        unit_corpus(data, tokenizer, table, in_tokens=one) for one in (False, True)
    )
    for side, split in ((corpus.source, in_tokens.source), (corpus.target, in_tokens.target)):
        assert side.tokens.tolist() == [0, 1, 2, 1, 1]
        assert side.units.tolist() == split.units.tolist() == [4, 1]
        assert side.fenceposts(0).tolist() == [0, 1, 2, 3, 4]
        assert len(split.tokens) > 5
    without = unit_corpus(data, tokenizer, None)
    assert without.source.units.tolist() == np.diff(in_tokens.source.ends).tolist()


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram"])
def test_full_stops_are_known(kind):
    source = ["he came .", "did he come ?!", "he came", "x", "a ."]
    target = ["er kam .", "他来了 。", "3 %", "。", "ab"]  # a character that is cut into bytes
    tokenizer = train_tokenizer(kind, ["he came . ab %"], None if kind == "word" else 300)
    data = encode_bitext(Bitext(source, target), tokenizer)
    tables = [unit_table(tokenizer)] if kind == "word" else [unit_table(tokenizer), None]
    for table in tables:
        corpus = unit_corpus(data, tokenizer, table)
        assert corpus.source.stops.tolist() == [True, kind != "word", False, False, True]
        is_readable = kind != "word" and table is not None
        assert corpus.target.stops.tolist() == [True, is_readable, True, is_readable, False]
