"""Elements as text, with everything escaped."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.drawing.plain_text import shown
from btg_seq2seq.drawing.svg import element, escaped, group, number, path


def test_numbers_are_short():
    assert [number(value) for value in (1, 1.0, 1.04, 1.25001, -0.01, 1e6)] == [
        "1",
        "1",
        "1",
        "1.3",
        "0",
        "1000000",
    ]


@given(st.text().map(shown), st.text().map(shown))
def test_any_text_survives(content, value):
    found = ElementTree.fromstring(element("text", escaped(content), class_=value, x=1.5))
    assert (found.text or "") == content
    assert found.attrib == {"class": value, "x": "1.5"}


def test_attributes():
    assert element("a", font_size=3, class_=None, in_="b") == '<a font-size="3" in="b"/>'
    assert group(["<b/>"], "a < b", id="x") == '<g id="x"><title>a &lt; b</title><b/></g>'


def test_path():
    assert path("M", 1, 2.5, "H", 3.0, "V", -4) == "M1 2.5H3V-4"
