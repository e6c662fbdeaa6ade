"""What tokenizers put around sentences."""

import pytest
from tiny_tokenizers import multilingual

from btg_seq2seq.text import train_tokenizer
from btg_seq2seq.text.frames import Frame, Frames


def ids(tokenizer, *tokens):
    return tokenizer.convert_tokens_to_ids(list(tokens))


def test_frames_of_a_trained_tokenizer():
    tokenizer = train_tokenizer("word", ["a b"])
    frame = Frame([], [tokenizer.eos_token_id])
    assert Frames.of(tokenizer) == Frames(frame, frame, frame)


@pytest.mark.parametrize(
    ("name", "english", "german"),
    [("nllb", "eng_Latn", "deu_Latn"), ("mbart-50", "en_XX", "de_DE")],
)
def test_frames_with_a_language_in_front(name, english, german):
    tokenizer = multilingual(name)
    frames = Frames.of(tokenizer)
    assert frames.source == Frame(ids(tokenizer, english), ids(tokenizer, "</s>"))
    assert frames.reverse == Frame(ids(tokenizer, german), ids(tokenizer, "</s>"))
    assert frames.labels == frames.reverse
    assert (tokenizer.src_lang, tokenizer.tgt_lang) == (english, german)


def test_frames_with_a_language_behind():
    tokenizer = multilingual("mbart")
    frames = Frames.of(tokenizer)
    assert frames.source == Frame([], ids(tokenizer, "</s>", "en_XX"))
    assert frames.reverse == Frame([], ids(tokenizer, "</s>", "de_DE"))
    assert frames.settings["reverse_suffix"] == ids(tokenizer, "</s>", "de_DE")
