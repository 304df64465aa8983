"""Determine the status of jobs: read their folders, and poll each backend once. Only `reconcile` writes."""

from __future__ import annotations

import pwd
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.base import JobId, Observation
from paislurm.backends.registry import is_remote
from paislurm.backends.slurm.job_states import FORGOTTEN, Phase, phase

from ..errors import BackendError
from ..exit_codes.codes import NEVER_TAKEN
from ..state.history import History, apply, history
from ..state.journal import read
from ..state.parsed import parse_int
from ..view.reasons import reason
from ..view.task import task_views
from .after import before_first
from .attempt import recover, submitted
from .claim import NO_CLAIM, begun, claim_of, is_claimable, other_runner, own
from .facts import View
from .job_files import questions, read_files, reports_of, result_of
from .job_status import JobStatus, is_anothers, may_be_lost, settled, tells_all
from .polling.shared_results import NOT_ASKED, asking
from .transition import between_attempts, transition, while_refused
from .unbegun import investigated, lost_nodes, may_be_slurms_own
from .verdict import verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paislurm.backends.base import Backend

    from ..state.job_folder import JobFolder
    from ..state.journal_records import Record
    from .polling.shared_results import Ask, PollResult
    from .unbegun import NodeFailure


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


def gather(files: View, answer: PollResult, now: int, backend: Callable[[str], Backend], *, tasks: bool) -> View:
    """Add the facts about an attempt in Slurm, once. `tasks` as in `poll_jobs`."""
    folder, known, result, read_errors = files.folder, files.history, files.result, files.read_errors
    claim = claim_of(folder, known.attempt) if known.job_id else NO_CLAIM
    is_claimed = bool(known.job_id) and claim.owner == known.job_id
    is_asked = bool(known.job_id) and not tells_all(result)
    polled_at, silence = _polled_at(files, answer, now), answer.error if is_asked else ""
    seen = own(folder, claim, known, answer.observations.get(JobId(known.job_id))) if is_asked else None
    age = int(answer.time) - (known.submitted or 0)
    if age < 0 or (age == 0 and (seen is None or seen.state == FORGOTTEN)):
        # The answer was about another job with this number.
        polled_at, seen = 0, None
    seen = settled(begun(claim, known, seen, polled_at), polled_at) if is_asked else None
    is_forgotten = seen is not None and seen.state == FORGOTTEN
    may_be_claimed = seen is None or may_be_lost(seen) or (is_forgotten and not is_anothers(seen))
    claimable = may_be_claimed and is_claimable(claim, known)
    seen = seen if is_forgotten or not claimable else None
    is_lost = is_forgotten or (seen is None and result is None and bool(polled_at))
    if result is None and seen is not None and seen.final:
        result, read_errors = result_of(folder, known.attempt, late=True)
        read_errors += files.read_errors
    reports = reports_of(folder, known) if tasks else {}
    unbegun: NodeFailure | None = None
    lost: tuple[str, ...] = ()
    try:
        if seen is not None and may_be_slurms_own(known, seen, result):
            seen, unbegun = investigated(files, seen, result, backend, now, claimed=is_claimed)
    except BackendError as error:
        seen, silence = None, error.words
    with suppress(BackendError):
        lost = lost_nodes(known, seen, result, files.table, backend, claimed=is_claimed)
    return replace(
        files,
        observation=seen,
        backend_reachable=bool(polled_at) and not silence,
        result=result,
        started=any(reports.values())
        or (result is not None and any(task.started_at for task in result.tasks))
        or (not tasks and _has_run(known, seen, claimed=is_claimed)),
        now=now,
        polled_at=polled_at,
        claimed=is_claimed,
        claimable=claimable,
        runner=other_runner(claim, known, seen, is_lost=is_lost),
        canceller=_canceller(seen, known),
        unbegun=unbegun,
        lost=lost,
        reports=reports,
        backend_error=silence,
        read_errors=read_errors,
    )


def _polled_at(files: View, answer: PollResult, now: int) -> int:
    """Return the time of the poll for a job, 0 if there was none or the result is newer than the answer."""
    known, result = files.history, files.result
    polled_at = min(now, int(answer.time)) if known.tag in answer.found or known.job_id in answer.asked else 0
    overtaken = result is not None and known.job_id not in answer.observations and polled_at < (result.ended_at or 0)
    return 0 if overtaken else polled_at


def _has_run(known: History, seen: Observation | None, *, claimed: bool) -> bool:
    """Return whether the backend has reported that a job runs, or that a job ended whose script had begun.

    Used if task reports are not read.
    """
    state = seen.state if seen else known.observed.backend_state if known.observed else None
    return state is not None and (phase(state) is Phase.RUNNING or (claimed and phase(state) is Phase.ENDED))


def _canceller(seen: Observation | None, known: History) -> str:
    """Return the user who cancelled a job: sacct prints `CANCELLED by 1000`, and a login node's uids may differ."""
    word = seen.raw_state.rpartition(" by ")[2] if seen else ""
    uid = parse_int(word)
    if uid is None or uid < 0:
        return ""
    if uid and is_remote(known.backend):
        return f"user {word}"
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"user {word}"


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
