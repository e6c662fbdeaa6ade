"""What a run reads."""

import pytest
from tiny_tokenizers import multilingual

from btg_seq2seq.text import Bitext, train_tokenizer, write_lines
from btg_seq2seq.text.frames import Frames
from btg_seq2seq.training.data import (
    Bitexts,
    build_tokenizer,
    encode,
    encoded_pairs,
    length_limit,
    set_languages,
    too_long_for_the_grammar,
)
from btg_seq2seq.training.settings.config import DataConfig, ModelConfig, TrainConfig


def ids(tokenizer, *tokens):
    return tokenizer.convert_tokens_to_ids(list(tokens))


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


@pytest.mark.parametrize(
    ("tree", "lengths"),
    [("[0:1 1:2]", "2 1"), ("[0:1 1:3]", "1 1"), ("[1:2 2:3]", "2 1"), ("[0:1 1:4]", "2 1")],
)
def test_gold_derivations_that_do_not_cover_their_sentences(tree, lengths):
    tokenizer = multilingual("mbart-50")
    sides = ["a", "b a b"], ["b", "a a b"]
    frames = Frames.of(tokenizer)

    def gold(tree, lengths):
        return Bitext(*sides, ["0:1", tree], "x.src and x.tgt", ["1", lengths])

    assert len(encode(gold("[0:1 1:3]", "2 1"), tokenizer, frames, None, "error")) == 2
    with pytest.raises(ValueError, match=r"x\.src and x\.tgt: line 2: .* do not cover"):
        encode(gold(tree, lengths), tokenizer, frames, None, "error")
    # Trees alone are over words, and are compared elsewhere.
    assert len(encode(Bitext(*sides, ["0:1", tree]), tokenizer, frames, None, "error")) == 2


def test_a_gold_tree_that_is_missing():
    tokenizer = train_tokenizer("word", ["a b"])
    gold = Bitext(["a", "b"], ["b", "a"], ["0:1", ""], segmentations=["1", ""])
    with pytest.raises(ValueError, match="line 2"):
        encode(gold, tokenizer, Frames.of(tokenizer), None, "error")


@pytest.mark.parametrize(
    ("max_length", "too_long", "longest", "expected"),
    [
        (10, "keep", None, (10, "keep")),
        (10, "keep", 20, (20, "skip")),
        (30, "keep", 20, (20, "skip")),
        (10, "skip", 20, (10, "skip")),
        (30, "error", 20, (20, "error")),
        (None, "error", 20, (20, "error")),
    ],
)
def test_nothing_is_kept_that_the_model_cannot_read(max_length, too_long, longest, expected):
    config = DataConfig(max_length=max_length, too_long=too_long)
    assert length_limit(config, longest) == expected


def test_pairs_that_were_skipped_are_not_among_the_encoded_ones():
    tokenizer = train_tokenizer("word", ["a b"])
    bitext = Bitext(["a", "", "a a a a", "b"], ["b", "b", "b", "a"], ["0:1", "", "0:4", "0:1"])
    data = encode(bitext, tokenizer, Frames.of(tokenizer), 3, "skip")
    kept = encoded_pairs(bitext, data)
    assert (kept.source, kept.target, kept.trees) == (["a", "b"], ["b", "a"], ["0:1", "0:1"])
    assert "2 skipped" in kept.name
    assert encoded_pairs(kept, encode(kept, tokenizer, Frames.of(tokenizer), 3, "skip")) is kept


def test_languages_of_a_tokenizer_that_has_none():
    with pytest.raises(ValueError, match="no language codes"):
        set_languages(train_tokenizer("word", ["a b"]), "de", "en")


def test_a_language_that_the_tokenizer_does_not_know():
    with pytest.raises(ValueError, match=r"no language 'en'; it knows .*deu_Latn"):
        set_languages(multilingual("nllb"), "en", "de")


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
