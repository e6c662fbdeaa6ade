"""Tokens tile the input, whatever it is."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.translation.documents.markup import tokens_of

PARTS = st.lists(
    st.sampled_from([*list("<>/!?-='\" ab[]&"), "<!--", "-->", "<b", "<script>", "</script"])
).map("".join)


def kinds(text, markup="html"):
    return [(token.kind, token.raw) for token in tokens_of(text, markup)]


@given(PARTS, st.sampled_from(["text", "html", "xml"]))
def test_tokens_tile_the_text(text, markup):
    assert "".join(token.raw for token in tokens_of(text, markup)) == text


def test_kinds():
    assert kinds("a<b x='>'>c</b><br><x/>") == [
        ("text", "a"),
        ("open", "<b x='>'>"),
        ("text", "c"),
        ("close", "</b>"),
        ("void", "<br>"),
        ("void", "<x/>"),
    ]
    assert kinds("<!-- <b> --><?x?><![CDATA[<b>]]>") == [
        ("other", "<!-- <b> -->"),
        ("other", "<?x?>"),
        ("other", "<![CDATA[<b>]]>"),
    ]
    assert kinds("<SCRIPT>a<b></Script >") == [
        ("open", "<SCRIPT>"),
        ("other", "a<b>"),
        ("close", "</Script >"),
    ]


def test_xml_has_no_names_of_its_own():
    assert [token.kind for token in tokens_of("<br><Script>a<b/></Script>", "xml")] == [
        "open",
        "open",
        "text",
        "void",
        "close",
    ]


def test_plain_text_has_few_tags():
    assert kinds("a < b <c> x<y\nz> <1> List<String> <a href='x'>", "text") == [
        ("text", "a < b "),
        ("open", "<c>"),
        ("text", " x<y\nz> <1> List"),
        ("open", "<String>"),
        ("text", " "),
        ("open", "<a href='x'>"),
    ]


@pytest.mark.parametrize("text", ["a < b", "1<2", "<>", "</>", "a<", "<3"])
def test_what_is_no_tag(text):
    assert [kind for kind, _ in kinds(text)] == ["text"]


@pytest.mark.parametrize("text", ["<b", "<b x='>", "<!--x", '<b x="a>b'])
def test_markup_without_an_end_is_the_rest(text):
    assert kinds("a" + text) == [("text", "a"), ("rest", text)]


def test_no_text_makes_it_slow():
    started = time.process_time()
    for part in ("<", "<a ", "<!--", "<a x='", "</", "<a<", "<script>", "<![CDATA["):
        for markup in ("html", "text"):
            assert sum(1 for _ in tokens_of(part * 20_000, markup))
    assert time.process_time() - started < 30
