"""The rounds of cron or scrontab: when `monitor --once` ran, who started it, and whether the next one is overdue.

Lines are `<time> <who>`, only ever appended, until the file begins anew with the last of them. The file is there only
where the site forbids processes on its login nodes.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct

from .safe_read import read_end
from .shared_files import make_private

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILE = "rounds.log"
MAX_BYTES = 1 << 14
KEPT = 20
"""Rounds from which it is told how often there is one."""
PATIENCE = 3
"""So many times as long as usual may be without a round."""
MIN_SECONDS = 900
Who = Literal["cron", "scrontab", "person", "submit"]
"""Who started a round; `submit` only began to wait for one."""


class Round(Struct, frozen=True):
    """Say when a round was, in seconds since 1970, and who started it."""

    time: int
    who: Who


def add(folder: Path, found: Round) -> None:
    """Write down a round; OSError if that cannot be done."""
    make_private(folder)
    path = folder / FILE
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, _line(found))
        full = os.fstat(descriptor).st_size > MAX_BYTES
    finally:
        os.close(descriptor)
    if full:
        new = path.with_name(f".{FILE}.new")
        new.write_bytes(b"".join(map(_line, rounds(folder)[-KEPT:])))
        new.replace(path)


def rounds(folder: Path) -> list[Round]:
    """Return the rounds, the oldest first; none where nothing was written down. What is no round is passed over."""
    try:
        data, _ = read_end(folder / FILE, 2 * MAX_BYTES)
    except OSError:
        return []
    found = (_round(line) for line in data.splitlines())
    return sorted((each for each in found if each is not None), key=lambda each: each.time)


def expected_seconds(found: Sequence[Round]) -> int:
    """Return after how long without a round something is wrong: three times what is usual, 15 minutes at the least."""
    times = [each.time for each in _by_clock(found)][-KEPT:]
    gaps = sorted(after - before for before, after in pairwise(times))
    return max(MIN_SECONDS, PATIENCE * gaps[len(gaps) // 2]) if gaps else MIN_SECONDS


def overdue(found: Sequence[Round], now: int) -> Round | None:
    """Return the last round where the next one is overdue, None where all is well or no round is waited for.

    What a person starts shows nothing of cron. `submit` only counts where cron has never come.
    """
    last = next(iter(_by_clock(found)[-1:]), next(iter(found), None))
    return last if last is not None and now - last.time > expected_seconds(found) else None


def _by_clock(found: Sequence[Round]) -> list[Round]:
    return [each for each in found if each.who in ("cron", "scrontab")]


def _line(found: Round) -> bytes:
    return f"{found.time} {found.who}\n".encode()


def _round(line: bytes) -> Round | None:
    time, _, who = line.decode("ascii", errors="replace").partition(" ")
    known = next((each for each in get_args(Who) if each == who), None)
    return Round(int(time), known) if known is not None and time.isdecimal() else None
