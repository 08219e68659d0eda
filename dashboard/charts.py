"""The measures of the charts; Jinja macros draw them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

BAR_WIDTH = 152.0
CHART_WIDTH = 720.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 128.0, 12.0, 30.0

Point = tuple[float, float, float, float]
"""x, value, and the low and high end of its interval."""


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


def tick_values(low: float, high: float, about: int) -> list[float]:
    """Give round numbers inside a range, near ``about`` of them.

    >>> tick_values(1432, 1610, 4)
    [1450.0, 1500.0, 1550.0, 1600.0]
    """
    raw = max((high - low) / about, 1e-6)
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.8)
    indices = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return [round(step * index, 6) for index in indices]


def interval_scale(rows: Iterable[Any]) -> Scale:
    """Make the one scale on which the intervals of all rows of the standings are drawn."""
    ends = [end for row in rows if row.matches for end in (row.low, row.rating, row.high) if end is not None]
    return Scale(min(ends, default=1400.0), max(ends, default=1600.0), 6.0, BAR_WIDTH - 6.0)


class LineChart:
    """Lines over whole numbers: their scales and ticks, and for each line its label, the label's height and its points.

    ``mark`` is a value drawn as a line across.
    """

    def __init__(
        self, lines: Sequence[tuple[str, Sequence[Point]]], mark: float | None = None, height: float = 300.0
    ) -> None:
        self.width, self.height, self.mark = CHART_WIDTH, height, mark
        points = [point for _, line in lines for point in line]
        values = [value for point in points for value in point[1:]] + ([mark] if mark is not None else [])
        pad = max(1.0, (max(values) - min(values)) * 0.04)
        self.x = Scale(min(points)[0], max(points)[0], LEFT, CHART_WIDTH - RIGHT)
        self.y = Scale(min(values) - pad, max(values) + pad, height - BOTTOM, TOP)
        self.x_ticks = [value for value in tick_values(self.x.low, self.x.high, 6) if value == int(value)]
        self.y_ticks = tick_values(self.y.low, self.y.high, 5)
        heights = _spread([self.y.at(line[-1][1]) for _, line in lines], 15.0, TOP + 4, height - BOTTOM)
        self.lines = [(label, place, line) for (label, line), place in zip(lines, heights, strict=True)]


def rating_chart(checkpoints: Sequence[int], lines: Iterable[Any]) -> LineChart | None:
    """Chart the history of ratings, placement left out; None if there is nothing to draw."""
    drawn: list[tuple[str, list[Point]]] = []
    for line in lines:
        points = [
            (float(at), point.rating, point.low or point.rating, point.high or point.rating)
            for at, point in zip(checkpoints, line.points, strict=True)
            if not point.provisional
        ]
        if points:
            drawn.append((f"{line.bot.name} v{line.bot.version}", points))
    return LineChart(drawn) if drawn else None


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
