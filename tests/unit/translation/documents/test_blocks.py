"""Blocks: their plain text, and what was taken out of it."""

import pytest

from btg_seq2seq.translation.documents.blocks import Block, BlockWriter, Point, Protected, escaped


def test_words_and_what_is_protected():
    block = Block("a {x}b, c", protected=[Protected(2, 5, "{x}")])
    assert [block.plain[slice(*word)] for word in block.words] == ["a", "{x}", "b", ",", "c"]
    assert block.protected_by_span[2, 5].raw == "{x}"


@pytest.mark.parametrize(
    ("markup", "plain"),
    [("html", "a b ä & c"), ("xml", "a\n b ä & c "), ("text", "a\n b &auml; &amp; c ")],
)
def test_text(markup, plain):
    writer = BlockWriter(markup)
    writer.add_text("a\n b &auml; &amp; c ")
    block = writer.build()
    assert block.plain == plain
    assert block.suffix == " "


def test_spaces_that_do_not_break_are_points():
    writer = BlockWriter("html")
    writer.add_text("a&nbsp;b\u00a0c")
    block = writer.build()
    assert block.plain == "a b c"
    assert [(point.raw, point.is_space) for point in block.points] == [
        ("&nbsp;", True),
        ("\u00a0", True),
    ]


def test_elements_and_points():
    writer = BlockWriter("html")
    writer.add_open("<b>")
    writer.add_text("a ")
    writer.add_open("<i>")
    writer.add_kept("<code>x</code>", "x")
    writer.add_close("</i>")
    writer.add_close("</b>")
    writer.add_point("<img>")
    writer.add_single("</u>", is_opening=False)
    block = writer.build()
    assert block.plain == "a x"
    assert [(one.start, one.stop, one.parent) for one in block.elements] == [(0, 3, -1), (2, 3, 0)]
    assert block.protected == [Protected(2, 3, "<code>x</code>")]
    assert list(block.points) == [
        Point("<img>", 3, is_before=False),
        Point("</u>", 3, is_before=False, is_tag=True),
    ]


def test_nothing_to_translate_is_copied():
    writer = BlockWriter("html")
    writer.add_text(" &nbsp;")
    writer.add_point("<img>")
    assert writer.build() == " &nbsp;<img>"


def test_escaping():
    assert escaped("<b> & 'x'", "html") == "&lt;b&gt; &amp; 'x'"
    assert escaped("<b>", "text") == "<b>"
