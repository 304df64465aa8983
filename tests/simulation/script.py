"""A model of the batch script: what it does in the folder of its attempt.

It knows of `batch/folder.sh` the check of the name and the claim, and of `batch/result.sh` the result.
`test_script_model` holds it against the script.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .batch import Job
    from .world import World

REQUEUED, DIED, DUPLICATE, UNSEEN, FULL = 3, 4, 5, 6, 7
"""Exit statuses of the batch script."""
_OWNER = "claim/owner"
_STOPPED = ("interrupted", -210, "stop")
_FINISHES = {
    "succeeded": ("succeeded", 0, "success", "COMPLETED", 0),
    "failed": ("failed", 255, "unknown", "FAILED", 1),
    "transient": ("failed", -120, "transient", "FAILED", 1),
    "cancelled": (*_STOPPED, "CANCELLED", 0),
    "cancelled by root": (*_STOPPED, "CANCELLED", 0),
    "time limit": (*_STOPPED, "TIMEOUT", 0),
}
"""The outcome, code and behaviour of the result, and Slurm's state and status."""


class Script:
    """The script of a job. It calls `tasks` while its tasks run."""

    def __init__(self, job: Job, world: World, tasks: Callable[[], None]) -> None:
        self._job = job
        self._world = world
        self._tasks = tasks
        self._attempt = job.submission.folder / "attempts" / str(job.submission.attempt)

    def run(self, how: str) -> tuple[str, int] | None:
        """Run once, to the end `how`; return the state and status of the job, None for a requeue."""
        try:
            (self._attempt / "job.sbatch").stat()
            # The script stays in this folder, whatever name that gets.
            top = os.open(self._attempt.parents[1], os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return "FAILED", UNSEEN
        try:
            folder = os.open(f"attempts/{self._attempt.name}", os.O_RDONLY | os.O_DIRECTORY, dir_fd=top)
        except OSError:
            os.close(top)
            return "FAILED", UNSEEN
        try:
            return self._run(top, folder, how)
        finally:
            os.close(folder)
            os.close(top)

    def _run(self, top: int, folder: int, how: str) -> tuple[str, int] | None:
        job = self._job
        if not self._is_named(top):
            self._world.tell(f"job {job.id} finds the folder of another job")
            return "FAILED", DUPLICATE
        with suppress(OSError):
            os.mkdir("claim", dir_fd=folder)
        try:
            os.close(os.open(_OWNER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=folder))
        except OSError:
            return self._claimed(folder)
        try:
            _write(folder, _OWNER, f"{job.id} {job.restarts}\n".encode())
        except OSError:
            return self._die(folder)
        if not job.cancelled:
            self._tasks()
        if job.cancelled:
            how = "cancelled"
        elif how.startswith("requeued"):
            return None
        elif how == "node lost":
            return "NODE_FAIL", 0
        end = self._finish(folder, how)
        with suppress(OSError):
            _write(folder, "claim/ended", b"")
        return end

    def _finish(self, folder: int, how: str) -> tuple[str, int]:
        """Write the result. Only the status of a failure says that it could not be written."""
        outcome, code, behaviour, state, status = _FINISHES[how]
        if not self._result(folder, outcome, code, behaviour) and outcome == "failed":
            return state, FULL if _is_full(folder) else status
        return state, status

    def _die(self, folder: int) -> tuple[str, int]:
        """End before any task has run."""
        if self._job.cancelled:
            return self._finish(folder, "cancelled")
        full = _is_full(folder)
        self._result(folder, "failed", -1406 if full else 255, "unknown")
        return "FAILED", FULL if full else DIED

    def _is_named(self, top: int) -> bool:
        """Return whether the journal in the job's folder, if there is one, is that of the submitted job."""
        try:
            journal = _read(top, "journal.jsonl")
        except OSError:
            return True
        return f'"{self._job.submission.tag.partition(".")[0]}'.encode() in journal

    def _claimed(self, folder: int) -> tuple[str, int]:
        try:
            line = _read(folder, _OWNER).decode(errors="replace").partition("\n")[0]
        except (FileNotFoundError, NotADirectoryError):
            return self._die(folder)
        except OSError:
            line = ""
        owner, _, restarts = line.strip().partition(" ")
        if owner == self._job.id and restarts != str(self._job.restarts):
            if self._is_decided(folder):
                self._world.tell(f"job {self._job.id} is restarted after its end")
                return "FAILED", DUPLICATE
            self._result(folder, "requeued", -100, "transient")
            return "FAILED", REQUEUED
        self._world.tell(f"job {self._job.id} is a duplicate of job {owner or 'unknown'}")
        return "FAILED", DUPLICATE

    def _is_decided(self, folder: int) -> bool:
        """Return whether an earlier start of the job has left a result with an outcome of its own."""
        try:
            found = _read(folder, "result.json")
        except OSError:
            return False
        return json.loads(found)["outcome"] in ("succeeded", "failed")

    def _result(self, folder: int, outcome: str, code: int, behaviour: str) -> bool:
        job, now = self._job, int(self._world.now)
        document = {
            "version": 2, "job": job.submission.job, "attempt": job.submission.attempt, "job_id": job.id,
            "outcome": outcome, "exit_code": code, "behaviour": behaviour, "reason": f"it {outcome}", "trigger": None,
            "started_at": int(job.started or now), "ended_at": now, "tasks": [],
        }  # fmt: skip
        new = "result.json.new"
        try:
            _write(folder, new, json.dumps(document).encode())
            os.replace(new, "result.json", src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(new, dir_fd=folder)
            return False
        return True


def _read(folder: int, name: str) -> bytes:
    """Return the text of a file."""
    descriptor = os.open(name, os.O_RDONLY, dir_fd=folder)
    try:
        return os.read(descriptor, 1 << 20)
    finally:
        os.close(descriptor)


def _write(folder: int, name: str, data: bytes) -> None:
    """Write a file all at once."""
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=folder)
    try:
        if data and os.write(descriptor, data) != len(data):
            raise OSError(errno.ENOSPC, "written in part", name)
    finally:
        os.close(descriptor)


def _is_full(folder: int) -> bool:
    try:
        _write(folder, "room", b" ")
    except OSError as error:
        return error.errno == errno.ENOSPC
    finally:
        with suppress(OSError):
            os.unlink("room", dir_fd=folder)
    return False
