"""PNG, with the fonts of this machine."""

import struct
import sys

import pytest
from pictures import HOSTILE, PICTURES

from btg_seq2seq.drawing.drawing import draw
from btg_seq2seq.drawing.png import rasterised
from btg_seq2seq.errors import UserError


def size(content):
    assert content.startswith(b"\x89PNG\r\n")
    return struct.unpack(">II", content[16:24])


def needs_the_renderer():
    pytest.importorskip("resvg_py", reason="pip install resvg-py for PNG")


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_has_its_size(name):
    needs_the_renderer()
    drawing = PICTURES[name]
    width, height = (
        int(drawing.svg.partition(f' {side}="')[2].partition('"')[0])
        for side in ("width", "height")
    )
    assert size(drawing.png(1)) == (width, height)
    assert size(drawing.png(2)) == (2 * width, 2 * height)


def test_themes_and_hostile_text(tmp_path):
    needs_the_renderer()
    assert size(draw(HOSTILE).png(0.5))
    diagram = PICTURES["derivation.svg"]
    auto, light, dark = (
        type(diagram)(diagram.diagram, theme=theme).png() for theme in ("auto", "light", "dark")
    )
    assert auto == light != dark
    diagram.save(tmp_path / "a.png", 1)
    assert (tmp_path / "a.png").read_bytes() == diagram.png(1)


def test_bounds():
    needs_the_renderer()
    svg = PICTURES["derivation.svg"].svg
    for scale in (0, -1, 11, float("nan")):
        with pytest.raises(UserError, match="scale must be above 0"):
            rasterised(svg, scale)
    with pytest.raises(UserError, match="choose a smaller scale"):
        rasterised(svg.replace('viewBox="0 0 ', 'viewBox="0 0 99'), 10)


def test_without_the_renderer(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(UserError, match="pip install resvg-py"):
        PICTURES["derivation.svg"].png()
