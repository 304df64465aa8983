"""Times and durations: parsers of user input and of Slurm's formats, and their texts for users.

Times are seconds since 1970. Texts without a zone are in local time.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import Annotated, TypeAlias

from msgspec import Meta

Time: TypeAlias = Annotated[datetime, Meta(tz=True)]
"""A time with its zone, for results."""

_PART = r"([0-9]{1,9})([smhdw])"
DURATION_PATTERN = "(?:[0-9]{1,9}[smhdw])+"
"""The pattern of a duration such as `1h30m`, for JSON Schema."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_DAY, _CLOCK, _ZONE = r"\d{4}-\d\d-\d\d", r"\d{1,2}:\d\d(?::\d\d)?", r"Z|[+-]\d\d:\d\d"
_MOMENT = rf"(?:(?P<day>{_DAY})[ T])?(?P<clock>{_CLOCK})(?P<zone>{_ZONE})?|(?P<midnight>{_DAY})"
MOMENTS = "10m, 1h30m, 2d or 1w ago, a time such as 14:00, a date such as 2026-11-23, or 2026-11-23T14:00"
"""The formats that `moment` reads, for messages."""
_SLURM = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)


def duration(text: str) -> int | None:
    """Return the seconds of a duration such as `30d` or `1h30m`, or None for any other text.

    >>> duration("30d"), duration("1h30m"), duration("30")
    (2592000, 5400, None)
    """
    if not re.fullmatch(DURATION_PATTERN, text):
        return None
    return sum(int(count) * _UNITS[unit] for count, unit in re.findall(_PART, text))


def moment(text: str, now: float) -> int | None:
    """Parse a time such as `2h` or `14:00`; None for any other text.

    A duration counts back from `now`. A time without a date is the latest such time before `now`.
    """
    ago = duration(text)
    if ago is not None:
        return int(now) - ago
    found = re.fullmatch(_MOMENT, text, re.ASCII)
    if found is None:
        return None
    hour, _, rest = (found["clock"] or "00:00").partition(":")
    clock = f"{hour:0>2}:{rest}"
    # Python 3.10 cannot parse the Z of UTC.
    zone = "+00:00" if found["zone"] == "Z" else found["zone"] or ""
    day = found["day"] or found["midnight"]
    try:
        if day:
            return int(datetime.fromisoformat(f"{day}T{clock}{zone}").timestamp())
        today = datetime.fromtimestamp(now).astimezone()
        days = ((today + timedelta(days=days)).date() for days in (1, 0, -1, -2))
        times = (int(datetime.fromisoformat(f"{day}T{clock}{zone}").timestamp()) for day in days)
        return next(at for at in times if at <= now)
    except (ValueError, OverflowError, OSError):
        return None


def seconds_of(limit: str) -> int:
    """Return the seconds of a Slurm time limit; 0 has no special meaning. Raises ValueError for any other text.

    Source: sbatch(1), --time: minutes, minutes:seconds, hours:minutes:seconds, days-hours and so on.

    >>> seconds_of("90"), seconds_of("1:30"), seconds_of("1-12")
    (5400, 90, 129600)
    """
    match = _SLURM.fullmatch(limit)
    if match is None:
        raise ValueError(f"invalid time limit: {limit}")
    days, first, second, third = (int(part) if part else 0 for part in match.groups())
    if match[1]:
        hours, minutes, seconds = days * 24 + first, second, third
    elif match[4]:
        hours, minutes, seconds = first, second, third
    else:
        hours, minutes, seconds = 0, first, second
    return (hours * 60 + minutes) * 60 + seconds


def slurm_time(limit: timedelta) -> str:
    """Return a time limit for sbatch, rounded up to whole minutes: `1-02:30:00`. Source: sbatch(1), --time."""
    return elapsed_text(-(-int(limit.total_seconds()) // 60) * 60)


def elapsed_text(seconds: int | None) -> str:
    """Return a duration in the format of squeue and sacct, `1-02:03:04`; `-` for None."""
    if seconds is None:
        return "-"
    days, rest = divmod(seconds, 86400)
    return (f"{days}-" if days else "") + f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def duration_text(seconds: int | None) -> str:
    """Return a duration in its two largest units, `1 h 2 min`; `-` for None and for a negative one (clock skew).

    >>> duration_text(7800), duration_text(60), duration_text(200000)
    ('2 h 10 min', '1 min', '2 d 7 h')
    """
    if seconds is None or seconds < 0:
        return "-"
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s")]
    first = next((number for number, (count, _) in enumerate(parts) if count), 3)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count) or "0 s"


def age(seconds: int) -> str:
    """Return an age in its largest unit: `3h`."""
    unit = next((unit for unit in "dhm" if seconds >= _UNITS[unit]), "s")
    return f"{max(0, seconds) // _UNITS[unit]}{unit}"


def elapsed_seconds(started: int | None, ended: int | None, now: int) -> int | None:
    """Return the run time in seconds, so far or in total; None before the start."""
    return None if started is None else max(0, (now if ended is None else ended) - started)


def aware(seconds: int | None) -> datetime | None:
    """Return a time in the local zone; None for None and for a time outside the calendar."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds).astimezone()
    except (OverflowError, OSError, ValueError):
        return None


def seconds_since_1970(time: int | datetime | None) -> int | None:
    """Return a time in seconds since 1970; None for None."""
    return int(time.timestamp()) if isinstance(time, datetime) else time


def format_time(moment: int | datetime | None) -> str:
    """Return a time in the local zone as text; `-` for None."""
    seconds = seconds_since_1970(moment)
    if seconds is None:
        return "-"
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, OSError, ValueError):
        return str(seconds)


def time_of_day(seconds: int) -> str:
    """Return the local time of day as text."""
    return format_time(seconds).rpartition(" ")[2]


def number(value: int | None) -> str:
    """Return a number as text; `-` for None."""
    return "-" if value is None else str(value)


def decimal(value: float | None) -> str:
    """Return a number with up to ten digits; `-` for None."""
    return "-" if value is None else f"{value:.10g}"


def by_size(text: str) -> tuple[int, float, str]:
    """Return a sort key: numbers by value, before all other texts."""
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
