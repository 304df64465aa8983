"""The tasks of selected logs: fetch their output, and return it as text or as a list of files."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from ....errors import BackendError, NotFoundError
from ....state.history import History
from ....state.job_folder import JobFolder
from ....times import Time, aware
from ...log_reading import fetch, open_log, run_folder_with_logs, start_of_last_lines, written
from .selection import Stream, attempt_logs, chosen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ....state.journal_records import JobRole
    from ...session import Session
    from .selection import LogSelection


class Target(NamedTuple):
    """A job and its selected tasks."""

    folder: JobFolder
    known: History
    tasks: Sequence[tuple[JobRole, int]]


def targets(folders: Sequence[JobFolder], selection: LogSelection) -> list[Target]:
    """Return the jobs with matching tasks. Raises NotFoundError if none has."""
    found: list[Target] = []
    errors: list[NotFoundError] = []
    for folder in folders:
        known = folder.history()
        try:
            found.append(Target(folder, known, chosen(known.roles, selection.tasks)))
        except NotFoundError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    return found


def bring_logs(session: Session, target: Target, selection: LogSelection) -> None:
    """Fetch the selected logs from a login node; if it does not answer, send a warning."""
    first = selection.first_attempt(target.known)
    last = target.known.attempt if selection.all_attempts else first
    try:
        for attempt in range(first, last + 1):
            fetch(session, target.known, run_folder_with_logs(target.folder, target.known, target.tasks, attempt))
    except BackendError as error:
        session.say(f"warning: the output may be old: {error.diagnostics[0].message}")


@contextmanager
def batch_output(session: Session, job: Target, selection: LogSelection) -> Iterator[Iterator[bytes] | None]:
    """Return the output of a batch script in pieces, from the last `tail` lines on; None without one."""
    bring_logs(session, job, selection)
    path, owner = job.folder.batch_log(selection.first_attempt(job.known)), job.folder.path.stat().st_uid
    try:
        descriptor = open_log(path, owner)
    except FileNotFoundError:
        yield None
        return
    try:
        start = 0 if selection.tail is None else start_of_last_lines(path, selection.tail, owner)
        yield (piece for piece, _ in written(descriptor, start))
    finally:
        os.close(descriptor)


class LogFile(Struct, frozen=True, kw_only=True):
    """A log of a task."""

    name: str
    """The name of the job's folder, `user~job`."""
    task: str
    """The name of the task, `worker-0`."""
    role: str
    """The name of the role."""
    index: int
    """The index of the task in its role, from 0."""
    attempt: int
    """The attempt of the job, from 0."""
    task_attempt: int
    """The attempt of the task, from 0."""
    stream: Stream
    """The stream of the commands, or `runtime` for the output of prerequisites and plugins."""
    file: str
    """The path of the file."""
    exists: bool
    """Whether the file exists."""
    written_at: Time | None
    """When the file was last written."""


class LogFiles(Struct, frozen=True, kw_only=True):
    """The logs of tasks."""

    files: tuple[LogFile, ...]
    """The logs, by task."""


def files_of(session: Session, job: Target, selection: LogSelection) -> Iterator[LogFile]:
    """Yield the selected logs of a job; with `since`, only existing files."""
    first = selection.first_attempt(job.known)
    last = job.known.attempt if selection.all_attempts else first
    for attempt in range(first, last + 1):
        for task_log in attempt_logs(session, job.folder, job.known, selection, attempt).logs:
            for stream, path, exists in task_log.files():
                written_at = _written_at(path) if exists else None
                if selection.since is None or (written_at is not None and written_at >= selection.since):
                    yield LogFile(
                        name=job.folder.name,
                        task=task_log.label,
                        role=task_log.role,
                        index=task_log.index,
                        attempt=attempt,
                        task_attempt=task_log.task_attempt,
                        stream=stream,
                        file=str(path),
                        exists=written_at is not None,
                        written_at=None if written_at is None else aware(int(written_at)),
                    )


def _written_at(path: Path) -> float | None:
    """Return the time of a file's last write, in seconds since 1970; None if it does not exist."""
    try:
        return path.stat().st_mtime if path.is_file() else None
    except OSError:
        return None
