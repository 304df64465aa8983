"""Read the last lines of a task's output when they change."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ...errors import BackendError
from ...terminal_text import escape_control
from ..results.fetching import fetch, run_folder_with_logs
from ..results.tail import open_log
from .logs.task_log import has_one_log

if TYPE_CHECKING:
    from pathlib import Path

    from ...monitor.poll import View
    from ...state.records import JobRole
    from ...view.task import TaskView
    from ..session import Session

MAX_BYTES, MAX_LINES = 1 << 18, 2000
FETCH_SECONDS = 5.0
"""The least seconds between two copies of a log from a login node."""
Stream = Literal["", "stdout", "stderr"]
"""The stream of a task that is shown; "": standard error of a failed task if not empty, else standard output."""


class Tail(Struct, frozen=True, kw_only=True):
    """The last lines of a task's log."""

    job: str = ""
    task: str = ""
    stream: str = "stdout"
    lines: tuple[str, ...] = ()


class Tails:
    """The last lines of one task of a job at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stamp: tuple[object, ...] = ()
        self._last = Tail()
        self._fetched, self._fetch_at = "", 0.0

    def read(self, view: View, name: str, stream: Stream) -> Tail:
        """Return the last lines of a task; the same object as before without new lines."""
        task = next((task for task in view.tasks if task.name == name), None)
        if task is None:
            return Tail(job=view.folder.name)
        role = next(role for role in view.history.roles if role.name == task.role)
        self._bring(view, role, task.index)
        found, path = _log_of(view, role, task, stream)
        size, written = _size_and_time(path)
        stamp = (name, found, path, size, written)
        if stamp != self._stamp:
            self._last = _tail(view, task, found, path)
            self._stamp = stamp
        return self._last

    def _bring(self, view: View, role: JobRole, index: int) -> None:
        """Copy a task's log from a login node, at once after a change of task; on an error, the next call retries."""
        name = f"{view.history.attempt} {role.name} {index}"
        if name == self._fetched and time.monotonic() < self._fetch_at:
            return
        with suppress(BackendError):
            fetch(self._session, view.history, run_folder_with_logs(view.folder, view.history, [(role, index)]))
        self._fetched, self._fetch_at = name, time.monotonic() + FETCH_SECONDS


def _log_of(view: View, role: JobRole, task: TaskView, stream: Stream) -> tuple[str, Path]:
    """Return a log of a task. Without a chosen stream: standard error of a failed task if not empty."""
    attempt = view.history.attempt

    def path(name: str) -> Path:
        return view.folder.log(attempt, role, task.index, task.task_attempt, name)

    if not stream and task.state == "FAILED" and _size_and_time(path("stderr"))[0]:
        return "stderr", path("stderr")
    if stream == "stderr" and not path("stderr").exists() and has_one_log(view.folder, attempt):
        return "stderr", path("stdout")
    return stream or "stdout", path(stream or "stdout")


def _tail(view: View, task: TaskView, stream: str, path: Path) -> Tail:
    empty = Tail(job=view.folder.name, task=task.name, stream=stream)
    try:
        descriptor = open_log(path, view.folder.path.stat().st_uid)
    except OSError:
        return empty
    with os.fdopen(descriptor, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_BYTES))
        data = file.read(MAX_BYTES)
    return replace(empty, lines=shown_lines(data)[-MAX_LINES:])


def shown_lines(data: bytes) -> tuple[str, ...]:
    """Return lines as a terminal shows them: a carriage return overwrites the line."""
    text = data.decode("utf-8", errors="backslashreplace")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.removesuffix("\n").split("\n"))
    return tuple(escape_control(line.expandtabs()) for line in lines) if text else ()


def _size_and_time(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
