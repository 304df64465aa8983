"""What the tasks of a job have printed, as text: for a program, not for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .follow import bring_logs, targets
from .selection import attempt_logs

if TYPE_CHECKING:
    from ....state.job_folder import JobFolder
    from ...session import Session
    from .selection import LogSelection


def task_texts(session: Session, folder: JobFolder, selection: LogSelection) -> dict[str, str]:
    r"""Return by task, `worker-0`, what an attempt has printed, "" where a task has printed nothing.

    Streams that are wanted come one after the other. Bytes that are no UTF-8 become `\xff`; nothing else is escaped.
    """
    [job] = targets([folder], selection)
    bring_logs(session, job, selection)
    logs = attempt_logs(job.folder, job.known, selection, selection.first_attempt(job.known)).logs
    pieces = {log.label: b"".join(piece.data for piece in log.read()) for log in logs}
    return {label: data.decode("utf-8", errors="backslashreplace") for label, data in pieces.items()}
