"""Words as rules and recombination see them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.text.words import is_punctuation, words_of


def words(text):
    return [text[word.start : word.stop] for word in words_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das Haus, klein.", ["Das", "Haus", ",", "klein", "."]),
        ("l'été 10%", ["l", "'", "été", "10", "%"]),
        ("e\u0301te\u0301 x", ["e\u0301te\u0301", "x"]),
        ("我们 x看y", ["我", "们", "x", "看", "y"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("ทำน้ำ ກຳ", ["ทำ", "น้ำ", "ກຳ"]),
        ("ᎠᏂᏴᏫ ᎩᎵ", ["ᎠᏂᏴᏫ", "ᎩᎵ"]),
        ("\u0301a 👍🏽", ["\u0301a", "👍🏽"]),
        ("👩🏽\u200d🚀🚀 🇩🇪!", ["👩🏽\u200d🚀", "🚀", "🇩🇪", "!"]),
        ("a\u200d!", ["a\u200d", "!"]),
        ("soft\u00adware word\u2060joiner", ["soft\u00adware", "word\u2060joiner"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("ｶﾞﾊﾟ", ["ｶﾞ", "ﾊﾟ"]),
        ("🏴\U000e0067\U000e0062\U000e007f!", ["🏴\U000e0067\U000e0062\U000e007f", "!"]),
        ("ស្ត្រី", ["ស្ត្រី"]),
        ("သတ္တဝါ", ["သ", "တ္တ", "ဝါ"]),
        ("ไทย\u200bไท", ["ไ", "ท", "ย", "\u200b", "ไ", "ท"]),
        (" \t ", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@given(st.text())
def test_words_cover_what_is_not_white_space(text):
    assert "".join(words(text)) == "".join(c for c in text if not c.isspace())
    assert all(word.start == 0 or word.spaced == text[word.start - 1].isspace()
               for word in words_of(text))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".", True),
        (" 。", True),
        ("?!", True),
        ("…\u0301", True),
        ("$", True),
        ("", False),
        (" ", False),
        ("a.", False),
        ("5", False),
        ("\u0301", False),
        ("\ufffd", False),
        ("_", True),
    ],
)
def test_punctuation(text, expected):
    assert is_punctuation(text) is expected
