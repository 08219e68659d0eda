"""The geometry of the charts: numbers in, coordinates out; Jinja macros draw them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

BAR_WIDTH = 152.0
CHART_WIDTH = 720.0
CHART_HEIGHT = 300.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 128.0, 12.0, 30.0


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map of values to coordinates."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        """Give the coordinate of a value, kept inside the drawing.

        >>> Scale(0, 10, 0, 100).at(2.5), Scale(0, 10, 0, 100).at(99)
        (25.0, 100.0)
        """
        span = self.high - self.low or 1.0
        share = min(1.0, max(0.0, (value - self.low) / span))
        return round(self.start + share * (self.stop - self.start), 1)


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval on the shared scale of a table; an end that is open has no end mark."""

    low: float
    mid: float
    high: float
    centre: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled line of a chart."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart with its band; coordinates as SVG wants them."""

    label: str
    line: str
    band: str
    end_x: float
    end_y: float
    label_y: float


@dataclass(frozen=True, slots=True)
class LineChart:
    """A chart of lines over a common axis."""

    title: str
    description: str
    x_label: str
    width: float
    height: float
    left: float
    right: float
    bottom: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    mark: float | None
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """The values of one line: x, value, low and high at each point."""

    label: str
    points: tuple[tuple[float, float, float, float], ...]


def tick_values(low: float, high: float, about: int) -> list[float]:
    """Give round numbers inside a range, near ``about`` of them.

    >>> tick_values(1432, 1610, 4)
    [1450.0, 1500.0, 1550.0, 1600.0]
    """
    step = _round_step((high - low) / max(1, about))
    first = math.ceil(low / step - 1e-9)
    return [round(step * index, 6) for index in range(first, math.floor(high / step + 1e-9) + 1)]


def _round_step(raw: float) -> float:
    raw = max(raw, 1e-6)
    size = 10.0 ** math.floor(math.log10(raw))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.8)


def interval_scale(intervals: Sequence[tuple[float, float]]) -> Scale:
    """Make the one scale on which all intervals of a table are drawn."""
    low = min((interval[0] for interval in intervals), default=1400.0)
    high = max((interval[1] for interval in intervals), default=1600.0)
    return Scale(low, high, 6.0, BAR_WIDTH - 6.0)


def bar(scale: Scale, low: float, mid: float, high: float, centre: float = 1500.0) -> Bar:
    """Place an interval on a scale."""
    return Bar(scale.at(low), scale.at(mid), scale.at(high), scale.at(centre))


def line_chart(
    title: str,
    description: str,
    x_label: str,
    lines: Sequence[Line],
    *,
    mark: float | None = None,
    height: float = CHART_HEIGHT,
    whole_x: bool = True,
) -> LineChart | None:
    """Lay out a chart; None if there is nothing to draw."""
    points = [point for line in lines for point in line.points]
    if not points:
        return None
    values = [value for point in points for value in point[1:]] + ([mark] if mark is not None else [])
    pad = max(1.0, (max(values) - min(values)) * 0.04)
    across = Scale(min(point[0] for point in points), max(point[0] for point in points), LEFT, CHART_WIDTH - RIGHT)
    up = Scale(min(values) - pad, max(values) + pad, height - BOTTOM, TOP)
    ends = [up.at(line.points[-1][1]) for line in lines if line.points]
    label_ys = _spread(ends, 15.0, TOP + 4, height - BOTTOM)
    drawn = [line for line in lines if line.points]
    series = tuple(_series(line, across, up, y) for line, y in zip(drawn, label_ys, strict=True))
    x_values = tick_values(across.low, across.high, 6) if across.high > across.low else [across.low]
    if whole_x:
        x_values = [value for value in x_values if value == int(value)]
    return LineChart(
        title,
        description,
        x_label,
        CHART_WIDTH,
        height,
        LEFT,
        CHART_WIDTH - RIGHT,
        height - BOTTOM,
        tuple(Tick(across.at(value), f"{value:g}") for value in x_values),
        tuple(
            Tick(up.at(value), f"{value:g}".replace("-", "\N{MINUS SIGN}")) for value in tick_values(up.low, up.high, 5)
        ),
        None if mark is None else up.at(mark),
        series,
    )


def _series(line: Line, across: Scale, up: Scale, label_y: float) -> Series:
    middle = [f"{across.at(x)},{up.at(value)}" for x, value, _low, _high in line.points]
    upper = [f"{across.at(x)},{up.at(high)}" for x, _value, _low, high in line.points]
    lower = [f"{across.at(x)},{up.at(low)}" for x, _value, low, _high in line.points]
    flat = all(low == high for _x, _value, low, high in line.points)
    x, value, _low, _high = line.points[-1]
    band = "" if flat else " ".join(upper + lower[::-1])
    return Series(line.label, " ".join(middle), band, across.at(x), up.at(value), label_y)


def _spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels apart so that none covers another, in their order."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    floor = low
    for index in order:
        placed[index] = max(wanted[index], floor)
        floor = placed[index] + gap
    ceiling = high
    for index in reversed(order):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - gap
    return [round(place, 1) for place in placed]
