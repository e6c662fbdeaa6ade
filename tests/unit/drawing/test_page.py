"""Pages: well-formed, self-contained, and with text that can be read and copied."""

from html.parser import HTMLParser

import pytest
from pictures import HOSTILE, PICTURES, example

from btg_seq2seq.drawing.drawing import draw
from btg_seq2seq.drawing.page import MOST_DRAWINGS, page
from btg_seq2seq.errors import UserError

VOID = {"meta", "!doctype"}


class Reader(HTMLParser):
    """Texts by element, ids, and whether every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.ids, self.names = [], [], [], set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.names.add(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.names.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1], data))


def test_a_page_of_all_pictures():
    text = page([*PICTURES.values(), draw(HOSTILE)])
    read = Reader(text)
    assert len(read.ids) == len({*read.ids}) == 4 * (len(PICTURES) + 1)
    assert "script" not in read.names
    assert ("p", "sie hat das alte Haus renoviert") in read.texts
    assert ("strong", "she has refurbished the old house") in read.texts
    assert ("td", "<script>alert(1)</script>") in read.texts
    assert ("td", "rule") in read.texts
    assert "default-src &#x27;none&#x27;" in text
    assert text.count("<style>") == 1
    assert 'name="viewport"' in text


def test_one_picture_has_no_heading():
    read = Reader(PICTURES["derivation.svg"].html)
    assert "h1" not in read.names
    assert "h1" in Reader(page([PICTURES["derivation.svg"]], "My page")).names
    assert ("summary", "Word alignment") in read.texts
    assert ("summary", "Tree") in Reader(PICTURES["matrix.svg"].html).texts


def test_without_a_matrix_that_is_too_large():
    read = Reader(draw(example([("a " * 300 + "a", "b")], [0])).html)
    assert ("summary", "Word alignment") not in read.texts
    assert ("summary", "Phrases") in read.texts


def test_themes():
    diagram = example([("Haus", "house")], [0])
    assert "prefers-color-scheme" in draw(diagram).html
    for theme in ("light", "dark"):
        text = draw(diagram, theme=theme).html
        assert "prefers-color-scheme" not in text
        assert f'name="color-scheme" content="{theme}"' in text


def test_bounds():
    with pytest.raises(UserError, match="nothing to draw"):
        page([])
    with pytest.raises(UserError, match="too many for a page"):
        page([PICTURES["derivation.svg"]] * (MOST_DRAWINGS + 1))
