"""Find and end the processes of a local job or step, as Slurm's process tracking does."""

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
"""The variable that every process of a local job inherits; its value is the job's folder."""

STEP_MARK = "SLURM_STEP_ID"

PROC = Path("/proc")

DEFAULT_SIGNALS = [signal.Signals(number) for number in signal.valid_signals() if number < signal.SIGRTMIN]
"""What a process of a job starts with: no signal ignored, whatever its parent ignores. In Slurm slurmd starts it."""


class Process(NamedTuple):
    """Name a process: `started`, in clock ticks since boot, tells it from others that had the same pid."""

    pid: int
    session: int
    started: int


class ProcessFilter(NamedTuple):
    """Say which processes are meant: those of `job` (a folder) or of a step of it; "" is the batch script."""

    job: Path
    step: str | None = None


def process(pid: int) -> Process | None:
    """Return a process that runs, None when it has ended or never was. Source: proc(5), /proc/pid/stat."""
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else Process(pid, int(fields[3]), int(fields[19]))


def boot_id() -> str:
    """Return what names this run of the kernel: pids and start times mean nothing after the next boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def members(process_filter: ProcessFilter, sessions: Collection[int] = ()) -> list[Process]:
    """Return the living processes of a job or step.

    A process belongs to it when it is in one of its sessions, or when it was started with its marks in the
    environment: that finds daemons, which leave their session. The caller itself is never among them.
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
    """Tell whether a process started with these marks; another user's cannot be read and is not ours."""
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
    """Send a signal to processes; those that have ended meanwhile are no error."""
    for target in targets:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(target.pid, number)


def kill_all(process_filter: ProcessFilter, sessions: Collection[int] = (), *, patience: float = 5.0) -> bool:
    """KILL the processes of a job or step until none is left; False when some are after `patience` s."""
    deadline = time.monotonic() + patience
    while left := members(process_filter, sessions):
        if time.monotonic() > deadline:
            return False
        send(signal.SIGKILL, left)
        time.sleep(0.005)
    return True
