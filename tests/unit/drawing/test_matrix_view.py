"""The matrix view: a block for every phrase pair, at its words."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from pictures import HOSTILE, PICTURES, example, translations

from btg_seq2seq.drawing.drawing import draw
from btg_seq2seq.drawing.matrix_view import CELL, MOST_WORDS, MatrixView, joined_words
from btg_seq2seq.errors import UserError

SVG = "{http://www.w3.org/2000/svg}"


def blocks(drawing):
    """Rows and columns of every phrase pair, counted in words from the upper left corner."""
    view = MatrixView(drawing.diagram)
    found = []
    for group in ElementTree.fromstring(drawing.svg).iter(SVG + "g"):
        if (group.get("class") or "").startswith("p "):
            shape = group.find(SVG + "rect")
            x, y, width, height = (float(shape.get(name)) for name in ("x", "y", "width", "height"))
            found.append(
                tuple(
                    round(value / CELL)
                    for value in (
                        y - 3 - view.top,
                        y + 3 + height - view.top,
                        x - 3 - view.left,
                        x + 3 + width - view.left,
                    )
                )
            )
    return found


def test_blocks_are_at_their_words():
    assert blocks(PICTURES["matrix.svg"]) == [(0, 2, 0, 2), (2, 5, 3, 6), (5, 6, 2, 3)]


def test_columns_run_as_the_translation_is_written():
    pairs = [("this book", "ספר זה"), ("is", "הוא"), ("new", "חדש")]
    assert blocks(draw(example(pairs, [0, 1, 2]), "matrix")) == [
        (0, 2, 2, 4),
        (2, 3, 1, 2),
        (3, 4, 0, 1),
    ]


@given(translations(most=6))
def test_blocks_tile_rows_and_columns(translation):
    drawing = draw(translation, "matrix")
    view = MatrixView(drawing.diagram)
    found = blocks(drawing)
    assert len(found) == len(drawing.diagram.pairs)
    rows = sum(len(joined_words(pair.source_words)) for pair in drawing.diagram.pairs)
    assert rows == len(view.source_labels)
    assert view.width > view.left + CELL * len(view.target_labels)
    if all(pair.source_words and pair.target_words for pair in drawing.diagram.pairs):
        covered = [row for start, stop, *_ in found for row in range(start, stop)]
        assert sorted(covered) == [*range(rows)]


def test_scripts_without_spaces_have_a_row_for_each_phrase():
    view = MatrixView(PICTURES["japanese.svg"].diagram)
    assert view.source_labels == ["彼女は", "古い家を", "改装した"]


def test_long_phrases_without_spaces_have_several_rows():
    assert joined_words([*"一二三四五六七八九", "(", *"十一", "x", "y"]) == [
        *("一二三四", "五六七八九", "(", "十一", "x", "y")
    ]
    assert joined_words([]) == []


def test_it_is_bounded():
    with pytest.raises(UserError, match=f"301 words, but a matrix shows no more than {MOST_WORDS}"):
        draw(example([("a " * 300 + "a", "b")], [0]), "matrix").svg  # noqa: B018
    assert len(draw(HOSTILE, "matrix").svg) < 30_000
