"""Axes: round ticks that cover the values, and short numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btg_seq2seq.reporting.scales import scale_of, steps_scale, written

VALUES = st.floats(-1e12, 1e12).map(lambda value: 0.0 if abs(value) < 1e-9 else value)


@given(st.lists(VALUES, min_size=1, max_size=6), st.booleans())
def test_all_values_are_within_the_axis(values, logarithmic):
    scale = scale_of(values, may_be_logarithmic=logarithmic)
    for value in (*values, *scale.ticks):
        assert -1e-6 <= scale(value) <= 1 + 1e-6
    assert 1 <= len(scale.ticks) <= 12
    assert list(scale.ticks) == sorted(set(scale.ticks))


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0, 97], [0, 25, 50, 75, 100]),
        ([95, 99.9], [94, 96, 98, 100]),
        ([3, 3], [0, 1, 2, 3]),
        ([0, 0], [0, 0.25, 0.5, 0.75, 1]),
        ([-4, -0.1], [-4, -3, -2, -1, 0]),
        ([2.1799, 2.1801], [2.17, 2.18, 2.19]),
        ([2.17, 2.24], [2.16, 2.18, 2.2, 2.22, 2.24]),
    ],
)
def test_round_ticks(values, ticks):
    assert list(scale_of(values).ticks) == pytest.approx(ticks)


@given(st.lists(VALUES, min_size=1, max_size=6))
def test_no_two_ticks_have_the_same_label(values):
    labels = [written(tick) for tick in scale_of(values).ticks]
    assert len(set(labels)) == len(labels)


def test_values_that_differ_much():
    scale = scale_of([0.01, 100], may_be_logarithmic=True)
    assert scale.is_logarithmic
    assert scale(1) == pytest.approx(0.5)
    assert not scale_of([0.0, 100], may_be_logarithmic=True).is_logarithmic
    assert not scale_of([1, 20], may_be_logarithmic=True).is_logarithmic


@given(st.integers(0, 10**11))
def test_steps(last):
    scale = steps_scale(last)
    assert scale.ticks[0] == 0
    assert all(0 <= tick <= max(last, 1) for tick in scale.ticks)
    assert 1 < len(scale.ticks) <= 7


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "0"), (0.0123456, "0.0123"), (12.5, "12.5"), (100, "100"), (99.996, "100")),
        *((1234, "1234"), (25_000, "25k"), (2_500_000, "2.5M"), (-0.5, "\u22120.5")),
        *((2e-7, "2e\u22127"), (3e20, "3e20"), (1e-5, "1e\u22125")),
    ],
)
def test_numbers(value, text):
    assert written(value) == text


@given(st.floats(-1e300, 1e300))
def test_any_number_is_short_and_right(value):
    text = written(value).replace("\u2212", "-")
    assert len(text) <= 9
    factor = {"M": 1e6, "k": 1e3}.get(text[-1], 1)
    assert math.isclose(float(text.rstrip("kM")) * factor, value, rel_tol=0.06, abs_tol=1e-300)
