"""Documents fall into blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.translation.documents.blocks import Block
from btg_seq2seq.translation.documents.reading import parts_of


def read(text, markup="html", cut="lines"):
    """Blocks as lists of their plain text, and other parts as strings."""
    parts = parts_of(text, markup, cut)
    return [[part.plain] if isinstance(part, Block) else part for part in parts]


def test_html_names_end_blocks():
    assert read("<p>a <b>b</b> c<br>d</p>") == ["<p>", ["a b c"], "<br>", ["d"], "</p>"]
    assert read("<pre>a</pre>b<svg><text>c</text></svg> d") == ["<pre>a</pre>", ["bc d"]]


def test_xml_text_makes_a_block():
    text = "<r> <p>a <b>b</b></p> <p><b>c</b></p></r>"
    assert read(text, "xml") == [
        "<r>", " ", "<p>", ["a b"], "</p>", " ", "<p>", "<b>", ["c"], "</b>", "</p>", "</r>",
    ]  # fmt: skip


def test_lines_and_paragraphs():
    text = "a\nb\r\n\r\nc"
    assert read(text, "text", "lines") == [["a"], "\n", ["b"], "\r\n", "\r\n", ["c"]]
    assert read(text, "text", "none") == read(text, "text", "lines")
    assert read(text, "text", "paragraphs") == [["a\nb"], "\r\n\r\n", ["c"]]


@pytest.mark.parametrize("tag", ["<i translate=no>", '<i class="x notranslate y">', "<code>"])
def test_what_is_not_to_be_translated(tag):
    name = tag[1:].split()[0].rstrip(">")
    (block,) = parts_of(f"a {tag}<b>b</b></{name}> c", "html", "none")
    assert [one.raw for one in block.protected] == [f"{tag}<b>b</b></{name}>"]


@pytest.mark.parametrize("element", ["<x>b <i>c</i></x>", '<x id="4"></x>', "<x/>", "<x><y/></x>"])
@pytest.mark.parametrize("markup", ["html", "xml"])
def test_elements_to_copy_stand_for_a_word(element, markup):
    (block,) = parts_of(f"a {element} d", markup, "none", ["x"])
    assert [one.raw for one in block.protected] == [element]
    assert len(block.plain.split()) >= 3
    others = parts_of(f"a {element} d", markup, "none", ["z"])
    assert not any(one.protected for one in others if isinstance(one, Block))
    if markup == "xml":
        assert parts_of(f"<r>{element}</r>", markup, "none", ["x"]) == ["<r>", element, "</r>"]


@given(st.text(alphabet="a<>/bp &;\n"), st.sampled_from(["text", "html", "xml"]))
def test_any_text_is_read(text, markup):
    for part in parts_of(text, markup, "lines"):
        assert part if isinstance(part, str) else part.plain
