"""Charts of curves over the steps of training, and of shares stacked on each other, as SVG.

A chart is a part of a page: colours come from the page's style sheet. Lines can be pointed at: a
strip at every step has the values of all curves as its title, so that no script is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from btg_seq2seq.drawing.svg import element, escaped, group, path
from btg_seq2seq.reporting.run_files import Curve
from btg_seq2seq.reporting.scales import Scale, scale_of, steps_scale, written

WIDTH, HEIGHT = 400, 210
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 10, 28
MOST_POINTS = 240  # of a curve
MOST_STRIPS = 120
MOST_DOTS = 40

Line = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Series:
    """A curve of a chart.

    Args:
        label: for the legend and on hover.
        points: steps and values.
        run: number of the run, which has a colour.
        style: ``main``, ``faint`` for what is looked at second, or ``dashed``.
    """

    label: str
    points: Curve
    run: int = 0
    style: str = "main"

    @property
    def last(self) -> float:
        """The last value."""
        return self.points[-1][1]


@dataclass(frozen=True)
class Chart:
    """Curves in one frame.

    Args:
        title: what is measured, for screen readers.
        series: at least one, each with points.
        last_step: end of the horizontal axis.
        marks: steps with a dotted line, and what happens there.
        may_be_logarithmic: values may be drawn by their logarithms if they differ much.
    """

    title: str
    series: Sequence[Series]
    last_step: int
    marks: Sequence[tuple[int, str]] = ()
    may_be_logarithmic: bool = False

    @property
    def scale(self) -> Scale:
        """The vertical axis."""
        values = [value for one in self.series for _, value in one.points]
        return scale_of(values, may_be_logarithmic=self.may_be_logarithmic)

    def svg(self) -> str:
        """Write the chart."""
        across, up = steps_scale(self.last_step), self.scale
        lines = [
            part
            for style in ("faint", "main", "dashed")
            for one in self.series
            if one.style == style
            for part in self._curve(one, across, up)
        ]
        parts = [
            _axes(across, up),
            *(_mark(across, step, name) for step, name in self.marks if step < self.last_step),
            *lines,
            *self._strips(across),
        ]
        return _frame(self.title, self._description, parts)

    @property
    def _description(self) -> str:
        said = (
            _said(
                one.label,
                f"from {written(one.points[0][1])} at step {one.points[0][0]} to "
                f"{written(one.last)} at step {one.points[-1][0]}",
            )
            for one in self.series
        )
        return "; ".join(said) + "."

    def _curve(self, series: Series, across: Scale, up: Scale) -> Iterable[str]:
        points = [(_x(across, step), _y(up, value)) for step, value in thinned(series.points)]
        if len(points) > 1:
            steps = [part for x, y in points for part in ("L", x, y)]
            data = path("M", *steps[1:])
            yield element("path", d=data, class_=f"line {series.style} run{series.run}")
        if len(points) == 1 or (series.style != "faint" and len(points) <= MOST_DOTS):
            for x, y in points:
                yield element(
                    "circle", cx=x, cy=y, r=2.6, class_=f"dot {series.style} run{series.run}"
                )

    def _strips(self, across: Scale) -> Iterable[str]:
        """Write invisible strips that show the values at their step on hover."""
        values: dict[int, list[str]] = {}
        for one in self.series:
            for step, value in one.points:
                values.setdefault(step, []).append(_said(one.label, written(value)))
        steps = [step for step, _ in thinned([(step, 0.0) for step in sorted(values)], MOST_STRIPS)]
        places = [_x(across, step) for step in steps]
        for rank, (step, x) in enumerate(zip(steps, places, strict=True)):
            left = (places[rank - 1] + x) / 2 if rank else LEFT
            right = (x + places[rank + 1]) / 2 if rank + 1 < len(steps) else WIDTH - RIGHT
            strip = element("rect", x=left, y=TOP, width=right - left, height=HEIGHT - TOP - BOTTOM)
            needle = element("path", d=path("M", x, TOP, "V", HEIGHT - BOTTOM))
            title = "\n".join([f"step {step:,}", *values[step]])
            yield group([strip, needle], title, class_="strip")


@dataclass(frozen=True)
class Shares:
    """Shares of a whole over the steps, stacked on each other."""

    title: str
    bands: Sequence[tuple[str, Curve]]  # from the bottom; labels and shares
    last_step: int
    marks: Sequence[tuple[int, str]] = ()

    def svg(self) -> str:
        """Write the chart; steps at which a share is missing are left out."""
        across = steps_scale(self.last_step)
        up = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
        by_step = [dict(curve) for _, curve in self.bands]
        common = sorted(set.intersection(*(set(shares) for shares in by_step)))
        steps = [step for step, _ in thinned([(step, 0.0) for step in common])]
        below = [0.0] * len(steps)
        parts = []
        for rank, shares in enumerate(by_step):
            above = [
                low + min(max(shares[step], 0.0), 1.0)
                for low, step in zip(below, steps, strict=True)
            ]
            parts.append(self._band(rank, steps, below, above, across, up))
            below = above
        marks = [_mark(across, step, name) for step, name in self.marks if step < self.last_step]
        axes = _axes(across, up, percent=True)
        return _frame(self.title, self._description(by_step), [*parts, axes, *marks])

    def _band(
        self,
        rank: int,
        steps: Sequence[int],
        below: Sequence[float],
        above: Sequence[float],
        across: Scale,
        up: Scale,
    ) -> str:
        xs = [_x(across, step) for step in steps]
        if len(xs) == 1:  # a bar for the only step
            xs, below, above = [xs[0] - 6, xs[0] + 6], [*below] * 2, [*above] * 2
        over = list(zip(xs, (_y(up, min(value, 1.0)) for value in above), strict=True))
        under = list(zip(xs, (_y(up, min(value, 1.0)) for value in below), strict=True))
        points = [part for x, y in over + under[::-1] for part in ("L", x, y)]
        shape = element("path", d=path("M", *points[1:], "Z"), class_=f"band band{rank}")
        label, curve = self.bands[rank]
        return group([shape], f"{label}: {written(100 * curve[-1][1])}% at the end")

    def _description(self, by_step: Sequence[dict[int, float]]) -> str:
        ends = (
            f"{label}: {written(100 * curve[-1][1])}%"
            for (label, curve), shares in zip(self.bands, by_step, strict=True)
            if shares
        )
        return "At the end, " + "; ".join(ends) + "."


def thinned(points: Curve, most: int = MOST_POINTS) -> Curve:
    """Leave out points evenly; the first and the last stay."""
    if len(points) <= most:
        return points
    ranks = (round(rank * (len(points) - 1) / (most - 1)) for rank in range(most))
    return [points[rank] for rank in ranks]


def _said(label: str, text: str) -> str:
    return f"{label}: {text}" if label else text


def _x(across: Scale, step: float) -> float:
    return LEFT + across(step) * (WIDTH - LEFT - RIGHT)


def _y(up: Scale, value: float) -> float:
    return HEIGHT - BOTTOM - up(value) * (HEIGHT - TOP - BOTTOM)


def _axes(across: Scale, up: Scale, *, percent: bool = False) -> str:
    bottom = HEIGHT - BOTTOM
    parts = []
    for tick in up.ticks:
        y = _y(up, tick)
        parts.append(element("path", d=path("M", LEFT, y, "H", WIDTH - RIGHT), class_="grid"))
        label = f"{round(100 * tick)}%" if percent else written(tick)
        parts.append(element("text", escaped(label), x=LEFT - 7, y=y + 4, class_="end"))
    for rank, tick in enumerate(across.ticks):
        x = _x(across, tick)
        parts.append(element("path", d=path("M", x, bottom, "V", bottom + 4), class_="tick"))
        # The last label may not stand beyond the edge.
        near = x > WIDTH - RIGHT - 8
        name = "step 0" if rank == 0 else written(tick)
        parts.append(
            element(
                "text",
                name,
                x=x + (RIGHT if near else 0),
                y=bottom + 17,
                class_="end" if near else None,
            )
        )
    parts.append(element("path", d=path("M", LEFT, bottom, "H", WIDTH - RIGHT), class_="axis"))
    return "".join(parts)


def _mark(across: Scale, step: int, name: str) -> str:
    x = _x(across, step)
    line = element("path", d=path("M", x, TOP, "V", HEIGHT - BOTTOM), class_="mark")
    return group([line], f"step {step:,}: {name}")


def _frame(title: str, description: str, parts: Iterable[str]) -> str:
    label = f"{title}. {description}"
    return element(
        "svg",
        "".join(parts),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=label,
        class_="chart",
    )
