"""Translations go on where they stopped."""

from types import SimpleNamespace

import pytest
from checks import refused

from btg_seq2seq.tasks.reproduction import translating
from btg_seq2seq.tasks.reproduction.translating import translated
from btg_seq2seq.text import read_lines

SOURCES = [str(number) for number in range(7)]


class Translator:
    def __init__(self, most=99):
        self.asked, self.most = [], most

    def translate(self, texts, mode):
        if len(self.asked) + len(texts) > self.most:
            raise KeyboardInterrupt
        self.asked += texts
        return [SimpleNamespace(text=f"{mode}\n{text}") for text in texts]


def test_an_interrupted_set_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(translating, "SLICE", 2)
    path = tmp_path / "test.flat.txt"
    first, saved = Translator(5), []
    with pytest.raises(KeyboardInterrupt):
        translated(first, SOURCES, "flat", path, save=lambda: saved.append(1))
    assert first.asked == SOURCES[:4]
    assert len(saved) == 2
    assert not path.exists()
    second, said = Translator(), []
    lines = translated(second, SOURCES, "flat", path, said.append)
    assert second.asked == SOURCES[4:]
    assert lines == [f"flat {text}" for text in SOURCES] == read_lines(path)
    assert said[-1] == "test.flat: 7/7"
    third = Translator()
    assert translated(third, SOURCES, "flat", path) == lines
    assert third.asked == []
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_lines_of_another_set(tmp_path):
    path = tmp_path / "test.flat.txt"
    path.write_text("one\n")
    with refused("1 lines, not 7"):
        translated(Translator(), SOURCES, "flat", path)


def test_more_lines_than_the_set_has(tmp_path):
    (tmp_path / "test.flat.txt.partial").write_text("one\n" * 8)
    with refused("test.flat.txt.partial has 8 lines, more than 7"):
        translated(Translator(), SOURCES, "flat", tmp_path / "test.flat.txt")
