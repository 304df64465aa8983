"""Determine the status of jobs: read their folders, and poll each backend once. Only `reconcile` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..exit_codes.codes import NEVER_TAKEN
from ..state.history import apply, history
from ..state.journal import read
from ..view.reasons import reason
from ..view.task import TaskView, task_views
from .after import before_first
from .attempt import recover, submitted
from .facts import gather
from .job_files import Opened, questions, read_files, reports_of, result_of
from .job_status import JobStatus
from .polling.shared_results import NOT_ASKED, asking
from .transition import between_attempts, transition, while_refused
from .verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paislurm.backends.base import Backend, Observation

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.records import Record
    from .polling.shared_results import Ask, PollResult


class View(Opened, frozen=True, kw_only=True):
    """Hold a job's status. `backend_error` is the backend's error.

    `claimable` as in Facts. `never_began` tells whether Slurm has lost the job before its script began. `is_gone` tells
    whether the job was removed while it was read. `polled_at` is the time of the poll for the job, 0 if there was none.
    `room_at` is the time from which the due attempt may be submitted, None if it may now.
    """

    job_status: JobStatus
    observation: Observation | None = None
    claimable: bool = False
    never_began: bool = False
    is_gone: bool = False
    tasks: tuple[TaskView, ...] = ()
    polled_at: int = 0
    room_at: int | None = None
    backend_error: str = ""


def open_job(folder: JobFolder) -> Opened:
    """Read a job's journal. Raises OSError if it is missing or cannot be read."""
    journal = read(folder.own_journal())
    read_errors = tuple(f"{folder.journal.name}: {what}" for what in journal.read_errors)
    return Opened(folder=folder, history=history(journal.records), read_errors=read_errors)


def poll_jobs(
    jobs: Sequence[Opened],
    backend: Callable[[str], Backend],
    now: int,
    ask: Ask | None = None,
    *,
    tasks: bool = True,
) -> list[View]:
    """Determine the status of jobs; poll each backend once for those whose files do not suffice.

    `ask` polls a backend; None polls at once. Without `tasks`, do not read the reports of running tasks, which may
    be thousands of files.
    """
    ask = ask or asking(backend, now)
    found = [read_files(job, late=tasks) for job in jobs]
    answers = {name: ask(name, ids, tags) for name, (ids, tags) in questions(found).items()}
    views: list[View] = []
    for files in found:
        answer = answers.get(files.history.backend, NOT_ASKED)
        known, news, backend_error = recover(files.history, answer, now)
        view = evaluate(replace(files, history=known), answer, now, backend, tasks=tasks)
        backend_error = backend_error or view.backend_error
        views.append(replace(view, backend_error=backend_error, news=(*files.news, *news, *view.news)))
    for position, job in enumerate(jobs):
        if job.history.ended is None and job.history.retry is None and not job.folder.is_here():
            views[position] = _gone(job)
    return views


def _gone(job: Opened) -> View:
    gone = JobStatus.so_far("UNKNOWN", reason("removed"))
    error = f"{job.folder.name} has been removed"
    return View(folder=job.folder, history=job.history, job_status=gone, is_gone=True, backend_error=error)


def evaluate(files: Opened, answer: PollResult, now: int, backend: Callable[[str], Backend], *, tasks: bool) -> View:
    """Determine a job's status, and new records about it."""
    if (view := _without_attempt(files, now, tasks=tasks)) is not None:
        return view
    folder, known = files.folder, files.history
    facts = gather(files, answer, now, backend, tasks=tasks)
    end, result = verdict(facts), facts.result
    if facts.runner:
        return _unasked(folder, known, (), (end, (submitted(known, facts.runner, now),)))
    reports = reports_of(folder, known) if end.ended and result is None else facts.reports
    found = task_views(known.roles, result, reports, ended=end.ended) if tasks or end.ended else ()
    job_status, news = transition(facts, end, completed=sum(task.completed for task in found))
    return View(
        folder=folder,
        history=apply(known, news),
        job_status=job_status,
        observation=facts.observation,
        claimable=facts.claimable,
        never_began=end.code == NEVER_TAKEN and result is None,
        result=result,
        tasks=found,
        polled_at=facts.polled_at,
        backend_error=facts.backend_error,
        read_errors=facts.read_errors,
        news=news,
    )


def _without_attempt(files: Opened, now: int, *, tasks: bool) -> View | None:
    """Return the view of a job without an attempt in Slurm, None for a job that has one. No poll is needed."""
    folder, known, read_errors = files.folder, files.history, files.read_errors
    if known.ended is not None:
        return _ended(files, tasks=tasks)
    if known.is_held_back:
        return held_back(folder, known, now, read_errors)
    if known.retry is not None:
        return _unasked(folder, known, read_errors, between_attempts(known, known.retry, now))
    if known.refused is not None:
        return _unasked(folder, known, read_errors, while_refused(known, known.refused, now))
    return None


def held_back(folder: JobFolder, known: History, now: int, read_errors: tuple[str, ...]) -> View:
    """Return the view of a job that waits for others. No poll is needed."""
    return _unasked(folder, known, read_errors, before_first(folder, known, now))


def _unasked(
    folder: JobFolder, known: History, read_errors: tuple[str, ...], found: tuple[JobStatus, tuple[Record, ...]]
) -> View:
    """Return the view of a job from a status and records that are `found` without a poll."""
    job_status, news = found
    return View(folder=folder, history=apply(known, news), job_status=job_status, news=news, read_errors=read_errors)


def _ended(files: Opened, *, tasks: bool) -> View:
    """Return the view of a job with a recorded end; only its tasks are read."""
    folder, known = files.folder, files.history
    end = known.ended
    assert end is not None
    view = View(folder=folder, history=known, job_status=JobStatus.recorded(end), read_errors=files.read_errors)
    if not tasks:
        return view
    result, read_errors = result_of(folder, known.attempt, late=True)
    found = task_views(known.roles, result, reports_of(folder, known) if result is None else {}, ended=True)
    return replace(view, result=result, tasks=found, read_errors=view.read_errors + read_errors)
