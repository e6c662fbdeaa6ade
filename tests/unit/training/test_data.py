"""What a run reads, and what tokenizers put around sentences."""

import pytest
from tiny_tokenizers import multilingual

from btg_seq2seq.text import Bitext, train_tokenizer, write_lines
from btg_seq2seq.training.config import DataConfig, ModelConfig, TrainConfig
from btg_seq2seq.training.data import (
    Bitexts,
    Frame,
    Frames,
    build_tokenizer,
    encode,
    set_languages,
    too_long_for_the_grammar,
)


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


@pytest.mark.parametrize("name", ["nllb", "mbart", "mbart-50"])
def test_labels_are_a_sentence_and_its_end(name):
    tokenizer = multilingual(name)
    frames = Frames.of(tokenizer)
    data = encode(Bitext(["a", "b a"], ["b b", "a"]), tokenizer, frames, None, "error")
    assert data[0]["labels"] == ids(tokenizer, "▁b", "▁b", "</s>")
    assert data[1]["labels"] == ids(tokenizer, "▁a", "</s>")
    assert data[1]["input_ids"] == [
        *frames.source.prefix,
        *ids(tokenizer, "▁b", "▁a"),
        *frames.source.suffix,
    ]
    assert too_long_for_the_grammar(data, frames, 1) == 2
    assert too_long_for_the_grammar(data, frames, 2) == 0


def test_languages_of_a_tokenizer_that_has_none():
    with pytest.raises(ValueError, match="no language codes"):
        set_languages(train_tokenizer("word", ["a b"]), "de", "en")


def test_pretrained_tokenizers_are_loaded_with_their_languages(tmp_path):
    multilingual("nllb").save_pretrained(tmp_path)
    model = ModelConfig(str(tmp_path), source_language="fra_Latn", target_language="zul_Latn")
    tokenizer = build_tokenizer(TrainConfig("a", model=model), Bitext(["a"], ["b"]))
    assert tokenizer.convert_ids_to_tokens(tokenizer("a").input_ids)[0] == "fra_Latn"
    assert tokenizer.convert_ids_to_tokens(tokenizer(text_target="a").input_ids)[0] == "zul_Latn"


def test_a_tokenizer_that_is_not_there(tmp_path):
    config = TrainConfig("a", model=ModelConfig(str(tmp_path / "nowhere")))
    with pytest.raises(ValueError, match=r"cannot load a tokenizer from .*nowhere"):
        build_tokenizer(config, Bitext(["a"], ["b"]))


def test_files_are_read(tmp_path):
    for name in ("train", "dev"):
        write_lines(tmp_path / f"{name}.de.gz", ["eins", "zwei"])
        write_lines(tmp_path / f"{name}.en", ["one", "two"])
    train = {
        "train_source": str(tmp_path / "train.de.gz"),
        "train_target": str(tmp_path / "train.en"),
    }
    dev = {"dev_source": str(tmp_path / "dev.de.gz"), "dev_target": str(tmp_path / "dev.en")}
    bitexts = Bitexts.from_files(DataConfig(**train, **dev, max_pairs=1))
    assert bitexts.train.source == ["eins"]
    assert bitexts.dev.target == ["one", "two"]
    assert Bitexts.from_files(DataConfig(**train)).dev is None
    with pytest.raises(ValueError, match=r"data\.train_source"):
        Bitexts.from_files(DataConfig(**dev))
