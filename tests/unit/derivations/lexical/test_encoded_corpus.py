"""Encoded sentences in units: frames are left out, and words are whole."""

from itertools import pairwise

from btg_seq2seq.derivations.lexical.encoded_corpus import unit_corpus
from btg_seq2seq.text import Bitext, encode_bitext, train_tokenizer
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.text.units import unit_table

SOURCE, TARGET = ["unbelievable words, here"], ["unglaubliche Wörter hier"]


def test_tokens_without_frame_and_fenceposts_between_words():
    tokenizer = train_tokenizer("bpe", SOURCE + TARGET, 300)
    data = encode_bitext(Bitext(SOURCE, TARGET), tokenizer)
    table = unit_table(tokenizer)
    corpus = unit_corpus(data, Frames.of(tokenizer), table)
    for side, texts in ((corpus.source, SOURCE), (corpus.target, TARGET)):
        plain = tokenizer(texts, add_special_tokens=False)["input_ids"]
        assert side.tokens.tolist() == plain[0]
        posts = side.fenceposts(0).tolist()
        words = [tokenizer.decode(plain[0][start:stop]).strip() for start, stop in pairwise(posts)]
        assert " ".join(words).replace(" ,", ",") == texts[0]
    in_tokens = unit_corpus(data, Frames.of(tokenizer), None)
    assert in_tokens.source.units.tolist() == [len(corpus.source.tokens)]
