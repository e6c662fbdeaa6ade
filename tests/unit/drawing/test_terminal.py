"""Boxes and lists in a terminal."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import HOSTILE, example, translations
from rich.cells import cell_len

from btg_seq2seq import Rule, Translation
from btg_seq2seq.drawing.terminal import explained
from btg_seq2seq.translation.translation import Alternative

PAIRS = [("sie hat", "she has"), ("das alte Haus", "the old house"), ("renoviert", "refurbished")]
README = example(PAIRS, [0, 2, 1], {2: Rule("renoviert", "refurbished")})


def test_boxes():
    assert explained(README, 80) == [
        "she has refurbished the old house  log-probability −0.020 (probability 0.980)",
        " ╭ 1 ──────╮ ╭ 2 ────────────╮ ╭ 3 ──────────╮",
        " │ sie hat │ │ das alte Haus │ │  renoviert  │",
        " ╰─────────╯ ╰───────────────╯ ╰─────────────╯",
        "      │      <────────────── ╳ ──────────────>",
        " [───────────────────────────────────────────]",
        " ╭ 1 ──────╮ ╭ 3 rule ─────╮ ╭ 2 ────────────╮",
        " │ she has │ │ refurbished │ │ the old house │",
        " ╰─────────╯ ╰─────────────╯ ╰───────────────╯",
        "",
    ]


def test_a_list_where_boxes_do_not_fit():
    lines = explained(README, 40)
    assert "├── 1 sie hat → she has" in lines
    assert "    └── 3 renoviert → refurbished (rule)" in lines
    assert any(
        line.startswith("├── 1 כתוב")
        for line in explained(example([("כתוב", "a"), ("b", "c")], [0, 1]))
    )


def test_wide_characters_keep_boxes_aligned():
    lines = explained(example([("彼女は", "she"), ("古い家を", "it")], [1, 0]), 80)[1:-1]
    assert len({cell_len(line) for line in lines}) == 1


@given(translations(), st.integers(40, 120))
def test_no_line_is_wider_than_the_terminal(translation, width):
    for line in explained(translation, width):
        assert cell_len(line) <= width
        assert re.search(r"[\x00-\x1f\x7f-\x9f]", line) is None


def test_hostile_text_has_no_terminal_codes():
    text = "\n".join(explained(HOSTILE, 80))
    assert "\x1b" not in text
    assert "␛[31m" in text


def test_colours_are_codes_around_the_same_text():
    coloured = explained(README, 80, colour=True)
    assert any("\x1b[" in line for line in coloured)
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in coloured] == explained(
        README, 80
    )


def test_alternatives_follow():
    other = example(PAIRS, [0, 1, 2])
    both = replace(README, alternatives=(Alternative(other.text, -3.0, (), other.derivation),))
    lines = explained(both, 80)
    assert lines[: len(explained(README, 80))] == explained(README, 80)
    assert any(line.startswith(other.text) for line in lines)


@pytest.mark.parametrize("count", [200, 201])
def test_deep_and_large_trees(count):
    order, low, high = [], 0, count - 1
    while low <= high:
        order += [high, low][: high - low + 1]
        low, high = low + 1, high - 1
    lines = explained(example([("a", "b")] * count, order), 80)
    assert all(len(line) <= 80 for line in lines)
    assert any("200 can be drawn" in line for line in lines) == (count > 200)


def test_without_a_derivation():
    assert explained(Translation("", 0.0), 80)[0] == ""
