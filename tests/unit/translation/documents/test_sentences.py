"""Sentences of many languages."""

import pytest

from btg_seq2seq.errors import UserError
from btg_seq2seq.translation.documents.sentences import check_language, sentence_spans, stripped


def sentences(text, language="", whole=()):
    return [text[slice(*span)] for span in sentence_spans(text, language, whole)]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Das ist z.B. so. Es ist klein!", "de-AT", ["Das ist z.B. so.", "Es ist klein!"]),
        ("これは本です。あれはペンです。", "ja", ["これは本です。", "あれはペンです。"]),
        ("यह घर है। यह छोटा है।", "hi", ["यह घर है।", "यह छोटा है।"]),
        ("هذا بيت. هل هو صغير؟ نعم.", "ar", ["هذا بيت.", "هل هو صغير؟", "نعم."]),
        ("Dr. Smith came. He left.", "", ["Dr. Smith came.", "He left."]),
        ("ᎣᏏᏲ. ᏙᎯᏧ?", "chr", ["ᎣᏏᏲ.", "ᏙᎯᏧ?"]),
        (" \n ", "en", []),
        ("", "en", []),
    ],
)
def test_sentences(text, language, expected):
    assert sentences(text, language) == expected


def test_no_sentence_ends_inside_of_what_is_whole():
    text = "See {a. B} now. Yes."
    start = text.index("{")
    assert sentences(text, "en", [(start, start + 6)])[0].startswith("See {a. B}")


def test_languages():
    assert [check_language(code) for code in ("", "DE", "pt_BR")] == ["en", "de", "pt"]
    for code in ("d", "../x", "12", "ein satz"):
        with pytest.raises(UserError, match="no code of a language"):
            check_language(code)


def test_white_space_at_the_ends():
    assert stripped("  a b ", 0, 6) == (2, 5)
    assert stripped("   ", 0, 3) == (3, 3)
