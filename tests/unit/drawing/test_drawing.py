"""Drawings: documents, files and notebooks."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from pictures import FIGURES, HOSTILE, IMAGES, PICTURES, example, translations

from btg_seq2seq import Translation
from btg_seq2seq.drawing.drawing import Drawing, draw
from btg_seq2seq.errors import UserError

README = PICTURES["derivation.svg"]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", [*PICTURES, *FIGURES])
def test_the_pictures_of_the_documentation_are_made_by_this_code(name):
    made = {**PICTURES, **FIGURES}[name].svg
    assert (IMAGES / name).read_text(encoding="utf-8") == made, "run make pictures"
    ElementTree.fromstring(made)


def test_there_are_no_other_pictures():
    assert {path.name for path in IMAGES.glob("*.svg")} == {*PICTURES, *FIGURES}


@pytest.mark.parametrize("view", ["tree", "matrix"])
@given(translation=translations(most=5))
def test_every_picture_is_a_document_that_says_what_it_shows(view, translation):
    drawing = draw(translation, view)
    root = ElementTree.fromstring(drawing.svg)
    assert root.get("role") == "img"
    names = root.get("aria-labelledby").split()
    described = {one.get("id"): one.text for one in root if one.get("id")}
    assert [*described] == names
    assert all(described.values())
    assert drawing.svg == draw(translation, view).svg


def test_nothing_is_loaded_and_nothing_runs():
    for drawing in (README, draw(HOSTILE), draw(HOSTILE, "matrix")):
        for text in (drawing.svg, drawing.html, drawing._repr_html_()):
            found = text.lower().replace("http://www.w3.org/2000/svg", "")
            for part in (
                "<script",
                "http:",
                "https:",
                "url(",
                "@import",
                "<img",
                "href",
                "onload=",
            ):
                assert part not in found


def test_themes():
    assert "prefers-color-scheme" in README.svg
    light, dark = (Drawing(README.diagram, theme=theme).svg for theme in ("light", "dark"))
    assert "prefers-color-scheme" not in light + dark
    assert light != dark
    with pytest.raises(UserError, match="theme is"):
        Drawing(README.diagram, theme="pink")
    with pytest.raises(UserError, match="view is tree or matrix, not 'pie'"):
        Drawing(README.diagram, "pie")


def test_notebooks():
    assert README._repr_svg_() == README.svg
    assert README.svg in README._repr_html_()


def test_translations_draw_themselves():
    translation = example([("Haus", "house")], [0])
    assert isinstance(translation.draw("matrix", "dark"), Drawing)
    assert translation.draw().svg == draw(translation).svg
    with pytest.raises(UserError, match="no derivation"):
        Translation("", 0.0).draw()


def test_save(tmp_path):
    README.save(tmp_path / "new" / "a.SVG")
    assert (tmp_path / "new" / "a.SVG").read_text(encoding="utf-8") == README.svg
    README.save(str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == README.html
    with pytest.raises(UserError, match=r"ends in \.svg, \.html, \.png"):
        README.save(tmp_path / "a.gif")
    assert not list(tmp_path.rglob(".*"))


def test_ids_differ_between_pictures():
    other = example([("Haus", "house")], [0])
    ids = {
        ElementTree.fromstring(drawing.svg).get("aria-labelledby")
        for drawing in (README, Drawing(README.diagram, "matrix"), draw(other))
    }
    assert len(ids) == 3
