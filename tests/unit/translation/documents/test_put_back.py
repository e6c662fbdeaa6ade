"""Tags are put back around the words that they belonged to."""

import pytest

from btg_seq2seq.translation.documents.blocks import Block
from btg_seq2seq.translation.documents.pieces import Piece, Translated
from btg_seq2seq.translation.documents.put_back import TagWriter
from btg_seq2seq.translation.documents.reading import parts_of


def put_back(source, order):
    """Write the block of a source with its words in another order."""
    (block,) = parts_of(source, "html", "none")
    assert isinstance(block, Block)
    pieces = [
        Piece(" " if rank else "", block.plain[slice(*block.words[word])].upper(), word)
        for rank, word in enumerate(order)
    ]
    return TagWriter(block, Translated(pieces, {piece.word: piece for piece in pieces})).write()


@pytest.mark.parametrize(
    ("source", "order", "expected"),
    [
        ("a <b>b c</b> d", [0, 1, 2, 3], "A <b>B C</b> D"),
        ("a <b>b c</b> d", [1, 2, 3, 0], "<b>B C</b> D A"),
        ("a <b>b c</b> d", [1, 0, 2, 2, 3], "B A <b>C C</b> D"),  # the longest run
        ("a <b>b <i>c</i></b> d", [3, 2, 1, 0], "D <b><i>C</i> B</b> A"),
        ("a <b>b</b> c", [0, 2], "A <b></b>C"),  # nothing is left of its word
        ("a <b><i></i></b> c", [1, 0], "<b><i></i></b>C A"),
        ("a <img> b", [1, 0], "<img> B A"),
        ("a<img> b", [1, 0], "B A<img>"),
        ("a&nbsp;b c", [0, 1, 2], "A&nbsp;B C"),
        ("a&nbsp;b c", [1, 2, 0], "&nbsp;B C A"),
        ("a</b> <i>b", [1, 0], "B A</b><i>"),  # tags without a partner keep their order
        ("<b>a</b>", [], "<b></b>"),
    ],
)
def test_tags(source, order, expected):
    assert put_back(source, order) == expected


def test_a_word_of_two_elements_belongs_to_one_of_them():
    assert put_back("<b>a</b><i>b</i> c", [0, 1]) in (
        "<b>AB</b><i></i> C",
        "<b>AB</b> <i></i>C",
        "<i></i><b>AB</b> C",
        "<b>AB</b> C<i></i>",
    )
