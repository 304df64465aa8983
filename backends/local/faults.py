"""Faults that can be provoked in a local job without root, for rehearsals."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from ..slurm_emulator import processes
from .job import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

Fault = Literal["term", "kill", "node"]


def provoke(fault: Fault, folder: Path) -> None:
    """Provoke a fault in the local job of this folder."""
    _FAULTS[fault](folder)


def _term(folder: Path) -> None:
    """Let the supervisor end the job as at a shutdown of its node."""
    state = read_state(folder)
    if state is not None:
        os.kill(state.supervisor, signal.SIGTERM)


def _kill(folder: Path) -> None:
    """KILL the commands of the task that started first, with all processes of their group."""
    for process in processes.members(processes.ProcessFilter(folder)):
        with suppress(OSError):
            if b"/commands/" in (processes.PROC / str(process.pid) / "cmdline").read_bytes():
                os.killpg(os.getpgid(process.pid), signal.SIGKILL)
                return


def _node(folder: Path) -> None:
    """KILL the supervisor first, which would record another end."""
    state = read_state(folder)
    if state is not None:
        os.kill(state.supervisor, signal.SIGKILL)
    processes.kill_all(processes.ProcessFilter(folder))


_FAULTS: Mapping[Fault, Callable[[Path], None]] = {"term": _term, "kill": _kill, "node": _node}
