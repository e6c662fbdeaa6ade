"""Units: no tokenizer's tokens are cut inside a word or a character, in any script."""

import os
import unicodedata

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from btg_seq2seq.text import load_tokenizer, train_tokenizer
from btg_seq2seq.text.units import (
    begins_unit,
    fenceposts_of,
    marks_words,
    unit_fenceposts,
    unit_starts,
    unit_table,
    word_joins,
)
from btg_seq2seq.text.words import words_of
from btg_seq2seq.translation.tokenized_text import TextReader
from tests.byte_level import byte_level_tokenizer
from tests.tiny_tokenizers import (
    TwoLanguages,
    end_marking_tokenizer,
    multilingual,
    with_sentencepiece,
)

MT5 = os.environ.get("BTG_TEST_MT5_TOKENIZER")
SENTENCE = (
    "the dog's x_1 3.14 (a) état e\u0301te\u0301 don't ﬁn ▁ ␛ ᎢᏣᏛᎩᏍᎨᏍᏗᏃ ᎠᎴ, السَّلامُ عليكم؟ "
    "می\u200cخواهم ที่นี่ ภาษาไทย हिन्दी क्\u200dष 我们看iPhone 漢字、かな。 カタカナが ㅋㅋ 한국어 "
    "𠮷野家 Ünï-cödé … ½ a\u0301\u0302 👩🏽\u200d🚀 👍🏽 🇩🇪🇫🇷 ❤\ufe0f ☃ — “x” ab—cd ༀམཎི ქართული"
)
WORDS = SENTENCE.split()
CORPUS = [" ".join(WORDS[start::3]) for start in range(3)] * 3
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(WORDS),
        st.text("aé ,.'\u0301ᎢᏛمَทีหิ我かが。👩\u200d🚀🏽—1_", min_size=1, max_size=6),
        st.text(min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=6,
)


def tokenizers():
    made = {
        "bpe": train_tokenizer("bpe", CORPUS, 330),
        "larger bpe": train_tokenizer("bpe", CORPUS, 450),
        "unigram": train_tokenizer("unigram", CORPUS, 400),
        "word": train_tokenizer("word", CORPUS),
        "byte-level": byte_level_tokenizer(CORPUS, 320),
        "larger byte-level": byte_level_tokenizer(CORPUS, 500),
    }
    if MT5:
        made["mt5"] = load_tokenizer(MT5)
    return made


TOKENIZERS = tokenizers()
TABLES = {name: unit_table(tokenizer) for name, tokenizer in TOKENIZERS.items()}


def starts_of(table, tokens):
    return unit_starts(table, torch.tensor(tokens, dtype=torch.long)).tolist()


def units(tokenizer, text):
    """The tokens of each unit."""
    table, found = unit_table(tokenizer), []
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    names = tokenizer.convert_ids_to_tokens(tokens)
    for name, begins in zip(names, starts_of(table, tokens), strict=True):
        found += [[name]] if begins else []
        found[-1] = found[-1] if begins else [*found[-1], name]
    return ["".join(unit) for unit in found]


@pytest.mark.parametrize("name", TOKENIZERS)
@given(parts=TEXTS, glue=st.lists(st.booleans(), min_size=6, max_size=6))
@settings(deadline=None)
def test_no_unit_begins_inside_a_word_or_a_character(name, parts, glue):
    joined = "".join(part + " " * space for part, space in zip(parts, glue, strict=False))
    text = unicodedata.normalize("NFKC" if name == "mt5" else "NFC", joined)
    if name == "word" or not text.strip() or not text.isprintable():
        return
    read = TextReader(TOKENIZERS[name]).read([text])[0]
    begins = {word.start for word in words_of(text)} | {len(text)}
    for place, is_start in enumerate(starts_of(TABLES[name], read.tokens)):
        if is_start and place:
            assert read.fenceposts[place] in begins
            # A character of two tokens is in both offsets.
            assert read.offsets[place - 1][1] <= read.offsets[place][0]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("larger bpe", "the dog (a)2, x", ["▁the", "▁dog", "▁(a", ")", "<0x32>", ",", "▁x"]),
        ("unigram", "the dog's, x", ["▁the", "▁dog", "'", "s", ",", "▁x"]),
        ("byte-level", "the dog's, x", ["the", "Ġdog", "'s", ",", "Ġx"]),
        ("word", "the unknown dog's", ["▁the", "<unk>", "▁dog's"]),
    ],
)
def test_words_and_punctuation(name, text, expected):
    assert units(TOKENIZERS[name], text) == expected


def test_scripts_without_spaces_keep_their_tokens():
    tokenizer = train_tokenizer("bpe", ["我们 看漢 字 ไทย"] * 9, 330)
    assert units(tokenizer, "我们看 漢字ไทย") == ["▁我们", "看", "▁漢", "字", "ไทย"]


def test_stacked_consonants_stay_together():
    tokenizer = train_tokenizer("bpe", ["ស ្ ត រ ី"] * 9, 330)
    assert units(tokenizer, "ស្ត្រី ស") == ["▁ស្ត្រី", "▁ស"]


def test_bytes_of_a_character_stay_together():
    tokenizer = TOKENIZERS["bpe"]
    assert units(tokenizer, "龘龘") == ["▁<0xE9><0xBE><0x98>", "<0xE9><0xBE><0x98>"]
    assert units(tokenizer, "Ꮿthe") == ["▁<0xE1><0x8F><0xAF>the"]


def test_a_tokenizer_of_bytes_keeps_them_but_cuts_no_character():
    tokenizer = ByT5Tokenizer()
    assert units(tokenizer, "aé b") == ["a", "Ã©", " ", "b"]
    assert not marks_words(tokenizer)


def test_marks_at_the_ends_of_words():
    tokenizer = end_marking_tokenizer(["he arrived , at the store ."] * 5, 30)
    assert marks_words(tokenizer)
    found = units(tokenizer, "he arrived, at store.")
    assert found == ["he</w>", "arrived</w>", ",</w>", "at</w>", "store</w>", ".</w>"]
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("he arrived, at store.")["input_ids"])
    assert len(tokens) > len(found)  # words are cut into tokens
    joins = word_joins(tokenizer)
    assert not joins.continuing  # a word begins with any token
    names = {*tokenizer.convert_ids_to_tokens(sorted(joins.unfinished))}
    assert names.isdisjoint(found)
    places = [place for place in range(1, len(tokens)) if not tokens[place - 1].endswith("</w>")]
    ids = [[token] for token in tokenizer.convert_tokens_to_ids(tokens)]
    assert [place for place in range(len(ids) + 1) if joins.at(ids, place)] == places


def test_other_families(tmp_path):
    texts = ["the dog saw the dog", "a dog, the garden."] * 5
    for name in ("marian", "m2m_100"):
        tokenizer = with_sentencepiece(name, tmp_path / name, texts, texts)
        assert len(units(tokenizer, "the dog saw, it")) == 5
        assert marks_words(tokenizer)
    for name in ("mbart", "mbart-50", "nllb"):
        assert units(multilingual(name), "ab a ba") == ["▁ab", "▁a", "▁ba"]
    plain = TwoLanguages()
    assert units(plain, "ab cd") == ["ab", "cd"]
    assert not unit_table(plain).any()


def test_which_tokenizers_mark_words():
    assert all(marks_words(tokenizer) for tokenizer in TOKENIZERS.values())


@given(
    starts=st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=4),
)
def test_fenceposts(starts):
    starts = [[True, *row[1:]] for row in starts]
    lengths = torch.tensor([len(row) for row in starts])
    longest = int(lengths.max())
    padded = torch.tensor([row + [True] * (longest - len(row)) for row in starts])
    posts, counts = unit_fenceposts(padded, lengths)
    for row, own, count in zip(starts, posts.tolist(), counts.tolist(), strict=True):
        expected = [place for place, begins in enumerate(row) if begins]
        assert own[:count] == expected
        assert set(own[count:]) == {len(row)}
    assert posts.shape[1] == int(counts.max()) + 1


@given(parts=TEXTS)
@settings(deadline=None)
def test_one_sentence_at_a_time_gives_the_same_fenceposts(parts):
    tokens = TOKENIZERS["bpe"](" ".join(parts), add_special_tokens=False)["input_ids"]
    starts = starts_of(TABLES["bpe"], tokens) if tokens else []
    expected = [place for place, begins in enumerate(starts) if begins]
    assert fenceposts_of(TABLES["bpe"], tokens) == [*expected, len(tokens)]
    assert fenceposts_of(None, tokens) == list(range(len(tokens) + 1))


def test_numpy_and_torch_agree():
    table = TABLES["bpe"]
    before, after = table[:, None], table[None, :300]
    expected = begins_unit(before.numpy(), after.numpy())
    assert begins_unit(before, after).numpy().tolist() == expected.tolist()


def test_which_tokens_continue_a_word():
    def names(tokenizer):
        joins = word_joins(tokenizer)
        assert not joins.unfinished
        return {tokenizer.convert_ids_to_tokens(token) for token in joins.continuing}

    assert names(train_tokenizer("word", ["a house, 12"])) == set()
    found = names(train_tokenizer("bpe", ["a house, 12 犬が好き"] * 5, 400))
    assert "<0x41>" in found
    assert {"o", "2"} <= found
    assert found.isdisjoint({"▁house", ",", "が", "好", "</s>", "<seg>"})
    # Any letter of Thai may begin a phrase, but no mark on a letter; the same for rules.
    thai = names(train_tokenizer("bpe", ["ที่ น"] * 5, 400))
    assert ("\u0e35" in thai, "น" in thai) == (True, False)
    pieces = {"[UNK]": 0, "house": 1, "##s": 2, "犬": 3}
    word_pieces = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    word_pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=word_pieces, unk_token="[UNK]")
    assert names(fast) == {"##s"}


def test_byte_tokens_without_word_starts_are_refused():
    with pytest.raises(ValueError, match="do not say where words begin"):
        word_joins(ByT5Tokenizer())
