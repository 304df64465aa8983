"""Stand in for srun: run the tasks of a step on this machine and end as srun ends."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from pathlib import Path

from . import processes, records
from .relay import Relay
from .srun_options import Options, parse

KILLING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals to srun itself, unless its caller ignores them: they kill the tasks at once."""


def main(words: list[str]) -> int:
    """Run a step; return the highest exit status of its tasks, 128 + N for a task that signal N ended."""
    options = parse(words)
    if processes.JOB_MARK not in os.environ:
        print("srun: error: not inside a job of the local backend", file=sys.stderr)
        return 1
    job = Path(os.environ[processes.JOB_MARK])
    try:
        step = records.new_step(job)
    except OSError as fault:
        print(f"srun: error: {fault}", file=sys.stderr)
        return 2
    _allow_files(options.tasks)
    # rsync hands on one that does not block.
    os.set_blocking(1, True)
    wakeup = _listen()
    try:
        if options.directory:
            os.chdir(options.directory)
        tasks = _start_tasks(options, step)
        records.record_sessions(job, step, [task.pid for task in tasks])
        return _Step(job, step, options, tasks, wakeup).run()
    except OSError as fault:
        print(f"srun: error: {fault}", file=sys.stderr)
        processes.kill_all(processes.ProcessFilter(job, step))
        return 2
    finally:
        records.close_step(job, step)


def _allow_files(tasks: int) -> None:
    """Allow two pipes a task, which the usual 1,024 open files are too few for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * tasks + 32
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _listen() -> int:
    """Let signals arrive as bytes on a pipe and return its reading end."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *KILLING):
        if number == signal.SIGCHLD or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    return reading


class Task:
    """A task that was started. `stdin` and `stdout` are srun's ends of its pipes, -1 where there is none."""

    def __init__(self, rank: int, pid: int, stdin: int = -1, stdout: int = -1) -> None:
        self.rank = rank
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.unsent = bytearray()
        self.line = b""


class _Step:
    """A step that runs: its tasks and the highest exit status so far."""

    def __init__(self, job: Path, step: str, options: Options, tasks: list[Task], wakeup: int) -> None:
        self._process_filter = processes.ProcessFilter(job, step)
        self._kill_on_bad_exit = options.kill_on_bad_exit
        self._running = {task.pid: task for task in tasks}
        self._sessions = frozenset(self._running)
        self._highest = 0
        self._relay = Relay(tasks, wakeup, self._on_signals, unbuffered=options.unbuffered)

    def run(self) -> int:
        """Carry streams until the last task has ended, then end what they left behind, as slurmstepd does."""
        self._reap()
        while self._running:
            self._relay.turn()
        self._kill()
        self._relay.drain()
        return self._highest

    def _on_signals(self, numbers: bytes) -> None:
        if any(number in KILLING for number in numbers):
            self._kill()
        self._reap()

    def _kill(self) -> None:
        if not processes.kill_all(self._process_filter, self._sessions):
            print("srun: error: some processes of the step cannot be killed", file=sys.stderr)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if task := self._running.pop(pid, None):
                    self._on_end(task, os.waitstatus_to_exitcode(status))

    def _on_end(self, task: Task, code: int) -> None:
        """Note how a task ended. `code` is negative for a signal."""
        if not code:
            return
        end = f"Exited with exit code {code}" if code > 0 else signal.strsignal(-code)
        print(f"srun: error: localhost: task {task.rank}: {end}", file=sys.stderr, flush=True)
        self._highest = max(self._highest, code if code > 0 else 128 - code)
        if self._kill_on_bad_exit and self._running:
            self._kill()


def _start_tasks(options: Options, step: str) -> list[Task]:
    """Start all tasks of a step; OSError when the program is not there."""
    error = _open(options.error, 2)
    output = _open(options.output, -1)
    common = os.environ | options.environment | _step_environment(options.tasks, step)
    return [_start(options, rank, output, error, common) for rank in range(options.tasks)]


def _open(name: str, default: int) -> int:
    """Open a file for the output of all tasks; empty first, then each write goes to its end."""
    if not name:
        return default
    path = os.devnull if name == "none" else name
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644))
    return os.open(path, os.O_WRONLY | os.O_APPEND)


def _step_environment(tasks: int, step: str) -> dict[str, str]:
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
    command, variables = options.command, common | {"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}
    if options.pty:
        # In this session, and with its terminal.
        return Task(rank, os.posix_spawnp(command[0], command, variables, setsigdef=processes.DEFAULT_SIGNALS))
    their_input, stdin = _input_of(options.input, rank)
    their_output, stdout = output, -1
    if output < 0:
        stdout, their_output = os.pipe()
        os.set_blocking(stdout, False)
    streams = ((their_input, 0), (their_output, 1), (error, 2))
    pid = os.posix_spawnp(
        command[0],
        command,
        variables,
        file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in streams],
        setsid=True,
        setsigmask=[],
        setsigdef=processes.DEFAULT_SIGNALS,
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
