"""Start the tasks of a local step, each in a session of its own."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from .srun_options import Options

DEFAULT_SIGNALS = [signal.Signals(number) for number in signal.valid_signals() if number < signal.SIGRTMIN]
"""Tasks start with no signal ignored, whatever the caller of srun ignores: in Slurm it is slurmd's child."""


class Task(Struct):
    """A task that was started. `stdin` and `stdout` are srun's ends of its pipes, -1 where there is none."""

    rank: int
    pid: int
    stdin: int = -1
    stdout: int = -1
    unsent: bytearray = field(default_factory=bytearray)
    line: bytes = b""


def start_tasks(options: Options, step: str) -> list[Task]:
    """Start all tasks of a step; OSError when the program is not there."""
    error = _open(options.error, 2)
    output = _open(options.output, -1)
    common = os.environ | options.environment | step_environment(options.tasks, step)
    return [_start(options, rank, output, error, common) for rank in range(options.tasks)]


def _open(name: str, default: int) -> int:
    """Open a file for the output of all tasks; empty first, then each write goes to its end."""
    if not name:
        return default
    path = os.devnull if name == "none" else name
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644))
    return os.open(path, os.O_WRONLY | os.O_APPEND)


def step_environment(tasks: int, step: str) -> dict[str, str]:
    """Return the variables that all tasks of a step see. Source: srun(1), OUTPUT ENVIRONMENT VARIABLES."""
    return {
        "SLURM_STEP_ID": step,
        "SLURM_STEPID": step,
        "SLURM_NTASKS": str(tasks),
        "SLURM_NPROCS": str(tasks),
        "SLURM_STEP_NUM_TASKS": str(tasks),
        "SLURM_STEP_NUM_NODES": "1",
        "SLURM_STEP_NODELIST": "localhost",
        "SLURM_STEP_TASKS_PER_NODE": str(tasks),
        "SLURM_NNODES": "1",
        "SLURM_NODEID": "0",
        "SLURMD_NODENAME": "localhost",
    }


def _start(options: Options, rank: int, output: int, error: int, common: dict[str, str]) -> Task:
    if options.pty:
        # In this session, and with its terminal.
        variables = common | {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}
        return Task(rank, os.posix_spawnp(options.command[0], options.command, variables, setsigdef=DEFAULT_SIGNALS))
    their_input, stdin = _input_of(options.input, rank)
    their_output, stdout = output, -1
    if output < 0:
        stdout, their_output = os.pipe()
        os.set_blocking(stdout, False)
    streams = ((their_input, 0), (their_output, 1), (error, 2))
    pid = os.posix_spawnp(
        options.command[0],
        options.command,
        common | {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)},
        file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in streams],
        setsid=True,
        setsigmask=[],
        setsigdef=DEFAULT_SIGNALS,
    )
    os.close(their_input)
    if output < 0:
        os.close(their_output)
    return Task(rank, pid, stdin, stdout)


def _input_of(wanted: str, rank: int) -> tuple[int, int]:
    """Return the task's standard input and our end of it."""
    if wanted not in ("all", str(rank)):
        return os.open(os.devnull, os.O_RDONLY), -1
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    return reading, writing
