"""Spans of time for people, and the unit that fits an axis."""

from __future__ import annotations

UNITS = (("days", 86400, 3 * 86400), ("hours", 3600, 3 * 3600), ("minutes", 60, 180), ("seconds", 1, 0))
"""A unit, its seconds, and from how many seconds on an axis has it."""


def duration(seconds: int | None) -> str:
    """Return a span in its two largest units, `1 h 02 min`; a dash for None, and for one that clocks made negative."""
    if seconds is None or seconds < 0:
        return "-"
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    if days:
        return f"{days} d {hours:02} h"
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def axis_unit(seconds: int) -> tuple[str, int]:
    """Return the name of the unit for an axis of so many seconds, and how many seconds it has."""
    return next((name, size) for name, size, least in UNITS if seconds >= least)
