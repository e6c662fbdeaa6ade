"""Characters and tokens of a source: spans tile it, and rules end between tokens."""

from itertools import pairwise

import pytest
from byte_level import byte_level_tokenizer
from hypothesis import given
from hypothesis import strategies as st
from transformers import ByT5Tokenizer

from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.tokenized_text import TextReader

CORPUS = ["the dog saw the dog, in the garden.", "the garden, the dog. it saw it, (the dog)"] * 5
TEXTS = [
    "the dog, it saw",
    " the  garden.",
    "(the dog)",
    "ᎠᏂᏴᏫ the 在花园里",
    "a\x00b \x1c c",
    "e\u0301",
]


@pytest.fixture(scope="module")
def readers():
    sizes = {"word": None, "bpe": 330, "unigram": 330}
    trained = {kind: train_tokenizer(kind, CORPUS, size) for kind, size in sizes.items()}
    trained["byte-level"] = byte_level_tokenizer(CORPUS)
    return {kind: TextReader(tokenizer) for kind, tokenizer in trained.items()}


def pieces(reader, source):
    return reader.tokenizer.convert_ids_to_tokens(list(source.tokens))


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram", "byte-level"])
@given(text=st.one_of(st.sampled_from(TEXTS), st.text(max_size=12)))
def test_spans_of_tokens_tile_the_text(readers, kind, text):
    (source,) = readers[kind].read([text])
    if not text.strip():
        assert source.tokens == ()
        return
    assert list(source.tokens) == readers[kind].tokenizer(text, add_special_tokens=False).input_ids
    spans = [source.characters(place, place + 1) for place in range(len(source.tokens))]
    assert "".join(text[start:stop] for start, stop in spans) == text
    assert source.characters(0, len(source.tokens)) == (0, len(text))


@pytest.mark.parametrize("kind", ["bpe", "unigram", "byte-level"])
@given(text=st.one_of(st.sampled_from(TEXTS), st.text("ab ,.\u0301\u13a0在花(", max_size=12)))
def test_every_word_can_be_cut_out(readers, kind, text):
    reader = readers[kind]
    (source,) = reader.read([text])
    words = words_of(text)
    cut = reader.cut(source, [end for word in words for end in (word.start, word.stop)])
    decode = reader.tokenizer.decode
    assert decode(list(cut.tokens)) == decode(list(source.tokens))
    spans = [cut.unit_span(word.start, word.stop) for word in words]
    assert None not in spans
    # Marks for spaces belong to the word behind them, so all tokens are covered.
    assert all(first[1] == second[0] for first, second in pairwise(spans))
    assert [text[slice(*cut.characters(*span))].strip() for span in spans] == [
        text[word.start : word.stop] for word in words
    ]


def test_a_token_is_cut_only_where_it_must_be(readers):
    reader = readers["bpe"]
    (source,) = reader.read(["the dog, the dog,"])
    assert pieces(reader, source) == ["▁the", "▁dog,", "▁the", "▁dog,"]
    assert source.unit_span(4, 7) is None
    assert source.unit_span(4, 8) == (1, 2)
    cut = reader.cut(source, [4, 7])
    assert pieces(reader, cut) == ["▁the", "▁dog", ",", "▁the", "▁dog,"]
    assert cut.unit_span(4, 7) == (1, 2)
    assert reader.cut(source, [0, 3, 4, 8]) is source


def test_space_at_the_end_belongs_to_the_last_word(readers):
    for reader in [*readers.values(), TextReader(ByT5Tokenizer())]:
        (source,) = reader.read([" the dog  "])
        (_, stop), length = source.unit_span(5, 8), len(source.tokens)
        assert stop == length
        assert source.unit_span(1, 8) == (0, length)


def test_what_cannot_be_cut_stays(readers):
    reader = readers["word"]
    for text in ["the dog, saw", "the dog-house saw"]:  # one word, known or not
        (source,) = reader.read([text])
        cut = reader.cut(source, [4, 7])
        assert cut.tokens == source.tokens
        assert cut.unit_span(4, 7) is None
        assert cut.unit_span(0, 3) == (0, 1)


def test_bytes_of_a_tokenizer_without_offsets():
    (source,) = TextReader(ByT5Tokenizer()).read(["ab é x"])
    assert len(source.tokens) == 7
    assert source.unit_span(3, 4) == (2, 5)  # the space before it and two bytes
    assert source.characters(3, 6) == (3, 5)
