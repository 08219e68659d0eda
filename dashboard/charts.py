"""The measures of the charts; Jinja macros draw them."""

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
class Line:
    """The values of one line: x, value, low and high at each point."""

    label: str
    points: tuple[tuple[float, float, float, float], ...]

    @property
    def banded(self) -> bool:
        """Whether it has a band of intervals around it."""
        return any(low != high for _x, _value, low, high in self.points)


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines over a common axis, each with the height of its label; ``mark`` is a value drawn as a line across."""

    title: str
    description: str
    x_label: str
    width: float
    height: float
    x: Scale
    y: Scale
    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]
    mark: float | None
    lines: tuple[tuple[Line, float], ...]


def tick_values(low: float, high: float, about: int) -> tuple[float, ...]:
    """Give round numbers inside a range, near ``about`` of them.

    >>> tick_values(1432, 1610, 4)
    (1450.0, 1500.0, 1550.0, 1600.0)
    """
    raw = max((high - low) / about, 1e-6)
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.8)
    indices = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return tuple(round(step * index, 6) for index in indices)


def interval_scale(intervals: Sequence[tuple[float, float]]) -> Scale:
    """Make the one scale on which all intervals of a table are drawn."""
    low = min((interval[0] for interval in intervals), default=1400.0)
    high = max((interval[1] for interval in intervals), default=1600.0)
    return Scale(low, high, 6.0, BAR_WIDTH - 6.0)


def line_chart(
    title: str,
    description: str,
    x_label: str,
    lines: Sequence[Line],
    *,
    mark: float | None = None,
    height: float = CHART_HEIGHT,
) -> LineChart | None:
    """Lay out a chart over whole numbers; None if there is nothing to draw."""
    drawn = [line for line in lines if line.points]
    if not drawn:
        return None
    points = [point for line in drawn for point in line.points]
    values = [value for point in points for value in point[1:]] + ([mark] if mark is not None else [])
    pad = max(1.0, (max(values) - min(values)) * 0.04)
    x = Scale(min(points)[0], max(points)[0], LEFT, CHART_WIDTH - RIGHT)
    y = Scale(min(values) - pad, max(values) + pad, height - BOTTOM, TOP)
    heights = _spread([y.at(line.points[-1][1]) for line in drawn], 15.0, TOP + 4, height - BOTTOM)
    return LineChart(
        title,
        description,
        x_label,
        CHART_WIDTH,
        height,
        x,
        y,
        tuple(value for value in tick_values(x.low, x.high, 6) if value == int(value)) if x.high > x.low else (x.low,),
        tick_values(y.low, y.high, 5),
        mark,
        tuple(zip(drawn, heights, strict=True)),
    )


def _spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move labels apart so that none covers another, in their order."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    for index in order:
        placed[index] = max(wanted[index], low)
        low = placed[index] + gap
    for index in reversed(order):
        placed[index] = min(placed[index], high)
        high = placed[index] - gap
    return [round(place, 1) for place in placed]
