"""Geometry of the charts in CSS pixels, for wide screens and for narrow ones; `charts.html.j2` draws them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .chart_rows import Counts, Gantt

WIDE, NARROW = 1040, 340
"""CSS pixels of a chart, its labels included."""
_TICKS = {WIDE: 6, NARROW: 4}
"""The most intervals of a time axis, by the width of the chart."""
_LETTER = 8
"""CSS pixels of a letter of a label, in fonts that are rather wide."""
_ROW, _BAR = 24, 16
"""Heights of a row and of the bar in it."""
_AXIS = 44
"""Height of a time axis: its numbers and its title."""
_PLOT = 160
"""Height of the plot of a chart of counts."""
_COLOURS = 4
"""Roles that have a colour and a dash pattern of their own; a fifth has those of the first."""


_UNITS = (("days", 86400, 3 * 86400), ("hours", 3600, 3 * 3600), ("minutes", 60, 180), ("seconds", 1, 0))
"""A unit, its seconds, and from how many seconds on an axis has it."""


class Tick(NamedTuple):
    """Place a line of the grid and its number."""

    at: float
    text: str


class TimeAxis(NamedTuple):
    """Place the time axis: its plot from `left` to `right`, its ticks, and the height at which it stands."""

    left: float
    right: float
    top: float
    ticks: tuple[Tick, ...]
    title: str


class Text(NamedTuple):
    """Place a text; `kind` is a class of the page's style."""

    x: float
    y: float
    text: str
    kind: str = ""


class DrawnBar(NamedTuple):
    """Place a bar; `says` is what a pointer or a screen reader is given."""

    x: float
    y: float
    width: float
    phase: str
    says: str


class DrawnGantt(NamedTuple):
    """Hold a chart of bars in rows."""

    width: int
    height: int
    axis: TimeAxis
    labels: tuple[Text, ...]
    bars: tuple[DrawnBar, ...]
    marks: tuple[Text, ...]
    bar_height: int = _BAR


class Line(NamedTuple):
    """Place the steps of a role: the path, its colour's number, and where the legend has its name."""

    path: str
    colour: int
    label: Text


class DrawnCounts(NamedTuple):
    """Hold a chart of how many tasks of each role ran at a time; `levels` are the numbers of its upright axis."""

    width: int
    height: int
    axis: TimeAxis
    levels: tuple[Tick, ...]
    lines: tuple[Line, ...]


def drawn_gantt(gantt: Gantt, width: int) -> DrawnGantt:
    """Return the chart of bars in rows, the rows from above."""
    rows = {row: number for number, row in enumerate(gantt.rows)}
    names = [_short(row, width) for row in gantt.rows]
    left = 14 + _LETTER * max(map(len, names), default=0)
    right = width - 8 - _room(gantt, width - 8 - left)
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


def drawn_counts(counts: Counts, width: int) -> DrawnCounts:
    """Return the chart of how many tasks ran at a time: a line of steps for each role, with a legend above."""
    most = max((count for _, _, count in counts.points), default=0)
    left, right = 14 + _LETTER * len(str(most)), width - 8
    places, rows = _legend(counts.roles, width)
    top = 10 + _ROW * rows
    x_scale, y_scale = (right - left) / (counts.seconds or 1), _PLOT / (most or 1)
    steps: dict[str, list[tuple[float, float]]] = {role: [] for role in counts.roles}
    for role, at, count in counts.points:
        steps[role].append((left + at * x_scale, top + _PLOT - count * y_scale))
    step = max(1, int(_step(most, 4)))
    return DrawnCounts(
        width=width,
        height=top + _PLOT + _AXIS,
        axis=_time_axis(left, right, top + _PLOT, counts.seconds, counts.since, width),
        levels=tuple(Tick(top + _PLOT - level * y_scale, str(level)) for level in range(0, most + 1, step)),
        lines=tuple(
            Line(_stairs(steps[role]), number % _COLOURS, places[number]) for number, role in enumerate(counts.roles)
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
    """Return the name of the unit for an axis of so many seconds, and how many seconds it has."""
    return next((name, size) for name, size, least in _UNITS if seconds >= least)


def _step(end: float, most: int) -> float:
    """Return the least of 1, 2, 5, 10, 20 … that divides `end` into at most so many intervals."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if end / step <= most:
                return step
        size *= 10


def _stairs(points: list[tuple[float, float]]) -> str:
    """Return the path through points, level up to each and then upright."""
    if not points:
        return ""
    (x, y), *_ = points
    return f"M{x:.2f},{y:.2f}" + "".join(f"H{after[0]:.2f}V{after[1]:.2f}" for _, after in pairwise(points))


def _legend(roles: tuple[str, ...], width: int) -> tuple[list[Text], int]:
    """Return where each role's name stands, a line of its colour before it, and how many rows that takes."""
    places: list[Text] = []
    x, row = 0, 0
    for role in roles:
        name = _short(role, width)
        needs = 40 + _LETTER * len(name)
        if x and x + needs > width:
            x, row = 0, row + 1
        places.append(Text(x + 26, _ROW * row + _ROW / 2 + 4, name))
        x += needs
    return places, row + 1


def _room(gantt: Gantt, plot: int) -> int:
    """Return the pixels that have to be free at the right, so that the word at the end of each row fits."""
    return min(max([8, *_needs(gantt, plot)]), plot // 2)


def _needs(gantt: Gantt, plot: int) -> Iterator[int]:
    for mark in gantt.marks:
        word = _LETTER * (len(mark.text) + 1)
        yield round(plot - (plot - word) * gantt.seconds / mark.at) if mark.at else word


def _short(text: str, width: int) -> str:
    """Return a label that fits into a third of a chart."""
    most = width // 3 // _LETTER
    return text if len(text) <= most else f"{text[: most - 1]}…"
