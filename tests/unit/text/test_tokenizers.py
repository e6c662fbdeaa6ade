"""Tokenizers: nothing is lost, nothing is unknown, and no text becomes a special token."""

import json
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_tokenizers import with_sentencepiece
from transformers import AutoTokenizer, ByT5Tokenizer, PreTrainedTokenizer, T5Tokenizer

from btg_seq2seq.text import (
    SEGMENT_END,
    SEGMENT_START,
    add_segment_tokens,
    load_tokenizer,
    restore_byte_fallback,
    train_tokenizer,
    word_token_spans,
)
from btg_seq2seq.text.tokenizers import BYTE_TOKENS

SUBWORD_KINDS = ["bpe", "unigram"]
KINDS = ["word", *SUBWORD_KINDS]
CORPUS = [
    "the dog saw the other dog in the garden <seg> <seg> <seg>",
    "ᎠᏂᏴᏫ ᎤᏂᎪᎲᎩ ᎠᏂᏴᏫ ᎩᎵ",
    "在花园里看见了另一只狗 在花园里",
    "l'été dernier , le chien <0x41> <0x41> <0x41> </s> </s>",
]
HARD_TEXTS = [
    "",
    "ᎠᏂᏴᏫ ᎤᎵᎮᎵᏍᏗ",
    "我们在花园里。",
    "🙂 👍🏽👩‍👩‍👧 x🙂y",
    "a\x00b\x07\tc\x1b \x7f",
    "10\u00a0km\u202fh",
    "\u00a0 edges \u3000",
    "one\u2028two\x85three\x1cfour",
    "\ufeffmark",
    "  many   spaces  ",
    "e\u0301te\u0301 \u1112\u1161\u11ab",
    "▁mark ▁▁ ␛ ␛0 ␛1▁",
    "<seg> a </seg> x<seg>y <pad></s><unk>",
    "<0x41> <0xE2><0x96><0x81> <",
    "\U0010ffff \ue000",
]


@pytest.fixture(scope="module")
def tokenizers():
    sizes = {"word": None, "bpe": 400, "unigram": 400}
    return {kind: train_tokenizer(kind, CORPUS, size) for kind, size in sizes.items()}


class SpaceTokenizer(PreTrainedTokenizer):
    """A tokenizer in Python, which knows no offsets."""

    @property
    def vocab_size(self):
        return 1000

    def get_vocab(self):
        return {}

    def _tokenize(self, text, **_):
        return [character for word in text.split() for character in "_" + word]

    def _convert_token_to_id(self, token):
        return ord(token)


def canonical(text):
    """What decoding an encoded text gives."""
    return re.sub(" +", " ", unicodedata.normalize("NFC", text)).strip(" ")


def round_trip(tokenizer, text):
    return tokenizer.decode(tokenizer(text).input_ids, skip_special_tokens=True)


@pytest.mark.parametrize("kind", SUBWORD_KINDS)
@pytest.mark.parametrize("text", HARD_TEXTS)
def test_nothing_is_lost(tokenizers, kind, text):
    tokenizer = tokenizers[kind]
    ids = tokenizer(text).input_ids
    assert round_trip(tokenizer, text) == canonical(text)
    assert ids[-1] == tokenizer.eos_token_id
    assert not set(ids[:-1]) & set(tokenizer.all_special_ids)


@pytest.mark.parametrize("kind", SUBWORD_KINDS)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cn"]), max_size=30))
def test_nothing_is_lost_of_any_text(tokenizers, kind, text):
    assert round_trip(tokenizers[kind], text) == canonical(text)
    assert tokenizers[kind].unk_token_id not in tokenizers[kind](text).input_ids


@pytest.mark.parametrize("kind", KINDS)
@given(
    parts=st.lists(
        st.sampled_from(
            ["<", ">", "/", "<seg>", "</seg>", "</s>", "<pad>", "<0x41>", " ", "a", "▁", "␛", "1"]
        )
    )
)
def test_no_text_becomes_a_special_token(tokenizers, kind, parts):
    tokenizer, text = tokenizers[kind], "".join(parts)
    ids = tokenizer(text).input_ids
    allowed = {tokenizer.unk_token_id} if kind == "word" else set()
    assert not set(ids[:-1]) & set(tokenizer.all_special_ids) - allowed
    if kind != "word":
        assert round_trip(tokenizer, text) == canonical(text)


@pytest.mark.parametrize("kind", KINDS)
def test_special_tokens_have_fixed_ids(tokenizers, kind):
    tokenizer = tokenizers[kind]
    tokens = ["<pad>", "</s>", "<unk>", SEGMENT_START, SEGMENT_END]
    assert tokenizer.convert_tokens_to_ids(tokens) == [0, 1, 2, 3, 4]
    assert sorted(tokenizer.all_special_ids) == [0, 1, 2, 3, 4]
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id) == (0, 1, 2)
    assert tokenizer("").input_ids == [1]
    assert set(tokenizer("the dog")) == {"input_ids", "attention_mask"}
    assert tokenizer.decode([3, *tokenizer("dog").input_ids], skip_special_tokens=True) == "dog"


def test_words(tokenizers):
    tokenizer = tokenizers["word"]
    words = {word for line in CORPUS for word in line.split()}
    assert len(tokenizer) == 5 + len(words)
    for line in CORPUS:
        assert round_trip(tokenizer, line) == line
        assert len(tokenizer(line).input_ids) == len(line.split()) + 1
    assert len(set(tokenizer(" ".join(words)).input_ids)) == len(words) + 1
    the, unknown, end = tokenizer("the dogs").input_ids
    assert the > 4
    assert [unknown, end] == [2, 1]
    assert tokenizer(" the\u00a0 dog\t").input_ids == tokenizer("the dog").input_ids


def test_whitespace_is_what_python_splits_at(tokenizers):
    spaces = [c for c in map(chr, range(sys.maxunicode + 1)) if c.isspace()]
    for space in spaces:
        text = f"the{space}dog"
        assert len(tokenizers["word"](text).input_ids) == 3, hex(ord(space))
        for kind in SUBWORD_KINDS:
            first, second = word_token_spans(tokenizers[kind], text)
            assert first[1] == second[0]


def test_most_frequent_words_are_kept():
    tokenizer = train_tokenizer("word", ["a a a b b c"], vocabulary_size=7)
    assert tokenizer("a b c").input_ids == [5, 6, 2, 1]


@pytest.mark.parametrize("kind", SUBWORD_KINDS)
def test_vocabulary_size(kind):
    rare = "".join(map(chr, range(0x4E00, 0x4E00 + 500)))  # more characters than tokens
    tokenizer = train_tokenizer(kind, [*CORPUS * 3, rare], 310)
    assert len(tokenizer) <= 310
    assert round_trip(tokenizer, rare) == rare
    assert len(tokenizer("the dog").input_ids) < len("the dog")
    assert len(train_tokenizer(kind, CORPUS)) < 8000


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_reproducible(tokenizers, kind):
    again = train_tokenizer(kind, CORPUS, None if kind == "word" else 400)
    assert again.backend_tokenizer.to_str() == tokenizers[kind].backend_tokenizer.to_str()


def test_what_cannot_be_trained():
    with pytest.raises(ValueError, match="unknown kind of tokenizer 'bytes'"):
        train_tokenizer("bytes", CORPUS)
    with pytest.raises(ValueError, match="at least one sentence"):
        train_tokenizer("bpe", ["", " "])
    with pytest.raises(ValueError, match=r"vocabulary_size=200 is too small.* at least 300"):
        train_tokenizer("unigram", CORPUS, 200)
    with pytest.raises(ValueError, match="vocabulary_size=5 is too small"):
        train_tokenizer("word", CORPUS, 5)


@pytest.mark.parametrize("model_type", [None, "t5", "mbart", "marian"])
@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded(tokenizers, kind, model_type, tmp_path):
    saved = tokenizers[kind]
    saved.save_pretrained(tmp_path)
    if model_type:  # a model in the same directory must not change the class of the tokenizer
        (tmp_path / "config.json").write_text(
            json.dumps({"model_type": model_type, "transformers_version": "5.0.0"})
        )
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.backend_tokenizer.to_str() == saved.backend_tokenizer.to_str()
    assert loaded.special_tokens_map == saved.special_tokens_map
    assert loaded.model_input_names == saved.model_input_names
    for text in HARD_TEXTS + CORPUS:
        assert loaded(text).input_ids == saved(text).input_ids
        assert round_trip(loaded, text) == round_trip(saved, text)


def check_segment_tokens(tokenizer, tmp_path):
    before = len(tokenizer)
    special = set(tokenizer.all_special_tokens)
    plain = tokenizer("a dog").input_ids
    start, end = add_segment_tokens(tokenizer)
    assert (start, end) == add_segment_tokens(tokenizer)
    assert {start, end} == {before, before + 1}
    assert set(tokenizer.all_special_tokens) == special | {SEGMENT_START, SEGMENT_END}
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, AutoTokenizer.from_pretrained(tmp_path)):
        assert one.convert_tokens_to_ids([SEGMENT_START, SEGMENT_END]) == [start, end]
        assert one("a dog").input_ids == plain
        assert not {start, end} & set(one("<seg> a dog </seg> x<seg>y").input_ids)
        assert one.decode([start, *plain, end], skip_special_tokens=True) == "a dog"


def test_segment_tokens_of_a_pretrained_tokenizer(tmp_path):
    check_segment_tokens(ByT5Tokenizer(), tmp_path)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
def test_segment_tokens_of_marian(tmp_path):
    tokenizer = with_sentencepiece("marian", tmp_path / "marian", ["a dog"], ["ein hund"])
    check_segment_tokens(tokenizer, tmp_path)


def test_segment_tokens_are_none_of_the_languages(tmp_path):
    """M2M-100 does not count its languages: the next free id seems to be that of the first."""
    tokenizer = with_sentencepiece("m2m", tmp_path / "m2m", ["a dog"], ["ein hund"])
    languages = tokenizer.lang_token_to_id
    assert len(tokenizer) == min(languages.values())
    start, end = add_segment_tokens(tokenizer)
    assert {start, end} == {len(tokenizer) - 2, len(tokenizer) - 1}
    assert min(start, end) > max(languages.values())
    tokenizer.save_pretrained(tmp_path)
    for one in (tokenizer, load_tokenizer(tmp_path)):
        assert one.convert_tokens_to_ids([SEGMENT_START, SEGMENT_END]) == [start, end]
        assert {name: one.convert_tokens_to_ids(name) for name in languages} == languages
        assert one("a dog").input_ids[0] == languages["__en__"]
        assert one.decode(one("a dog").input_ids, skip_special_tokens=True) == "a dog"


def test_segment_tokens_exist_in_ours(tokenizers):
    for tokenizer in tokenizers.values():
        before = len(tokenizer)
        assert add_segment_tokens(tokenizer) == (3, 4)
        assert len(tokenizer) == before


def test_segment_tokens_of_mt5(mt5, tmp_path):
    check_segment_tokens(mt5, tmp_path)


def check_byte_fallback(tokenizer, tmp_path):
    """Nothing is unknown any more, nothing else changes, and it survives saving."""
    text = "ᎠᏂᏴᏫ a 🙂"
    known = "a b" if tokenizer.vocab_size < 1000 else "eine kleine Welt"
    assert tokenizer.unk_token_id in tokenizer(text).input_ids
    restored = restore_byte_fallback(tokenizer)
    assert restored is restore_byte_fallback(restored)
    add_segment_tokens(restored)
    restored.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": "mt5", "transformers_version": "5.0.0"})
    )
    for one in (restored, load_tokenizer(tmp_path)):
        assert one(known).input_ids == tokenizer(known).input_ids
        assert one.unk_token_id not in one(text).input_ids
        assert one.decode(one(text).input_ids, skip_special_tokens=True) == text
        literal = one("</s> <0x41> <pad>", add_special_tokens=False).input_ids
        assert not set(literal) & {*one.all_special_ids, one.convert_tokens_to_ids("<0x41>")}
        assert len(one) == len(tokenizer) + 2
        assert one.model_max_length == tokenizer.model_max_length
        assert one.special_tokens_map.items() >= tokenizer.special_tokens_map.items()


def test_bytes_instead_of_unknown(tmp_path):
    special = ["<pad>", "</s>", "<unk>"]
    vocabulary = [(token, 0.0) for token in [*special, *BYTE_TOKENS]]
    vocabulary += [(piece, -2.0) for piece in "▁ab</s>0x41pd"]
    check_byte_fallback(T5Tokenizer(vocab=vocabulary, extra_ids=0), tmp_path)


def test_bytes_instead_of_unknown_in_mt5(mt5, tmp_path):
    check_byte_fallback(mt5, tmp_path)
    sentencepiece = pytest.importorskip("sentencepiece")
    original = sentencepiece.SentencePieceProcessor(model_file=f"{mt5.name_or_path}/spiece.model")
    restored = restore_byte_fallback(mt5)
    for text in [*CORPUS, "<pad> x</s>y <0x41> <unk>", "🙂👍🏽 ᎤᎵᎮᎵᏍᏗ", "10\u00a0km ①"]:
        assert restored(text, add_special_tokens=False).input_ids == original.encode(text)


def test_other_tokenizers_keep_what_they_do(tokenizers):
    for tokenizer in [*tokenizers.values(), ByT5Tokenizer(), T5Tokenizer()]:
        assert restore_byte_fallback(tokenizer) is tokenizer


def check_spans(tokenizer, text):
    """Spans cover all tokens in order, and each contains its word."""
    spans = word_token_spans(tokenizer, text)
    ids = tokenizer(text, add_special_tokens=False).input_ids
    words = text.split()
    assert len(spans) == len(words)
    fenceposts = [0, *(stop for _, stop in spans)]
    assert [start for start, _ in spans] == fenceposts[:-1]
    assert fenceposts[-1] == (len(ids) if words else 0)
    for word, (start, stop) in zip(words, spans, strict=True):
        assert tokenizer.decode(ids[start:stop]).split() == [unicodedata.normalize("NFC", word)]


@pytest.mark.parametrize("kind", SUBWORD_KINDS)
@pytest.mark.parametrize("text", HARD_TEXTS + CORPUS)
def test_tokens_of_words(tokenizers, kind, text):
    check_spans(tokenizers[kind], text)


@pytest.mark.parametrize("kind", SUBWORD_KINDS)
@given(words=st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)))
def test_tokens_of_any_words(tokenizers, kind, words):
    check_spans(tokenizers[kind], " ".join(words))


def test_tokens_of_whole_words(tokenizers):
    assert word_token_spans(tokenizers["word"], " the  new\tdog ") == [(0, 1), (1, 2), (2, 3)]
    assert word_token_spans(tokenizers["word"], "  ") == []


def test_tokens_of_words_of_mt5(mt5):
    mt5 = restore_byte_fallback(mt5)
    for text in ["hello", "a small world", "我们 在 花园", "ᎠᏂᏴᏫ ᎩᎵ", " two  spaces "]:
        check_spans(mt5, text)


def test_tokens_of_words_without_offsets():
    assert word_token_spans(SpaceTokenizer(), " the  dog ") == [(0, 4), (4, 8)]
    with pytest.raises(ValueError, match="ByT5Tokenizer does not say which tokens"):
        word_token_spans(ByT5Tokenizer(), "the dog")  # a token between the words
