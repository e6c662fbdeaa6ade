"""``btg augment`` as a user types it, with a tiny model."""

import pytest
import torch

from btg_seq2seq.cli.main import main
from btg_seq2seq.model.transducer import BTGSeq2Seq
from btg_seq2seq.tasks.svo_sov import SvoSovConfig
from btg_seq2seq.tasks.svo_sov_files import write
from btg_seq2seq.text import read_lines, train_tokenizer, write_lines
from tests.tiny_models import tiny_config


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """SVO-SOV files, and a model of random weights that has not learned from them."""
    directory = tmp_path_factory.mktemp("augment")
    write(directory, SvoSovConfig.tiny("novel-position"))
    texts = [
        line for side in ("source", "target") for line in read_lines(f"{directory}/train.{side}")
    ]
    tokenizer = train_tokenizer("word", texts)
    config = tiny_config("t5")
    config.vocab_size = len(tokenizer)
    torch.manual_seed(0)
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3)
    model.save_pretrained(directory / "model")
    tokenizer.save_pretrained(directory / "model")
    return directory


def augment(directory, output, *options, source=None):
    files = [source or directory / "train.source", directory / "train.target"]
    outputs = ["--output_source", output / "new.source", "--output_target", output / "new.target"]
    status = main(["augment", *map(str, [directory / "model", *files, *outputs, *options])])
    if status:
        return status
    return list(
        zip(read_lines(output / "new.source"), read_lines(output / "new.target"), strict=True)
    )


def test_new_bitext_of_known_words(directory, tmp_path, capsys):
    pairs = augment(directory, tmp_path, "--count", 500, "--seed", 3)
    said = capsys.readouterr()
    assert said.out == ""
    assert "300 of 300 pairs" in said.err
    assert "500 new pairs" in said.err
    assert "0 coincidences" in said.err
    sources = [source for source, _ in pairs]
    assert len(set(sources)) == len(pairs) == 500
    assert set(sources).isdisjoint(read_lines(directory / "train.source"))
    for side, column in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        known = set(" ".join(read_lines(directory / f"train.{side}")).split())
        assert set(" ".join(column).split()) <= known


def test_phrases_without_a_model(directory, tmp_path, capsys):
    """The lexical teacher finds the phrases of a task that nobody has been trained on."""
    files = [directory / "train.source", directory / "train.target"]
    outputs = [
        "--output-source",
        tmp_path / "new.source",
        "--output-target",
        tmp_path / "new.target",
    ]
    options = ["--count", 200, "--exclude", directory / "dev.source"]
    assert main(["augment", "--lexical", *map(str, [*files, *outputs, *options])]) == 0
    assert "200 new pairs" in capsys.readouterr().err
    sources, targets = (read_lines(tmp_path / f"new.{side}") for side in ("source", "target"))
    assert len(set(sources)) == len(targets) == 200
    known = [*read_lines(directory / "train.source"), *read_lines(directory / "dev.source")]
    assert set(sources).isdisjoint(known)
    for side, lines in (("source", sources), ("target", targets)):
        words = set(" ".join(read_lines(directory / f"train.{side}")).split())
        assert set(" ".join(lines).split()) <= words


def test_a_model_and_word_tables_are_alternatives(directory, tmp_path, capsys):
    arguments = ["--lexical", *["x"] * 3, "--output-source", "a", "--output-target", "b"]
    assert main(["augment", *arguments]) == 2
    assert "btg augment" in capsys.readouterr().err


def test_the_seed_decides(directory, tmp_path):
    first, again, other = (
        augment(directory, tmp_path, "--count", 50, "--seed", seed) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_excluded_sources_are_not_written(directory, tmp_path, capsys):
    free = augment(directory, tmp_path, "--count", 200)
    write_lines(tmp_path / "held.out", [f" {source} " for source, _ in free[:100]])
    write_lines(tmp_path / "more", [source for source, _ in free[100:120]])
    capsys.readouterr()
    rest = augment(
        directory, tmp_path, "--count", 200, "--exclude", tmp_path / "held.out", tmp_path / "more"
    )
    assert {source for source, _ in rest}.isdisjoint(source for source, _ in free[:120])
    coincidences = int(capsys.readouterr().err.split(" coincidences")[0].split()[-1])
    assert coincidences >= 120


def test_says_when_there_is_no_more(directory, tmp_path, capsys):
    lines = read_lines(directory / "train.source")[:3]
    targets = read_lines(directory / "train.target")[:3]
    write_lines(tmp_path / "few.source", lines)
    write_lines(tmp_path / "few.target", targets)
    outputs = ["--output_source", tmp_path / "a", "--output_target", tmp_path / "b"]
    files = [directory / "model", tmp_path / "few.source", tmp_path / "few.target"]
    assert main(["augment", *map(str, [*files, *outputs, "--count", 100000])]) == 0
    assert "no more than these" in capsys.readouterr().err


def test_sentences_longer_than_the_model_are_skipped(directory, tmp_path, capsys):
    sides = [read_lines(directory / f"train.{side}")[:30] for side in ("source", "target")]
    for name, lines in zip(("source", "target"), sides, strict=True):
        write_lines(tmp_path / name, [*lines, " ".join(lines[:10])])
    tokenizer = train_tokenizer("word", [line for lines in sides for line in lines])
    config = tiny_config("marian")  # of 24 positions
    config.vocab_size = config.decoder_vocab_size = len(tokenizer)
    config.pad_token_id = config.decoder_start_token_id = tokenizer.pad_token_id
    config.eos_token_id = tokenizer.eos_token_id
    model = BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3)
    for saved in (model, tokenizer):
        saved.save_pretrained(tmp_path / "model")
    files = [str(tmp_path / name) for name in ("model", "source", "target")]
    outputs = ["--output_source", str(tmp_path / "a"), "--output_target", str(tmp_path / "b")]
    assert main(["augment", *files, *outputs, "--count", "5"]) == 0
    assert "1 skipped with more than 24 tokens (line 31)" in capsys.readouterr().err


def test_a_bitext_of_unknown_words_ends_soon(directory, tmp_path, capsys):
    """Whatever is made of it is thrown away, and there is no end of what could be made."""
    outputs = ["--output_source", str(tmp_path / "a"), "--output_target", str(tmp_path / "b")]
    sides = [read_lines(directory / f"train.{side}") for side in ("source", "target")]
    for name, lines in zip(("source", "target"), sides, strict=True):
        write_lines(tmp_path / name, [f"{line} zzz" for line in lines])
    files = [str(directory / "model"), str(tmp_path / "source"), str(tmp_path / "target")]
    assert main(["augment", *files, *outputs]) == 1
    assert "words that the tokenizer does not know" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--count", 0], "--count must be 1 or more"),
        (["--rate", 2], "rate must lie between 0 and 1"),
        (["--exclude", "missing"], "there is no such file"),
    ],
)
def test_mistakes_are_told(directory, tmp_path, capsys, options, message):
    assert augment(directory, tmp_path, *options) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_bitext_without_sentences(directory, tmp_path, capsys):
    files = [str(tmp_path / name) for name in ("source", "target")]
    for path in files:
        write_lines(path, [])
    outputs = ["--output_source", str(tmp_path / "a"), "--output_target", str(tmp_path / "b")]
    assert main(["augment", str(directory / "model"), *files, *outputs]) == 1
    assert "source is empty: there is nothing to recombine" in capsys.readouterr().err


def test_nothing_that_is_read_is_written_over(directory, tmp_path, capsys):
    files = [str(directory / f"train.{side}") for side in ("source", "target")]
    before = read_lines(files[0])
    other = str(tmp_path / "a")
    for outputs in ([files[0], other], [other, files[1]], [other, other]):
        options = ["--output_source", outputs[0], "--output_target", outputs[1]]
        assert main(["augment", str(directory / "model"), *files, *options]) == 1
    assert "--output-source and --output-target are both" in capsys.readouterr().err
    assert read_lines(files[0]) == before


def test_a_missing_model_or_nothing_to_swap_is_told(directory, tmp_path, capsys):
    files = [str(directory / f"train.{side}") for side in ("source", "target")]
    outputs = ["--output_source", str(tmp_path / "a"), "--output_target", str(tmp_path / "b")]
    assert main(["augment", str(tmp_path / "nothing"), *files, *outputs]) == 1
    assert "holds no model" in capsys.readouterr().err
    word = read_lines(files[0])[0].split()[0]
    write_lines(tmp_path / "one.source", [word])
    write_lines(tmp_path / "one.target", [read_lines(files[1])[0]])
    one = [str(tmp_path / f"one.{side}") for side in ("source", "target")]
    assert main(["augment", str(directory / "model"), *one, *outputs]) == 1
    assert "no new sentence pair can be made" in capsys.readouterr().err
