"""List the log files of tasks for programs: where they are, and when they were last written to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .selection import attempt_logs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .follow import Target
    from .selection import LogSelection


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
