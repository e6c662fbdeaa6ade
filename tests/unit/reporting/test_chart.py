"""Charts: well-formed, within their frame, and described in words."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.reporting.chart import HEIGHT, WIDTH, Chart, Series, Shares, thinned

CURVES = st.dictionaries(st.integers(0, 1000), st.floats(-1e6, 1e6), min_size=1, max_size=9).map(
    lambda points: sorted(points.items())
)


@given(st.lists(CURVES, min_size=1, max_size=4), st.booleans())
def test_everything_is_within_the_frame(curves, logarithmic):
    styles = ("main", "faint", "dashed", "main")
    series = [Series(f"<{rank}>", curve, rank, styles[rank]) for rank, curve in enumerate(curves)]
    svg = Chart("a & b", series, 1000, [(500, "<x>")], logarithmic).svg()
    tree = ElementTree.fromstring(svg)
    assert tree.get("aria-label").startswith("a & b. <0>: from ")
    for path in tree.iter("path"):
        numbers = re.findall(r"-?[0-9.]+", path.get("d"))
        assert all(-0.1 <= float(number) <= WIDTH + 0.1 for number in numbers)
    for dot in tree.iter("circle"):
        assert 0 <= float(dot.get("cy")) <= HEIGHT
    titles = [title.text for title in tree.iter("title")]
    assert len([one for one in titles if one.startswith("step") and "\n" in one]) == len(
        {step for curve in curves for step, _ in curve}
    )


def test_one_point_is_a_dot():
    tree = ElementTree.fromstring(Chart("a", [Series("", [(3, 1.0)], 0, "faint")], 3).svg())
    assert len(list(tree.iter("circle"))) == 1


def test_long_curves_are_thinned():
    points = [(step, 1.0) for step in range(10_000)]
    few = thinned(points, 100)
    assert len(few) == 100
    assert (few[0], few[-1]) == (points[0], points[-1])
    assert len(Chart("a", [Series("", points)], 10_000).svg()) < 100_000


@pytest.mark.parametrize("steps", [[5], [0, 5, 10]])
def test_shares_are_stacked(steps):
    bands = [(name, [(step, 0.25) for step in steps]) for name in ("1 word", "2", "3", "4 & more")]
    bands[0][1].append((11, 0.25))  # a step at which the others are missing
    tree = ElementTree.fromstring(Shares("lengths", bands, 11, [(5, "x")]).svg())
    shapes = [path for path in tree.iter("path") if "band" in (path.get("class") or "")]
    tops = [min(float(y) for y in re.findall(r" ([0-9.]+)", path.get("d"))) for path in shapes]
    assert tops == sorted(tops, reverse=True)
    assert "4 & more: 25%" in tree.get("aria-label")
