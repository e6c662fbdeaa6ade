"""Axes of charts: ranges, ticks at round numbers, and numbers as they are written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MINUS = "\u2212"
DIGITS = 3  # significant digits of a number as it is written
LOGARITHMIC_FROM = 30.0  # ratio of the largest value to the smallest


@dataclass(frozen=True)
class Scale:
    """Maps values to positions between 0 and 1; its ticks are round numbers."""

    low: float
    high: float
    ticks: tuple[float, ...]
    is_logarithmic: bool = False

    def __call__(self, value: float) -> float:
        if self.is_logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def scale_of(values: Iterable[float], *, may_be_logarithmic: bool = False) -> Scale:
    """Choose the scale of a vertical axis; it begins at 0 unless that would waste most of it."""
    known = list(values)
    low, high = min(known), max(known)
    if may_be_logarithmic and low > 0 and high / low > LOGARITHMIC_FROM:
        return _logarithmic(low, high)
    is_flat = high - low <= 1e-9 * max(abs(low), abs(high))
    if 0 < low <= 0.7 * high or (is_flat and high > 0):
        low = 0.0
    elif high < 0 and (low < 1.5 * high or is_flat):
        high = 0.0
    elif low == high:
        high = 1.0
    largest = max(abs(low), abs(high))
    finest = 10.0 ** (math.floor(math.log10(largest)) - DIGITS + 1)  # so that labels differ
    step = _round_step(max((high - low) / 4, finest), finest)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(step * count for count in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def steps_scale(last: int) -> Scale:
    """Choose the horizontal axis: steps of training, from 0."""
    last = max(last, 1)
    step = math.ceil(_round_step(last / 5))
    ticks = tuple(float(tick) for tick in range(0, last + 1, step))
    return Scale(0.0, float(last), ticks)


def written(value: float) -> str:
    """Write a number in few characters: ``0.012``, ``12.5``, ``3k``, ``2e-7``."""
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        text = f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    elif size >= 1e6:
        text = f"{_plain(value / 1e6)}M"
    elif size >= 1e4:
        text = f"{_plain(value / 1e3)}k"
    else:
        text = _plain(value)
    return text.replace("-", MINUS)


def _plain(value: float) -> str:
    """Write three significant digits, and all digits before the point."""
    if value == 0:
        return "0"
    digits = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _logarithmic(low: float, high: float) -> Scale:
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    powers = [10.0**power for power in range(first, last + 1)]
    # With few powers of ten, ticks between them help; with many, some are left out.
    if high / low < 300:
        ticks = [power * part for power in powers for part in (1, 2, 5)]
    elif high / low < 3000:
        ticks = [power * part for power in powers for part in (1, 3)]
    else:
        ticks = powers[:: -(-len(powers) // 6)]
    low, high = max(low, powers[0]) / 1.15, min(high, powers[-1]) * 1.15
    return Scale(low, high, tuple(tick for tick in ticks if low <= tick <= high), True)


def _round_step(width: float, finest: float = 0.0) -> float:
    power: float = 10.0 ** math.floor(math.log10(width) + 1e-9)
    parts = (1, 2, 5, 10) if power < 2 * finest else (1, 2, 2.5, 5, 10)
    return next(power * part for part in parts if width <= power * part * (1 + 1e-9))
