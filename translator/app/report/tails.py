"""The last lines of tasks that failed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...report.model import Tail
from ..jobs.logs.tail import open_log, start_of_last_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ...report.build import AttemptFiles
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.result import Result, TaskResult

MAX_TASKS, MAX_LINES, MAX_BYTES = 8, 40, 16 << 10
"""Of an attempt, of a log, and of a log."""
STREAMS = ("stderr", "stdout", "runtime")


def tails(folder: JobFolder, known: History, attempts: Iterable[AttemptFiles]) -> Iterator[Tail]:
    """Yield the last lines of the first tasks that failed of each attempt, the newest attempt first."""
    roles = {role.name: role for role in known.roles}
    for files in reversed(list(attempts)):
        for task in first_failed(files.result):
            name = f"{task.role}-{task.index}"
            for stream in STREAMS if task.role in roles else ():
                log = folder.log(files.number, roles[task.role], task.index, task.task_attempt, stream)
                if text := _last(log, folder.path.stat().st_uid):
                    yield Tail(attempt=files.number, task=name, stream=stream, text=_settled(text[1]), whole=text[0])


def first_failed(result: Result | None) -> list[TaskResult]:
    """Return the tasks of an attempt that failed first, as many as a report shows lines of."""
    failed = [task for task in result.tasks if task.state == "FAILED"] if result else []
    return sorted(failed, key=lambda task: task.ended_at or 0)[:MAX_TASKS]


def _last(log: Path, owner: int) -> tuple[bool, str] | None:
    """Return whether it is all, and the last lines of a log; None where there are none."""
    start = start_of_last_lines(log, MAX_LINES, owner)
    try:
        descriptor = open_log(log, owner)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        size = os.fstat(descriptor).st_size
        start = max(start, size - MAX_BYTES)
        file.seek(start)
        data = file.read(MAX_BYTES)
    return (start == 0, data.decode(errors="replace")) if data.strip() else None


def _settled(text: str) -> str:
    """Return text as a terminal shows it in the end: of a progress bar what was written last."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.splitlines())
