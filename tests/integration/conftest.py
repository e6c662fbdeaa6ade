"""A model that nothing has taught, commands that use it, and files for them."""

import io
import sys

import pytest
import torch

from btg_seq2seq import BTGSeq2Seq
from btg_seq2seq.cli.main import main
from btg_seq2seq.model.families import default_config
from btg_seq2seq.text import train_tokenizer

CORPUS = ["the dog saw the dog, in the garden.", "das Haus ist klein, von Grund auf"] * 4
TEXT = "the dog saw\n\ndas Haus ist klein, von Grund auf\n \n"


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    tokenizer = train_tokenizer("bpe", CORPUS, 320)
    torch.manual_seed(0)
    config = default_config(len(tokenizer), hidden_size=16, layers=1, heads=2)
    BTGSeq2Seq.from_backbone(config, tokenizer, max_segments=3).save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return str(directory)


@pytest.fixture
def run(model, capsys, monkeypatch, tmp_path):
    """Run a command in a directory of its own: exit status, lines of the output, and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(command, *arguments, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        status = main([command, model, *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out.split("\n")[:-1], captured.err

    return run


@pytest.fixture
def files(tmp_path):
    (tmp_path / "source.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "target.txt").write_text("in the garden\n\nthe dog\n\n", encoding="utf-8")
    (tmp_path / "trees.txt").write_text("[0:1 1:3]\n\n<0:2 2:7>\n\n", encoding="utf-8")
