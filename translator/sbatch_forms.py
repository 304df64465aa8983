"""Forms of sbatch's own, which what writes `#SBATCH` lines and what reads them have in common."""

from __future__ import annotations

import re
from datetime import timedelta

_TIME = re.compile(r"(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", re.ASCII)

WARNED_FROM = timedelta(minutes=5)
"""Jobs of this time limit or less get no warning signal: it comes up to a minute early. Source: sbatch(1), --signal."""


def is_plain(text: str) -> bool:
    """Tell whether a text can stand in an `#SBATCH` line as it is.

    sbatch splits the line at blanks, knows quotes and backslashes, and stops at a `#`. A backquote means nothing to it,
    and something to the shells that see such an option later. Source: sbatch(1), and `src/sbatch/opt.c: _get_argument`
    of Slurm as observed on 22.05.
    """
    return text.isprintable() and not any(char in " \"'`\\#" for char in text)


def seconds_of(limit: str) -> int:
    """Return a time limit in seconds; ValueError for what is none. 0 is not looked at.

    Source: sbatch(1), --time: minutes, minutes:seconds, hours:minutes:seconds, days-hours and so on.

    >>> seconds_of("90"), seconds_of("1:30"), seconds_of("1-12")
    (5400, 90, 129600)
    """
    match = _TIME.fullmatch(limit)
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
    """Return a time limit as sbatch reads it, rounded up to whole minutes: `1-02:30:00`. Source: sbatch(1), --time."""
    minutes = -(-int(limit.total_seconds()) // 60)
    days, rest = divmod(minutes, 24 * 60)
    clock = f"{rest // 60:02d}:{rest % 60:02d}:00"
    return f"{days}-{clock}" if days else clock
