"""Find and kill the processes of a local job or step, as Slurm's process tracking does."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

JOB_MARK = "PAISLURM_LOCAL_JOB"
"""The variable that every process of a local job inherits; its value is the path of the job's folder."""

STEP_MARK = "SLURM_STEP_ID"

PROC = Path("/proc")

DEFAULT_SIGNALS = [signal.Signals(number) for number in signal.valid_signals() if number < signal.SIGRTMIN]
"""Signals reset to their default in each process of a job, whatever its parent ignores. In Slurm, slurmd does this."""


class Process(NamedTuple):
    """Identify a process; `started`, in clock ticks since boot, distinguishes processes that reuse a pid."""

    pid: int
    session: int
    started: int


class ProcessFilter(NamedTuple):
    """Select the processes of `job` (a folder) or of one of its steps; the step "" is the batch script."""

    job: Path
    step: str | None = None


def process(pid: int) -> Process | None:
    """Return a running process, None if it has ended or never existed. Source: proc(5), /proc/pid/stat."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else Process(pid, int(fields[3]), int(fields[19]))


def boot_id() -> str:
    """Return the id of this boot: pids and start times are valid for one boot only."""
    return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def members(process_filter: ProcessFilter, sessions: Collection[int] = ()) -> list[Process]:
    """Return the running processes of a job or step, without the caller.

    A process is a member if it is in one of the `sessions`, or if its initial environment has the marks. The marks
    identify daemons, which leave their session.
    """
    return [
        found
        for found in _all_processes()
        if found.pid != os.getpid() and (found.session in sessions or _matches(found.pid, process_filter))
    ]


def _all_processes() -> Iterator[Process]:
    for folder in os.scandir(PROC):
        if folder.name.isdigit() and (found := process(int(folder.name))):
            yield found


def _matches(pid: int, process_filter: ProcessFilter) -> bool:
    """Return whether a process started with these marks. False for another user's process, which cannot be read."""
    try:
        environment = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    if os.fsencode(f"{JOB_MARK}={process_filter.job}") not in environment:
        return False
    if process_filter.step is None:
        return True
    if not process_filter.step:
        return not any(entry.startswith(f"{STEP_MARK}=".encode()) for entry in environment)
    return f"{STEP_MARK}={process_filter.step}".encode() in environment


def send(number: int, targets: Collection[Process]) -> None:
    """Send a signal to processes. Ignore processes that have ended."""
    for target in targets:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(target.pid, number)


def kill_all(process_filter: ProcessFilter, sessions: Collection[int] = (), *, patience: float = 5.0) -> bool:
    """KILL the processes of a job or step until none is left. Return False if some remain after `patience` s."""
    deadline = time.monotonic() + patience
    while left := members(process_filter, sessions):
        if time.monotonic() > deadline:
            return False
        send(signal.SIGKILL, left)
        time.sleep(0.005)
    return True
