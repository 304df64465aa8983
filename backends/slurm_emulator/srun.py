"""Stand in for srun: run the tasks of a step on this machine and end as srun ends."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from . import processes, records
from .relay import Relay
from .srun_options import Options, parse
from .tasks import start_tasks

if TYPE_CHECKING:
    from .tasks import Task

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
        tasks = start_tasks(options, step)
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
