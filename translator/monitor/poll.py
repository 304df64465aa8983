"""Determine the status of jobs: read their folders, and poll each backend once. Only `reconcile` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..exit_codes.codes import NEVER_TAKEN
from ..state.history import apply, history
from ..state.journal import read
from ..view.reasons import reason
from ..view.task import task_views
from .after import before_first
from .attempt import recover, submitted
from .facts import View, gather
from .job_files import questions, read_files, reports_of, result_of
from .job_status import JobStatus
from .polling.shared_results import NOT_ASKED, asking
from .transition import between_attempts, transition, while_refused
from .verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paislurm.backends.base import Backend

    from ..state.job_folder import JobFolder
    from ..state.journal_records import Record
    from .polling.shared_results import Ask, PollResult


def open_job(folder: JobFolder) -> View:
    """Read a job's journal. Raises OSError if it is missing or cannot be read."""
    journal = read(folder.own_journal())
    read_errors = tuple(f"{folder.journal.name}: {what}" for what in journal.read_errors)
    return View(folder=folder, history=history(journal.records), read_errors=read_errors)


def poll_jobs(
    jobs: Sequence[View],
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
        files = replace(files, history=known, news=files.news + news)
        view = evaluate(files, answer, now, backend, tasks=tasks)
        views.append(replace(view, backend_error=backend_error or view.backend_error))
    for position, job in enumerate(jobs):
        if job.history.ended is None and job.history.retry is None and not job.folder.is_here():
            views[position] = _gone(job)
    return views


def _gone(job: View) -> View:
    gone = JobStatus.so_far("UNKNOWN", reason("removed"))
    error = f"{job.folder.name} has been removed"
    return View(folder=job.folder, history=job.history, job_status=gone, is_gone=True, backend_error=error)


def evaluate(files: View, answer: PollResult, now: int, backend: Callable[[str], Backend], *, tasks: bool) -> View:
    """Determine a job's status, and new records about it."""
    known = files.history
    if known.ended is not None:
        return _with_tasks(replace(files, job_status=JobStatus.recorded(known.ended)), tasks=tasks)
    if known.is_held_back:
        return held_back(files, now)
    if known.retry is not None:
        return _with_tasks(_with_status(files, *between_attempts(known, known.retry, now)), tasks=tasks)
    if known.refused is not None:
        return _with_status(files, *while_refused(known, known.refused, now))
    facts = gather(files, answer, now, backend, tasks=tasks)
    end, result = verdict(facts), facts.result
    if facts.runner:
        return _with_status(replace(files, result=None), end, (submitted(known, facts.runner, now),))
    reports = reports_of(files.folder, known) if end.ended and result is None else facts.reports
    found = task_views(known.roles, result, reports, ended=end.ended) if tasks or end.ended else ()
    facts = replace(facts, tasks=found, never_began=end.code == NEVER_TAKEN and result is None)
    return _with_status(facts, *transition(facts, end, completed=sum(task.completed for task in found)))


def held_back(view: View, now: int) -> View:
    """Return the view of a job that waits for others. No poll is needed."""
    return _with_status(view, *before_first(view.folder, view.history, now))


def _with_status(view: View, job_status: JobStatus, news: tuple[Record, ...]) -> View:
    return replace(view, history=apply(view.history, news), job_status=job_status, news=view.news + news)


def _with_tasks(view: View, *, tasks: bool) -> View:
    """Add the tasks of an attempt whose end is recorded, if they are wanted."""
    known = view.history
    if not tasks or (known.ended is None and known.retry is None):
        return view
    result, read_errors = result_of(view.folder, known.attempt, late=True)
    found = task_views(known.roles, result, reports_of(view.folder, known) if result is None else {}, ended=True)
    return replace(view, result=result, tasks=found, read_errors=view.read_errors + read_errors)
