"""The tasks whose logs are meant: bring what they have printed, as text or as a list of files, for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ....errors import BackendError, NotFoundError
from ....state.history import History
from ....state.job_folder import JobFolder
from ..fetching import fetch, run_folder_with_logs
from .selection import attempt_logs, chosen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ....state.records import JobRole
    from ...session import Session
    from .selection import LogSelection


class Target(NamedTuple):
    """A job and those of its tasks that are meant."""

    folder: JobFolder
    known: History
    tasks: Sequence[tuple[JobRole, int]]


def targets(folders: Sequence[JobFolder], selection: LogSelection) -> list[Target]:
    """Return the jobs that have such tasks; NotFoundError if none has."""
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
    """Bring the logs that are wanted, where they are at a login node; what does not answer is said, and no more."""
    first = selection.first_attempt(target.known)
    last = target.known.attempt if selection.all_attempts else first
    try:
        for attempt in range(first, last + 1):
            fetch(session, target.known, run_folder_with_logs(target.folder, target.known, target.tasks, attempt))
    except BackendError as error:
        session.say(f"warning: what is shown may be old: {error.diagnostics[0].message}")


def task_texts(session: Session, folder: JobFolder, selection: LogSelection) -> dict[str, str]:
    r"""Return by task, `worker-0`, what an attempt has printed, "" where a task has printed nothing.

    Streams that are wanted come one after the other. Bytes that are no UTF-8 become `\xff`; nothing else is escaped.
    """
    [job] = targets([folder], selection)
    bring_logs(session, job, selection)
    logs = attempt_logs(job.folder, job.known, selection, selection.first_attempt(job.known)).logs
    pieces = {log.label: b"".join(piece.data for piece in log.read()) for log in logs}
    return {label: data.decode("utf-8", errors="backslashreplace") for label, data in pieces.items()}


def log_files(job: Target, selection: LogSelection) -> Iterator[dict[str, object]]:
    """Yield each log file that is wanted of a job as `--json` has it; with `since` no file that is not there."""
    first = selection.first_attempt(job.known)
    last = job.known.attempt if selection.all_attempts else first
    for attempt in range(first, last + 1):
        for task_log in attempt_logs(job.folder, job.known, selection, attempt).logs:
            for stream, path, exists in task_log.files():
                written_at = _written_at(path) if exists else None
                if selection.since is None or (written_at is not None and written_at >= selection.since):
                    yield {
                        "name": job.folder.name,
                        "task": task_log.label,
                        "role": task_log.role,
                        "index": task_log.index,
                        "attempt": attempt,
                        "task_attempt": task_log.task_attempt,
                        "stream": stream,
                        "file": str(path),
                        "exists": written_at is not None,
                        "written_at": None if written_at is None else int(written_at),
                    }


def _written_at(path: Path) -> float | None:
    """Return when a file was last written to, in seconds since 1970; None for one that is not there."""
    try:
        return path.stat().st_mtime if path.is_file() else None
    except OSError:
        return None
