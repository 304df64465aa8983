"""Geometry of the charts in CSS pixels, for wide and narrow screens; `charts.html.j2` draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .chart_rows import Gantt

WIDE, NARROW = 1040, 340
"""Widths of a chart in CSS pixels, including its labels."""
_TICKS = {WIDE: 6, NARROW: 4}
"""The most intervals of a time axis, by chart width."""
LETTER = 8
"""Width of a letter in CSS pixels, estimated for wide fonts."""
_ROW, _BAR = 24, 16
"""Heights of a row and of the bar in it."""
_AXIS = 44
"""Height of a time axis: its numbers and its title."""
_UNITS = (("days", 86400, 3 * 86400), ("hours", 3600, 3 * 3600), ("minutes", 60, 180), ("seconds", 1, 0))
"""A unit, its length in seconds, and the shortest axis in seconds that uses it."""


class Tick(NamedTuple):
    """A grid line with its number."""

    at: float
    text: str


class TimeAxis(NamedTuple):
    """The time axis at the height `top`, with its plot from `left` to `right`."""

    left: float
    right: float
    top: float
    ticks: tuple[Tick, ...]
    title: str


class Text(NamedTuple):
    """A text; `kind` is a CSS class."""

    x: float
    y: float
    text: str
    kind: str = ""


class DrawnBar(NamedTuple):
    """A bar; `says` is the text for tooltips and screen readers."""

    x: float
    y: float
    width: float
    phase: str
    says: str


class DrawnGantt(NamedTuple):
    """A chart of bars in rows."""

    width: int
    height: int
    axis: TimeAxis
    labels: tuple[Text, ...]
    bars: tuple[DrawnBar, ...]
    marks: tuple[Text, ...]
    bar_height: int = _BAR


def drawn_gantt(gantt: Gantt, width: int) -> DrawnGantt:
    """Return the chart of bars, its first row at the top."""
    rows = {row: number for number, row in enumerate(gantt.rows)}
    names = [_shortened(row, width) for row in gantt.rows]
    left = 14 + LETTER * max(map(len, names), default=0)
    right = width - 8 - _right_margin(gantt, width - 8 - left)
    scale = (right - left) / (gantt.seconds or 1)
    bottom = _ROW * len(rows)
    middle = _ROW / 2 + 4
    return DrawnGantt(
        width=width,
        height=bottom + _AXIS,
        axis=_time_axis(left, right, bottom, gantt.seconds, gantt.since, width),
        labels=tuple(Text(0, _ROW * number + middle, name) for number, name in enumerate(names)),
        bars=tuple(
            DrawnBar(
                x=round(left + bar.begins * scale, 2),
                y=_ROW * rows[bar.row] + (_ROW - _BAR) / 2,
                width=round(max((bar.ends - bar.begins) * scale, 1), 2),
                phase=bar.phase,
                says=bar.says,
            )
            for bar in gantt.bars
        ),
        marks=tuple(
            Text(
                x=round(left + mark.at * scale + 6, 2),
                y=_ROW * rows[mark.row] + middle,
                text=mark.text,
                kind="failed" if mark.failed else "quiet",
            )
            for mark in gantt.marks
        ),
    )


def _time_axis(left: float, right: float, top: float, seconds: int, since: str, width: int) -> TimeAxis:
    unit, size = axis_unit(seconds)
    end = seconds / size
    step = _step(end, _TICKS[width])
    scale = (right - left) / (end or 1)
    times = [number * step for number in range(int(end / step) + 1)]
    ticks = tuple(Tick(round(left + time * scale, 2), f"{time:g}") for time in times)
    return TimeAxis(left, right, top, ticks, f"{unit} since {since}")


def axis_unit(seconds: int) -> tuple[str, int]:
    """Return the unit for an axis of `seconds`: its name and its length in seconds."""
    return next((name, size) for name, size, least in _UNITS if seconds >= least)


def _step(end: float, most: int) -> float:
    """Return the least of 1, 2, 5, 10, 20 … that divides `end` into at most `most` intervals."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if end / step <= most:
                return step
        size *= 10


def _right_margin(gantt: Gantt, plot: int) -> int:
    """Return the pixels to keep free at the right for the words at the ends of rows."""
    widest = 8
    for mark in gantt.marks:
        word = LETTER * (len(mark.text) + 1)
        widest = max(widest, round(plot - (plot - word) * gantt.seconds / mark.at) if mark.at else word)
    return min(widest, plot // 2)


def _shortened(text: str, width: int) -> str:
    """Shorten a label to a third of the chart."""
    most = width // 3 // LETTER
    return text if len(text) <= most else f"{text[: most - 1]}…"
