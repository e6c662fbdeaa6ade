"""Fonts of scripts, and generous estimates of widths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.drawing.fonts import balanced, font_family, text_width, wrap

# Widths in em of letters in DejaVu Sans, one of the widest fonts for text.
DEJAVU = {
    **dict.fromkeys("il", 0.278),
    **dict.fromkeys("bdpqghnu", 0.635),
    **{"m": 0.974, "w": 0.818, "W": 0.989, "M": 0.863, "@": 1.0, "%": 0.95, "O": 0.787, "Q": 0.787},
    **{" ": 0.318, ".": 0.318, "f": 0.352, "t": 0.392, "r": 0.411, "H": 0.752, "0": 0.636},
}


@pytest.mark.parametrize(("letter", "width"), DEJAVU.items())
def test_letters_are_no_wider_than_estimated(letter, width):
    assert width * 16 <= text_width(letter, 16) <= width * 16 * 1.5


def test_scripts():
    assert text_width("彼女", 16) >= 2 * 16
    assert text_width("e\u0301\u0323", 16) == text_width("e", 16)
    assert text_width("é", 16) == text_width("e", 16)
    assert text_width("👩", 16) > 1.2 * 16
    assert text_width("한국", 16) >= 2 * 16
    assert text_width("\u200b\u200d", 16) == 0
    assert text_width("\ufdfd", 16) > 8 * 16
    assert text_width("ab", 32) == 2 * text_width("ab", 16)


@given(st.text(), st.text())
def test_a_longer_text_is_not_narrower(one, other):
    joined = text_width(one + " " + other, 16)
    assert joined >= max(text_width(one, 16), text_width(other, 16)) - 1e-6


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("das Haus", None),
        ("старый дом", None),
        ("", None),
        ("كتاب iPhone", "Noto Sans Arabic"),
        ("เธอ", "Noto Sans Thai"),
        ("ᎣᏏᏲ", "Noto Sans Cherokee"),
        ("她翻新了旧房子", "Noto Sans CJK SC"),
        ("彼女は", "Noto Sans CJK JP"),
        ("그녀는", "Noto Sans CJK KR"),
    ],
)
def test_families(text, family):
    found = font_family(text)
    assert found is None if family is None else found.startswith(f"'{family}',")


@given(st.text(max_size=200), st.floats(20, 400), st.integers(1, 9))
def test_lines_have_all_the_text_and_are_not_too_wide(text, limit, most):
    lines = wrap(text, limit, 16, most)
    assert len(lines) <= most
    for line in lines:
        assert text_width(line, 16) <= limit or len(line.rstrip("…")) < 12  # one character
    together = "".join("".join(lines).split())
    whole = "".join(text.split())
    assert together == whole or (lines[-1].endswith("…") and whole.startswith(together[:-1]))


def test_wrap_breaks_long_words_only():
    assert wrap("das alte Haus", 80, 16, 9) == ["das alte", "Haus"]
    assert wrap("x" * 10_000, 100, 16, 3)[2].endswith("…")
    assert len(wrap("x" * 10_000, 100, 16, 3)) == 3
    assert wrap("", 100, 16, 3) == []


def test_balanced_lines_are_of_similar_width():
    text = "the government of the small country has signed it"
    assert len(balanced(text, 300, 16, 9)) == len(wrap(text, 300, 16, 9)) == 2
    widths = [text_width(line, 16) for line in balanced(text, 300, 16, 9)]
    assert max(widths) < 1.3 * min(widths)
    assert balanced("Donaudampfschiff", 1000, 16, 9) == ["Donaudampfschiff"]
