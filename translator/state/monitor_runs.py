"""The log of `monitor --once`: when it ran, who started it, and whether the next run is overdue.

Lines are `<time> <who>`, appended until the file is full and restarts with the last of them. The file exists only if
the site forbids processes on its login nodes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct

from ..files.private import append, make_private, write_durably
from ..files.reading import read_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE = "runs.log"
MAX_BYTES = 1 << 14
KEPT = 20
"""The number of runs from which the usual interval is computed."""
PATIENCE = 3
"""A run is overdue after this multiple of the usual interval."""
MIN_SECONDS = 900
Who = Literal["cron", "scrontab", "person", "submit"]
"""Who started a run; `submit` only started to wait for one."""


class MonitorRun(Struct, frozen=True):
    """Hold the time of a run, in seconds since 1970, and who started it."""

    time: int
    who: Who


def add(folder: Path, found: MonitorRun) -> None:
    """Append a run to the log. Raises OSError."""
    make_private(folder)
    path = folder / FILE
    if append(path, _line(found)) > MAX_BYTES:
        write_durably(path, b"".join(map(_line, monitor_runs(folder)[-KEPT:])))


def monitor_runs(folder: Path) -> list[MonitorRun]:
    """Return the runs, oldest first, without invalid lines; [] if there is no log."""
    try:
        data, _ = read_end(folder / FILE, 2 * MAX_BYTES)
    except OSError:
        return []
    found = (_round(line) for line in data.splitlines())
    return sorted((each for each in found if each is not None), key=lambda each: each.time)


def expected_seconds(found: Sequence[MonitorRun]) -> int:
    """Return the seconds after which a run is overdue: three times the usual interval, at least 15 minutes."""
    times = [each.time for each in _by_clock(found)][-KEPT:]
    gaps = sorted(after - before for before, after in pairwise(times))
    return max(MIN_SECONDS, PATIENCE * gaps[len(gaps) // 2]) if gaps else MIN_SECONDS


def overdue(found: Sequence[MonitorRun], now: int) -> MonitorRun | None:
    """Return the last run if the next one is overdue, else None.

    Runs started by a person do not count. `submit` counts only if cron has never run.
    """
    last = next(iter(_by_clock(found)[-1:]), next(iter(found), None))
    return last if last is not None and now - last.time > expected_seconds(found) else None


def _by_clock(found: Sequence[MonitorRun]) -> list[MonitorRun]:
    return [each for each in found if each.who in ("cron", "scrontab")]


def _line(found: MonitorRun) -> bytes:
    return f"{found.time} {found.who}\n".encode()


def _round(line: bytes) -> MonitorRun | None:
    time, _, who = line.decode("ascii", errors="replace").partition(" ")
    known = next((each for each in get_args(Who) if each == who), None)
    return MonitorRun(int(time), known) if known is not None and time.isdecimal() else None
