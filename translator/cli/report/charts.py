"""Charts of a report: what is to be drawn, in Vega-Lite, once for wide screens and once for narrow ones.

Colours are variables of the page's style, so that a chart follows it to dark and to print.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...report.durations import axis_unit
from ...report.model import PHASES
from ..output.console import one_line

if TYPE_CHECKING:
    from ...report.chart_rows import Counts, Gantt

WIDE, NARROW = 1040, 340
"""CSS pixels of a chart, its labels included."""
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VEGA_LITE = "6.4"
_FONT = "system-ui, sans-serif"
LETTER = 8
"""CSS pixels of a letter of a label, in fonts that are rather wide."""


def gantt_spec(gantt: Gantt, width: int) -> dict[str, Any]:
    """Return the chart of bars in rows."""
    unit, size = axis_unit(gantt.seconds)
    ids = {row: str(number) for number, row in enumerate(gantt.rows)}
    labels = {ids[row]: _short(one_line(row), width) for row in gantt.rows}
    extent = 14 + LETTER * max(map(len, labels.values()), default=0)
    plot = width - extent - 8
    bars = [
        {"row": ids[b.row], "from": b.begins / size, "to": b.ends / size, "phase": b.phase, "says": b.says}
        for b in gantt.bars
    ]
    marks = [
        {"row": ids[m.row], "at": m.at / size, "text": m.text, "ink": "var(--bad)" if m.failed else "var(--muted)"}
        for m in gantt.marks
    ]
    row = {
        "field": "row",
        "type": "nominal",
        "sort": None,
        "title": None,
        "scale": {"domain": list(labels), "paddingInner": 0.3, "paddingOuter": 0.2},
        "axis": {
            "labelExpr": _lookup(labels),
            "ticks": False,
            "domain": False,
            "labelLimit": width,
            "labelAlign": "left",
            "labelPadding": extent,
            "minExtent": extent,
            "maxExtent": extent,
        },
    }
    end = gantt.seconds / size or 1
    room = _room(gantt, plot)
    bar_layer = {
        "data": {"values": bars},
        "mark": {"type": "bar", "cornerRadius": 1},
        "encoding": {
            "y": row,
            "x": {
                "field": "from",
                "type": "quantitative",
                "title": f"{unit} since {gantt.since}",
                "scale": {"domain": [0, end], "nice": False, "range": [0, plot - room]},
                "axis": {"tickCount": 6 if width == WIDE else 4},
            },
            "x2": {"field": "to"},
            "color": {
                "field": "phase",
                "type": "nominal",
                "scale": {"domain": list(PHASES), "range": [f"var(--{phase})" for phase in PHASES]},
                "legend": None,
            },
            "stroke": {
                "field": "phase",
                "type": "nominal",
                "scale": {"domain": list(PHASES), "range": [f"var(--{phase})" for phase in PHASES]},
                "legend": None,
            },
            "description": {"field": "says"},
        },
    }
    text_layer = {
        "data": {"values": marks},
        "mark": {"type": "text", "align": "left", "dx": 6, "aria": False},
        "encoding": {
            "y": row,
            "x": {"field": "at", "type": "quantitative"},
            "text": {"field": "text"},
            "color": {"field": "ink", "type": "nominal", "scale": None},
        },
    }
    return _page({"layer": [bar_layer, text_layer] if marks else [bar_layer]}, plot, len(labels) * 24)


def counts_spec(counts: Counts, width: int) -> dict[str, Any]:
    """Return the chart of how many tasks ran at a time, the roles on each other."""
    unit, size = axis_unit(counts.seconds)
    ids = {role: str(number) for number, role in enumerate(counts.roles)}
    labels = {ids[role]: one_line(role) for role in counts.roles}
    values = [{"role": ids[role], "at": at / size, "count": count} for role, at, count in counts.points]
    colours = [f"var(--role-{number % 4})" for number in range(len(labels))]
    layer = {
        "data": {"values": values},
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5},
        "encoding": {
            "x": {
                "field": "at",
                "type": "quantitative",
                "title": f"{unit} since {counts.since}",
                "axis": {"tickCount": 6 if width == WIDE else 4},
            },
            "y": {"field": "count", "type": "quantitative", "title": "tasks", "axis": {"tickMinStep": 1}},
            "color": {
                "field": "role",
                "type": "nominal",
                "scale": {"domain": list(labels), "range": colours},
                "legend": {"labelExpr": _lookup(labels), "orient": "top", "title": None, "symbolType": "stroke"},
            },
            "strokeDash": {
                "field": "role",
                "type": "nominal",
                "scale": {"domain": list(labels), "range": [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]]},
                "legend": None,
            },
        },
    }
    return _page(layer, width - 60, 160)


def _room(gantt: Gantt, plot: int) -> int:
    """Return the pixels that have to be free at the right, so that the word at the end of each row fits."""
    needs = [8]
    for mark in gantt.marks:
        word = LETTER * (len(mark.text) + 1)
        needs.append(round(plot - (plot - word) * gantt.seconds / mark.at) if mark.at else word)
    return min(max(needs), plot // 2)


def _short(text: str, width: int) -> str:
    """Return a label that fits into a third of a chart."""
    most = width // 3 // LETTER
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _lookup(labels: dict[str, str]) -> str:
    """Return an expression of Vega for the label of a value: its text is a literal of JSON, whatever is in it.

    Vega takes a literal that is the name of one of its functions, such as `if`, for a call of it: none here is.
    """
    import json

    literal = json.dumps({value: f"={label}" for value, label in labels.items()})
    return f"slice(({literal})[datum.value], 1)"


def _page(layer: dict[str, Any], width: int, height: int) -> dict[str, Any]:
    axis = {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "gridColor": "var(--rule)",
        "domainColor": "var(--rule)",
        "tickColor": "var(--rule)",
        "labelFont": _FONT,
        "titleFont": _FONT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    return {
        "$schema": _SCHEMA,
        "width": width,
        "height": max(24, height),
        "background": "transparent",
        "padding": {"left": 0, "right": 4, "top": 4, "bottom": 4},
        **layer,
        "config": {
            "font": _FONT,
            "axis": axis,
            "axisY": {"grid": False, "labelColor": "var(--ink)"},
            "view": {"stroke": None},
            "text": {"fontSize": 12, "color": "var(--ink)"},
            "legend": {"labelColor": "var(--ink)", "labelFontSize": 12, "labelLimit": 160},
        },
    }
