"""The tree view: nothing overlaps, and the lines lead where the derivation says."""

import itertools
import re
from xml.etree import ElementTree

from hypothesis import given
from pictures import HOSTILE, PICTURES, example, translations

from btg_seq2seq import Rule
from btg_seq2seq.drawing.diagram import MOST_PHRASES, Diagram
from btg_seq2seq.drawing.drawing import draw
from btg_seq2seq.drawing.fonts import text_width
from btg_seq2seq.drawing.tree_view import GAP, SIZE, TreeView

SVG = "{http://www.w3.org/2000/svg}"


class Read:
    """A picture, read back: boxes, texts and lines by their places."""

    def __init__(self, drawing):
        root = ElementTree.fromstring(drawing.svg)
        self.size = float(root.get("width")), float(root.get("height"))
        groups = [one for one in root.iter(SVG + "g") if (one.get("class") or "").startswith("p ")]
        self.phrases = [one for one in groups if one.find(SVG + "rect") is not None]
        self.lines = [one for one in groups if one.find(SVG + "rect") is None]
        tops = sorted({self.box(one)[1] for one in self.phrases})
        assert len(tops) == 2
        self.rows = [[one for one in self.phrases if self.box(one)[1] == top] for top in tops]
        self.brackets = {
            kind: [one.get("d") for one in root.iter(SVG + "path") if one.get("class") == kind]
            for kind in "si"
        }
        self.texts = ["".join(one.itertext()) for one in root.iter(SVG + "text")]

    @staticmethod
    def box(group):
        shape = group.find(SVG + "rect")
        return tuple(float(shape.get(name)) for name in ("x", "y", "width", "height"))

    @staticmethod
    def words(group):
        texts = group.findall(SVG + "text")
        return " ".join(one.text for one in texts if one.get("class") is None)

    def ends(self):
        """Where each line begins and ends, from left to right."""
        for group in self.lines:
            numbers = re.findall(r"-?[0-9.]+", group.find(SVG + "path").get("d"))
            data = group.find(SVG + "path").get("d")
            last = re.search(r"(-?[0-9.]+) -?[0-9.]+V[0-9.]+$", data) if "C" in data else None
            yield group.get("class"), float(numbers[0]), float(last[1] if last else numbers[0])


@given(translations())
def test_boxes_do_not_overlap_and_hold_their_texts(translation):
    read = Read(draw(translation))
    for row in read.rows:
        boxes = sorted(map(read.box, row))
        assert boxes[0][0] >= 0
        assert boxes[-1][0] + boxes[-1][2] <= read.size[0]
        for (left, _, width, _), (following, *_) in itertools.pairwise(boxes):
            assert left + width + GAP / 2 <= following
        for group in row:
            left, top, width, height = read.box(group)
            for text in group.findall(SVG + "text"):
                if text.get("class") is None:
                    half = text_width(text.text, SIZE) / 2
                    assert left <= float(text.get("x")) - half + 0.1
                    assert float(text.get("x")) + half <= left + width + 0.1
                    assert top < float(text.get("y")) < top + height


@given(translations())
def test_lines_lead_from_each_phrase_to_its_translation(translation):
    drawing = draw(translation)
    diagram, read = drawing.diagram, Read(drawing)
    source, target = read.rows
    centres = [[left + width / 2 for left, _, width, _ in map(read.box, row)] for row in read.rows]
    for rank, (colour, start, end) in enumerate(read.ends()):
        place = diagram.target_order.index(rank)
        assert abs(start - centres[0][rank]) < 0.2
        assert abs(end - centres[1][place]) < 0.2
        assert colour == source[rank].get("class") == target[place].get("class")
        assert f" q{rank} " in colour
    kinds = [node.inverted for node in diagram.root.nodes]
    assert len(read.brackets["i"]) == sum(kinds)
    assert len(read.brackets["s"]) == len(kinds) - sum(kinds)


def test_the_readme_picture():
    read = Read(PICTURES["derivation.svg"])
    assert [read.words(one) for one in read.rows[0]] == ["sie hat", "das alte Haus", "renoviert"]
    assert [read.words(one) for one in read.rows[1]] == ["she has", "refurbished", "the old house"]
    assert "rule" in read.texts
    assert "[ ] keeps the order" in read.texts
    assert "< > inverts it" in read.texts
    marked = read.rows[1][1]
    assert marked.find(SVG + "rect").get("class") == "r"
    assert "given by the rule" in marked.find(SVG + "title").text
    assert "log-probability" in read.rows[1][0].find(SVG + "title").text


def test_directions():
    both = Read(PICTURES["hebrew-arabic.svg"])
    lefts = [both.box(one)[0] for one in both.rows[0]]
    assert lefts == sorted(lefts, reverse=True)  # the first phrase is at the right
    assert not any(text.isdigit() for text in both.texts)
    mixed = Read(PICTURES["arabic.svg"])
    lefts = [mixed.box(one)[0] for one in mixed.rows[0]]
    assert lefts == sorted(lefts)
    assert [text for text in mixed.texts if text.isdigit()] == ["1", "2", "3", "2", "1", "3"]
    assert 'direction="rtl"' in PICTURES["arabic.svg"].svg
    assert "Noto Sans Arabic" in PICTURES["arabic.svg"].svg


def test_hostile_text_is_text():
    svg = draw(HOSTILE).svg
    read = Read(draw(HOSTILE))
    assert read.words(read.rows[0][0]) == "<script>alert(1)</script>"
    assert "<script" not in svg
    assert re.search("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\ufffe]", svg) is None
    assert len(svg) < 30_000  # ten thousand characters are cut
    assert max(read.size) < 2000


def test_the_largest_picture_is_bounded():
    count = MOST_PHRASES
    svg = draw(example([("W" * 490, "V" * 490)] * count, [*range(count)])).svg
    assert len(svg) < 1_000_000
    words = [("ein", "one"), ("anderes", "other")] * (count // 2)
    alternating = []  # the deepest tree
    low, high = 0, count - 1
    while low <= high:
        alternating += [high, low][: high - low + 1]
        low, high = low + 1, high - 1
    view = TreeView(Diagram.of(example(words, alternating)))
    assert view.diagram.root.height == count - 1
    assert view.height < 40_000


def test_phrases_without_translation_and_marks():
    rules = {1: Rule("b", mode="keep"), 0: Rule("a", "x", mode="prefer")}
    read = Read(draw(example([("a", ""), ("b", "b")], [0, 1], rules)))
    assert {"∅", "kept", "preferred"} <= {*read.texts}
