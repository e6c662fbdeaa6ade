"""Text that is safe to show, whatever it was."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.drawing.plain_text import (
    MOST_MARKS,
    clusters,
    direction,
    isolated,
    one_line,
    shortened,
    shown,
)


@given(st.text(st.characters(exclude_categories=())))
def test_shown_text_is_xml_and_stays_the_same(text):
    once = shown(text)
    markup = once.replace("&", "&amp;").replace("<", "&lt;")
    assert (ElementTree.fromstring(f"<a>{markup}</a>").text or "") == once
    assert shown(once) == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\tb\nc\r\u2028", "a b c  "),
        ("\x00\x1b\x7f\x9b", "␀␛␡�"),
        ("\ud800\ufffe\ufdd0\U0001ffff", "����"),
        ("\u202eabc\u202c \u2066d\u2069", "�abc d"),
        ("e" + "\u0301" * 99, "e" + "\u0301" * MOST_MARKS),
        ("👩‍👩‍👧‍👦🏴\U000e0067\U000e0062\U000e007f", "👩‍👩‍👧‍👦🏴\U000e0067\U000e0062\U000e007f"),
        ("نیم\u200cفاصله \u200e\u200f", "نیم\u200cفاصله \u200e\u200f"),
    ],
)
def test_shown(text, expected):
    assert shown(text) == expected


def test_no_terminal_code_is_left():
    every = "".join(map(chr, range(0x300)))
    assert re.search(r"[\x00-\x1f\x7f-\x9f]", shown(every)) is None


def test_one_line():
    assert one_line("  a \n\t b ") == "a b"


def test_clusters_keep_marks_and_emoji_together():
    assert clusters("e\u0301นี้👩‍🚀🇩🇪") == ["e\u0301", "นี้", "👩‍🚀", "🇩🇪"]


@given(st.text(), st.integers(2, 20))
def test_shortened(text, most):
    short = shortened(text, most)
    assert len(short) <= most
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


def test_direction():
    assert direction("das Haus") == direction("") == direction("123 …") == "ltr"
    assert direction("كتاب جديد عن iPhone") == direction("ספר") == "rtl"
    assert direction("the word كتاب") == "ltr"


def test_only_text_from_right_to_left_is_isolated():
    assert isolated("house") == "house"
    assert isolated("ספר") == "\u2068ספר\u2069"
