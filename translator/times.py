"""Numbers and times as people read them."""

from __future__ import annotations

import time


def number(value: int | None) -> str:
    """Return a number for a table."""
    return "-" if value is None else str(value)


def decimal(value: float | None) -> str:
    """Return a number with as many digits as matter."""
    return "-" if value is None else f"{value:.10g}"


def format_time(seconds: int | None) -> str:
    """Return a time for people, in their own time zone."""
    if seconds is None:
        return "-"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, OSError, ValueError):
        return str(seconds)


def time_of_day(seconds: int) -> str:
    """Return the time of a day for people, in their own time zone."""
    return format_time(seconds).rpartition(" ")[2]


def age(seconds: int) -> str:
    """Return how long ago something was, in the largest unit that fits: `3h`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{max(0, seconds)}s"


def elapsed(started: int | None, ended: int | None, now: int) -> str:
    """Return how long something has run, or ran, as squeue and sacct write it: `1-02:03:04`; `-` if it never began.

    >>> elapsed(100, 100 + 93784, 0), elapsed(100, None, 165), elapsed(None, None, 5)
    ('1-02:03:04', '00:01:05', '-')
    """
    return elapsed_text(elapsed_seconds(started, ended, now))


def elapsed_text(seconds: int | None) -> str:
    """Return so many seconds as squeue and sacct write them; `-` for None."""
    if seconds is None:
        return "-"
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return (f"{days}-" if days else "") + f"{hour:02}:{minute:02}:{second:02}"


def elapsed_seconds(started: int | None, ended: int | None, now: int) -> int | None:
    """Return for how many seconds something has run, or ran; None if it never began."""
    return None if started is None else max(0, (now if ended is None else ended) - started)


def by_size(text: str) -> tuple[int, float, str]:
    """Return what puts texts in order: numbers by their size, before all others."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
