"""What a waiting command reports of a job: earlier attempts, why it waits, and its progress."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from ...exit_codes.table import ExitTable
from ...files.names import STEPS
from ...files.shared_files import time_written
from ...monitor.explained_waits import REASON_SECONDS
from ...monitor.job_failure import usual_advice
from ...monitor.job_files import reports_of
from ...plural import attempt_name, counted
from ...terminal_text import one_line
from ...times import format_time, time_of_day
from ...view.states import state_of, state_text
from ...view.task import task_views
from ...view.waits import advice, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...exit_codes.advice import Advice
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.journal_records import Retry
    from ...view.task import TaskView
    from ...view.waits import Wait
    from ..session import Session


MAX_BEFORE = 3
"""Most reported attempts that had ended before the wait."""


class ReportedWaits:
    """Report why a job waits, once for each reason; all of Slurm's reasons for queueing count as one.

    A repeated reason is reported only after a while, because Slurm's reasons alternate.
    """

    def __init__(self, session: Session, name: str) -> None:
        self._session, self._name = session, name
        self._last: frozenset[object] = frozenset()
        self._told: dict[frozenset[object], float] = {}

    def report(self, found: Sequence[Wait], since: int | None) -> None:
        """Report a new reason; ignore an unknown one."""
        other = frozenset((wait.role_names, wait.backend_reason) for wait in found if wait.kind != "turn")
        reasons: frozenset[object] = other or frozenset(["turn"])
        now = time.monotonic()
        if not found or reasons == self._last or now - self._told.get(reasons, -math.inf) < REASON_SECONDS:
            return
        self._last, self._told[reasons] = reasons, now
        self._session.say(f"{self._name} waits, since {format_time(since)}: {sentence(found)}")
        self._session.say(f"advice: {advice(found)}")


class ReportedAttempts:
    """Report for each attempt but the last how it ended, when the next one follows, and its job id.

    `quiet` reports nothing; without `starts`, submissions of attempts are not reported.
    """

    def __init__(self, session: Session, name: str, *, quiet: bool, starts: bool) -> None:
        self._session, self._name, self._quiet, self._starts = session, name, quiet, starts
        self._ends: int | None = None
        self._start: int | None = None
        self._advised: list[Advice] = []

    def report(self, known: History) -> None:
        """Report new ends and submissions of attempts."""
        if self._quiet:
            return
        if self._ends is None or self._start is None:
            self._ends = max(0, len(known.retries) - MAX_BEFORE)
            self._start = known.attempt
        now = self._session.now()
        for retry in known.retries[self._ends :]:
            when = time_of_day(retry.ended_at or retry.happened_at)
            self._session.say(one_line(f"{when} {ended_text(self._name, retry, now)}"))
        self._advise(known)
        self._ends = max(self._ends, len(known.retries))
        if known.attempt > self._start and known.job_id:
            self._start = known.attempt
            if self._starts:
                when = time_of_day(known.submitted or now)
                self._session.say(
                    one_line(f"{when} {attempt_name(known.attempt)} of {self._name} is job {known.job_id}")
                )

    def _advise(self, known: History) -> None:
        """Report once for each exit code its usual meaning, while the next attempt can be cancelled."""
        retry = known.retry if known.is_between_attempts else None
        said = usual_advice(ExitTable(known.exit_rows), retry.exit_code) if retry is not None else None
        if said is not None and said not in self._advised:
            self._advised.append(said)
            self._session.say(one_line(f"usual cause: {said.meaning}; try: {said.remedy}"))


def ended_text(name: str, retry: Retry, now: int) -> str:
    """Return how an attempt ended, and when the next one follows, in words."""
    when = f" in {retry.retry_at - now} s" if retry.retry_at > now else ""
    follows = f"{attempt_name(retry.attempt + 1)} follows{when} ({retry.retry_rule})"
    state = state_text(state_of(retry.exit_code), retry.exit_code)
    return f"{attempt_name(retry.attempt)} of {name} {state}: {retry.reason}; {follows}"


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
