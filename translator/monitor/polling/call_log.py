"""The call log: the user's calls to Slurm, and the hourly limit on attempts.

Lines are `<time> <program> <CPU seconds> ok|failed|unreached`, appended to a file that is rotated when it is large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...files.private import append, make_private, rename
from ...files.reading import read_end

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from paislurm.backends.runner import CallEnd

FILE, OLDER_FILE = "calls.log", "calls.1.log"
MAX_BYTES = 1 << 20
"""About 30,000 calls, those of a day in normal use."""
RETRIES, MONITOR = "sbatch-retry", "monitor"
"""The names for an sbatch that submits a retry, and for the monitor's own CPU time."""
HOUR, DAY = 3600, 86400
_ENDS: dict[str, CallEnd] = {"ok": "ok", "unreached": "unreached"}


class Call(Struct, frozen=True, kw_only=True):
    """A call with its time in seconds since 1970, and its cost `cpu` in seconds."""

    time: float
    program: str
    cpu: float
    end: CallEnd = "ok"

    @property
    def failed(self) -> bool:
        return self.end != "ok"


class Cost(Struct, frozen=True, kw_only=True):
    program: str
    calls: int
    failed: int
    cpu: float


class CallLog:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, call: Call) -> None:
        """Append a call. Raises OSError."""
        make_private(self._folder)
        path = self._folder / FILE
        line = f"{call.time:.3f} {call.program} {call.cpu:.4f} {call.end}\n"
        if append(path, line.encode()) > MAX_BYTES:
            rename(path, self._folder / OLDER_FILE)

    def calls(self, since: float) -> list[Call]:
        """Return the calls since a time, oldest first. Skip invalid lines."""
        found = (_call(line) for name in (OLDER_FILE, FILE) for line in _lines(self._folder / name))
        return sorted((call for call in found if call is not None and call.time > since), key=lambda call: call.time)


def costs(calls: Iterable[Call]) -> list[Cost]:
    """Return the cost of the calls by program, sorted by name."""
    by_program: dict[str, list[Call]] = {}
    for call in calls:
        by_program.setdefault(call.program, []).append(call)
    return [
        Cost(program=name, calls=len(own), failed=sum(c.failed for c in own), cpu=sum(c.cpu for c in own))
        for name, own in sorted(by_program.items())
    ]


def retry_times(calls: Iterable[Call]) -> list[float]:
    """Return the times of submits of retries that reached Slurm, accepted or not."""
    return [call.time for call in calls if call.program == RETRIES and call.end != "unreached"]


def room_at(times: Sequence[float], now: float, most: int) -> int:
    """Return when one more attempt may be submitted, 0 for now, with at most `most` in any hour."""
    recent = sorted(time for time in times if time > now - HOUR)
    return int(recent[-most]) + HOUR + 1 if len(recent) >= most else 0


def _lines(path: Path) -> list[bytes]:
    try:
        data, _ = read_end(path, 2 * MAX_BYTES)
    except OSError:
        return []
    return data.splitlines()


def _call(line: bytes) -> Call | None:
    words = line.decode("ascii", errors="replace").split()
    try:
        time, program, cpu, end = words
        return Call(time=float(time), program=program, cpu=float(cpu), end=_ENDS.get(end, "failed"))
    except ValueError:
        return None
