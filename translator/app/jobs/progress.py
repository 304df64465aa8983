"""The progress of a job from its files: the stage, or the number of completed tasks."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from ...files.names import STEPS
from ...files.shared_files import time_written
from ...monitor.job_files import reports_of
from ...plural import attempt_name, counted
from ...view.task import task_views

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...view.task import TaskView

STAGES = (
    "the nodes are being prepared",
    "images are being fetched",
    "code is being fetched",
    "tasks are being started",
)
"""The stages before the tasks start, in order. Source: this project's batch script, main.sh."""


class Progress(Struct, frozen=True, kw_only=True):
    """The progress of a job: `done` of `total` stages while it is `staging`, else of tasks, including `failed` ones.

    Both are 0 while it waits for its nodes.
    """

    words: str
    done: int = 0
    total: int = 0
    failed: int = 0
    staging: bool = False


def progress_of(folder: JobFolder, known: History, tasks: Sequence[TaskView]) -> Progress:
    """Return the progress of the last attempt, or the attempt for which the job waits."""
    if known.is_between_attempts:
        return Progress(words=f"waits for {attempt_name(known.attempt + 1)}")
    if any(task.started_at for task in tasks):
        done, failed = sum(task.completed for task in tasks), sum(task.state == "FAILED" for task in tasks)
        words = f"{done} of {counted(len(tasks), 'task')} completed" + (f", {failed} failed" if failed else "")
        return Progress(words=words, done=done, total=len(tasks), failed=failed)
    stage = _stage(folder, known)
    if stage is None:
        return Progress(words="waits for its nodes")
    words = f"staging, step {stage + 1} of {len(STAGES)}: {STAGES[stage]}"
    return Progress(words=words, done=stage, total=len(STAGES), staging=True)


def _stage(folder: JobFolder, known: History) -> int | None:
    """Return the stage of the batch script by the files that it has created; None before its start."""
    attempt = folder.attempt(known.attempt)
    if any((attempt / STEPS / f"{role.folder}.log").exists() for role in known.roles):
        return 3
    if (attempt / "code").exists():
        return 2
    with suppress(OSError):
        if any(name.name.startswith("image-") for name in (attempt / STEPS).iterdir()):
            return 1
    return 0 if folder.claim(known.attempt).exists() else None


def report_files(folder: JobFolder, attempt: int) -> list[Path]:
    """Return the files that change when a task or a stage of an attempt starts or ends."""
    found = [folder.attempt(attempt), folder.claim(attempt), folder.attempt(attempt) / STEPS, folder.reports(attempt)]
    with suppress(OSError):
        found += sorted(path for path in folder.reports(attempt).iterdir() if path.suffix == ".log")
    return found


class ProgressReader:
    """Read the progress of a job after a change of its files."""

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._known = folder.history()
        self._read_at = time_written(folder.journal)
        self._stamps: list[tuple[Path, int]] = []
        self._last = Progress(words="")

    def poll(self) -> Progress:
        """Return the progress; unreadable values stay as before."""
        with suppress(OSError):
            written = time_written(self._folder.journal)
            if written != self._read_at:
                self._known, self._read_at = self._folder.history(), written
            stamps = [(path, time_written(path)) for path in report_files(self._folder, self._known.attempt)]
            if stamps != self._stamps or not self._last.words:
                tasks = task_views(self._known.roles, None, reports_of(self._folder, self._known), ended=False)
                self._stamps, self._last = stamps, progress_of(self._folder, self._known, tasks)
        return self._last
