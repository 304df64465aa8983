"""Faults of the node of a local job, for rehearsals."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from ..slurm_emulator import processes
from .job import read_state

if TYPE_CHECKING:
    from pathlib import Path


def shut_down(folder: Path) -> None:
    """Let the supervisor end the job in this folder as at a shutdown of its node."""
    state = read_state(folder)
    if state is not None:
        os.kill(state.supervisor, signal.SIGTERM)


def lose_node(folder: Path) -> None:
    """KILL all processes of the job, first the supervisor, which would record another end."""
    state = read_state(folder)
    if state is not None:
        os.kill(state.supervisor, signal.SIGKILL)
    processes.kill_all(processes.ProcessFilter(folder))
