"""Stand in for slurmd: start the batch script of a local job, enforce its time limit, record its end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from . import processes, records

KILL_WAIT = 5.0
"""Seconds between TERM and KILL, like KillWait in slurm.conf."""

WATCHED = (signal.SIGCHLD, signal.SIGTERM)


def main(words: list[str]) -> int:
    """Run the job in the folder given as the only argument; print `started` once its script runs, or the error.

    The folder's `job.json` contains `argv`, `directory`, `log`, `limit` (seconds or null), `warning` (null or
    [signal number, seconds before the limit, batch script only]).
    """
    os.umask(0o077)
    folder = Path(words[0])
    job = records.read_json(folder / "job.json")
    if job is None:
        print(f"no job in {folder}", file=sys.stderr)
        return 1
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    supervisor = _Supervisor(folder, job)
    try:
        supervisor.start()
    except OSError as fault:
        supervisor.give_up(fault)
        # Standard error may be a file on a full disk.
        _report(str(fault))
        return 1
    _report("started")
    supervisor.run()
    return 0


def _report(word: str) -> None:
    """Report to the submitting process, which may have exited, and close standard output."""
    with contextlib.suppress(BrokenPipeError):
        os.write(1, f"{word}\n".encode(errors="surrogateescape"))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.close(null)


class _Due(NamedTuple):
    """An action with its time on the monotonic clock."""

    at: float
    what: str


class _Supervisor:
    def __init__(self, folder: Path, job: dict[str, Any]) -> None:
        self._folder = folder
        self._job = job
        self._process_filter = processes.ProcessFilter(folder)
        self._batch = 0
        self._cause = ""
        self._due: list[_Due] = []
        me = processes.process(os.getpid())
        self._state: dict[str, Any] = {
            "host": os.uname().nodename,
            "boot": processes.boot_id(),
            "version": records.VERSION,
            "supervisor": os.getpid(),
            "supervisor_started": me.started if me else 0,
            "started": int(time.time()),
        }

    def record(self, state: str, *, status: int = 0, number: int = 0, reason: str = "") -> None:
        """Write the state; every state but RUNNING is final, and `number` is the signal that ended the script."""
        file = self._folder / "state.json"
        self._state |= {"state": state, "reason": reason, "batch": self._batch}
        if state == "RUNNING":
            records.write_json(file, self._state)
            return
        self._state |= {"status": status, "signal": number, "ended": int(time.time())}
        try:
            records.write_reserved(file, self._state)
        except OSError:
            records.write_json(file, self._state)

    def give_up(self, fault: OSError) -> None:
        """Kill what has been started and try to record a failure."""
        processes.kill_all(self._process_filter, self._sessions())
        with contextlib.suppress(OSError):
            self.record("FAILED", status=1, reason=str(fault))

    def start(self) -> None:
        """Start the batch script in a new session, with its output in the log and an empty input."""
        # Reserve first: do not start a script whose end cannot be recorded on a full disk.
        records.reserve(self._folder / "state.json")
        log = os.open(self._job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        null = os.open(os.devnull, os.O_RDONLY)
        os.chdir(self._job["directory"])
        self._batch = os.posix_spawnp(
            self._job["argv"][0],
            self._job["argv"],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in ((null, 0), (log, 1), (log, 2))],
            setsid=True,
            setsigmask=[],
            setsigdef=processes.DEFAULT_SIGNALS,
        )
        os.close(null)
        os.close(log)
        os.chdir("/")
        self._plan_limit()
        self.record("RUNNING")

    def _plan_limit(self) -> None:
        limit, warning = self._job["limit"], self._job["warning"]
        if limit is None:
            return
        end = time.monotonic() + limit
        self._due.append(_Due(end, "limit"))
        if warning:
            self._due.append(_Due(end - min(warning[1], limit), "warning"))

    def run(self) -> None:
        """Wait for the script's end and run the actions that are due; then kill the processes left over, and record."""
        while True:
            received = self._wait()
            if received == signal.SIGTERM:
                self._terminate(self._outside_cause())
            pid, status = os.waitpid(self._batch, os.WNOHANG)
            if pid:
                break
            self._run_due()
        processes.kill_all(self._process_filter, self._sessions())
        code = os.waitstatus_to_exitcode(status)
        state = self._cause or ("FAILED" if code else "COMPLETED")
        while True:
            with contextlib.suppress(OSError):
                self.record(state, status=max(code, 0), number=max(-code, 0))
                return
            if not self._folder.is_dir():
                # Its owner has removed the job.
                return
            # While this process runs, the job does not count as lost. Retry until the disk has room.
            if signal.sigtimedwait((signal.SIGTERM,), 1):
                return

    def _wait(self) -> int:
        """Return the next signal, 0 when an action is due."""
        if not self._due:
            return signal.sigwait(WATCHED)
        left = min(due.at for due in self._due) - time.monotonic()
        received = signal.sigtimedwait(WATCHED, max(left, 0.0))
        return received.si_signo if received else 0

    def _outside_cause(self) -> str:
        """Return the state for an end from outside: cancelled by the owner, or this machine is shutting down."""
        with contextlib.suppress(OSError):
            return f"CANCELLED by {(self._folder / 'cancelled').stat().st_uid}"
        return "NODE_FAIL"

    def _run_due(self) -> None:
        now = time.monotonic()
        ripe = [due.what for due in self._due if due.at <= now]
        self._due = [due for due in self._due if due.at > now]
        for what in ripe:
            if what == "warning":
                self._warn()
            elif what == "limit":
                self._terminate("TIMEOUT")
            else:
                processes.kill_all(self._process_filter, self._sessions())

    def _warn(self) -> None:
        number, _, batch_only = self._job["warning"]
        if batch_only:
            os.kill(self._batch, number)
        else:
            self._signal_steps(number)

    def _signal_steps(self, number: int) -> None:
        for step in records.running_steps(self._folder):
            sessions = records.sessions_of(self._folder, step)
            processes.send(number, processes.members(processes.ProcessFilter(self._folder, step), sessions))

    def _terminate(self, cause: str) -> None:
        """Send TERM to the batch script's shell and all tasks, and KILL to everything after KILL_WAIT.

        The first cause counts. The script's children, such as srun, get no TERM: tested on Slurm 22.05.8.
        """
        if self._cause:
            return
        self._cause = cause
        self._due = [_Due(time.monotonic() + KILL_WAIT, "kill")]
        os.kill(self._batch, signal.SIGTERM)
        self._signal_steps(signal.SIGTERM)

    def _sessions(self) -> set[int]:
        return {self._batch, *records.sessions_of(self._folder)} - {0}
