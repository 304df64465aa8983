"""Determine the status of jobs: read their folders, and poll each backend once. Only `reconcile` writes."""

from __future__ import annotations

import os
import pwd
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.backends.hostlist import expand
from paislurm.backends.registry import is_remote
from paislurm.backends.slurm.states import BY_NOBODY, Phase, phase

from ..errors import BackendError
from ..exit_codes.table import ExitTable
from ..files.names import STEPS
from ..state.history import apply, history
from ..state.job_folder import JobFolder
from ..state.journal import read
from ..state.parsed import parse_int
from ..state.task_reports import read_reports
from .after import before_first
from .attempt import recover, submitted
from .determine import determine_status
from .job_files import begun, claimed_by, own, questions, read_files, result_of
from .job_status import (
    FINAL,
    LOST_NODES,
    NEVER_TAKEN,
    RESULT_LAG,
    Evidence,
    JobStatus,
    State,
    is_anothers,
    may_be_lost,
    settled,
    tells_all,
)
from .polling.shared_results import NOT_ASKED, asking
from .task_status import TaskView, task_views
from .transition import between_attempts, transition, while_refused
from .unbegun import NO_REASON, STARTED_TWICE, may_be_slurms_own, node_failure, was_started_twice
from .without_result import has_just_ended

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from paislurm.backends.base import Backend, Observation

    from ..state.history import History
    from ..state.records import Record
    from ..state.result import Result
    from ..state.task_reports import Report
    from .job_files import JobFiles
    from .polling.shared_results import Ask, PollResult
    from .unbegun import NodeFailure

DUPLICATE = 5
"""The exit status of a batch script whose attempt another job runs. Source: this project's docs, run folder."""
_SHIPPED = ExitTable()


class Opened(Struct, frozen=True, kw_only=True):
    folder: JobFolder
    history: History
    read_errors: tuple[str, ...] = ()


class View(Struct, frozen=True, kw_only=True):
    """Hold a job's status. `backend_error` is the backend's error; `read_errors` describe unreadable files.

    `claimable` as in Evidence. `never_began` tells whether Slurm has lost the job before its script began. `news` are
    records that the journal lacks; `history` includes them. `is_gone` tells whether the job was removed while it was
    read. `polled_at` is the time of the poll for the job, 0 if there was none. `room_at` is the time from which the due
    attempt may be submitted, None if it may now.
    """

    folder: JobFolder
    history: History
    job_status: JobStatus
    observation: Observation | None = None
    claimable: bool = False
    never_began: bool = False
    is_gone: bool = False
    result: Result | None = None
    tasks: tuple[TaskView, ...] = ()
    polled_at: int = 0
    room_at: int | None = None
    backend_error: str = ""
    read_errors: tuple[str, ...] = ()
    news: tuple[Record, ...] = ()


def open_job(folder: JobFolder) -> Opened:
    """Read a job's journal. Raises OSError if it is missing or cannot be read."""
    folder = JobFolder(path=folder.path, inode=folder.own_journal().stat().st_ino)
    journal = read(folder.journal)
    read_errors = tuple(f"{folder.journal.name}: {what}" for what in journal.read_errors)
    return Opened(folder=folder, history=history(journal.records), read_errors=read_errors)


def poll_jobs(
    jobs: Sequence[Opened],
    backend: Callable[[str], Backend],
    now: int,
    ask: Ask | None = None,
    *,
    tasks: bool = True,
    again: bool = True,
) -> list[View]:
    """Determine the status of jobs; poll each backend once for those whose files do not suffice.

    `ask` polls a backend; None polls at once. Without `tasks`, do not read the reports of running tasks, which may
    be thousands of files. With `again`, a job whose folder another job has taken meanwhile is read once more.
    """
    ask = ask or asking(backend, now)
    found = [read_files(job.folder, job.history, late=tasks, read_errors=job.read_errors) for job in jobs]
    answers = {name: ask(name, ids, tags) for name, (ids, tags) in questions(found).items()}
    views: list[View] = []
    for files in found:
        answer = answers.get(files.known.backend, NOT_ASKED)
        known, news, backend_error = recover(files.known, answer, now)
        view = evaluate(replace(files, known=known), answer, now, backend, tasks=tasks)
        backend_error = backend_error or view.backend_error
        views.append(replace(view, backend_error=backend_error, news=(*files.news, *news, *view.news)))
    for position, job in enumerate(jobs if again else ()):
        if job.history.ended is None and job.history.retry is None and not job.folder.is_here():
            views[position] = _again(job, backend, now, ask, tasks=tasks)
    return views


def _again(job: Opened, backend: Callable[[str], Backend], now: int, ask: Ask, *, tasks: bool) -> View:
    """Return the view of the job that has taken the folder's name, or that the folder has been removed."""
    try:
        return poll_jobs([open_job(job.folder)], backend, now, ask, tasks=tasks, again=False)[0]
    except OSError:
        gone = JobStatus.so_far("UNKNOWN", "its folder has been removed")
        error = f"{job.folder.name} has been removed"
        return View(folder=job.folder, history=job.history, job_status=gone, is_gone=True, backend_error=error)


def evaluate(files: JobFiles, answer: PollResult, now: int, backend: Callable[[str], Backend], *, tasks: bool) -> View:
    """Determine a job's status, and new records about it."""
    folder, known, result, read_errors = files.folder, files.known, files.result, files.read_errors
    if (view := _without_attempt(files, now, tasks=tasks)) is not None:
        return view
    polled_at = _polled_at(files, answer, now)
    observation, backend_error, unbegun = None, "", None
    if known.job_id and not tells_all(result):
        observation, backend_error = answer.observations.get(JobId(known.job_id)), answer.error
        observation = settled(begun(folder, known, own(folder, known, observation), polled_at), polled_at)
    claimable = (observation is None or may_be_lost(observation)) and _is_claimable(folder, known)
    observation = None if claimable else observation
    is_unknown = bool(known.job_id) and observation is None and result is None and bool(polled_at)
    owner = _owner_of_duplicate(folder, known, observation, is_lost=is_unknown or is_anothers(observation))
    if owner is not None:
        job_status = JobStatus.so_far("WAITING", f"job {owner} runs this attempt")
        return _unasked(folder, known, (), (job_status, (submitted(known, owner, now),)))
    if result is None and observation is not None and observation.final:
        result, read_errors = result_of(folder, known.attempt, late=True)
        read_errors += files.read_errors
    reports = reports_of(folder, known) if tasks else {}
    if observation is not None and may_be_slurms_own(known, observation, result):
        observation, unbegun, silence = _investigate(folder, known, observation, result, backend, now)
        backend_error = silence or backend_error
    table = ExitTable(known.exit_rows) if known.exit_rows else _SHIPPED
    evidence = Evidence(
        history=known,
        observation=observation,
        backend_reachable=bool(polled_at) and not backend_error,
        result=result,
        started=_has_started(result, reports) or (not tasks and _has_run(known, observation)),
        now=now,
        polled_at=polled_at,
        folder=str(folder.path),
        claimed=claimed_by(folder, known.attempt) == known.job_id,
        claimable=claimable,
        canceller=_canceller(observation, known),
        unbegun=unbegun,
        lost=_lost_nodes(folder, known, observation, result, table, backend),
        table=table,
    )
    end = determine_status(evidence)
    if end.ended and result is None:
        reports = reports_of(folder, known)
    found = task_views(known.roles, result, reports, ended=end.ended) if tasks or end.ended else ()
    job_status, news = transition(evidence, end, completed=sum(task.completed for task in found))
    return View(
        folder=folder,
        history=apply(known, news),
        job_status=job_status,
        observation=observation,
        claimable=claimable,
        never_began=end.code == NEVER_TAKEN and result is None,
        result=result,
        tasks=found,
        polled_at=polled_at,
        backend_error=backend_error,
        read_errors=read_errors,
        news=news,
    )


def _without_attempt(files: JobFiles, now: int, *, tasks: bool) -> View | None:
    """Return the view of a job without an attempt in Slurm, None for a job that has one. No poll is needed."""
    folder, known, read_errors = files.folder, files.known, files.read_errors
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


def _polled_at(files: JobFiles, answer: PollResult, now: int) -> int:
    """Return the time of the poll for a job, 0 if there was none or the result is newer than the answer."""
    known, result = files.known, files.result
    polled_at = min(now, int(answer.time)) if known.tag in answer.found or known.job_id in answer.asked else 0
    overtaken = result is not None and known.job_id not in answer.observations and polled_at < (result.ended_at or 0)
    return 0 if overtaken else polled_at


def _ended(files: JobFiles, *, tasks: bool) -> View:
    """Return the view of a job with a recorded end; only its tasks are read."""
    folder, known = files.folder, files.known
    end = known.ended
    assert end is not None
    status = JobStatus(state=final_state(end.state), code=end.exit_code, reason=end.reason, ended=True)
    view = View(folder=folder, history=known, job_status=status, read_errors=files.read_errors)
    if not tasks:
        return view
    result, read_errors = result_of(folder, known.attempt, late=True)
    found = task_views(known.roles, result, reports_of(folder, known) if result is None else {}, ended=True)
    return replace(view, result=result, tasks=found, read_errors=view.read_errors + read_errors)


def final_state(word: str) -> State:
    """Return the final state in a journal, UNKNOWN for a state of another version."""
    return next((state for state in FINAL if state == word), "UNKNOWN")


def reports_of(folder: JobFolder, known: History) -> dict[str, Mapping[int, Report]]:
    """Return the task reports of the last attempt, by role folder and task index."""
    found = read_reports(folder.reports(known.attempt))
    return {role.folder: found.get(position, {}) for position, role in enumerate(known.roles)}


def _investigate(
    folder: JobFolder,
    known: History,
    seen: Observation,
    result: Result | None,
    backend: Callable[[str], Backend],
    now: int,
) -> tuple[Observation | None, NodeFailure | None, str]:
    """Investigate a job that Slurm may have cancelled itself. Return its observation, Slurm's cause, and any error."""
    has_started_tasks = result is not None and any(task.started_at for task in result.tasks)
    has_begun = has_started_tasks or any(reports_of(folder, known).values())
    try:
        # The script got a signal after tasks had started: that was root.
        ask = seen.nodes and not has_started_tasks
        lost = backend(known.backend).unavailable_nodes(seen.nodes) if ask else {}
    except BackendError as error:
        return None, None, error.words
    failure = node_failure(folder.attempt(known.attempt) / STEPS, lost, begun=has_begun)
    if failure is None and was_started_twice(seen, result):
        failure = STARTED_TWICE
    if failure is not None or has_started_tasks:
        return seen, failure, ""
    if has_just_ended(seen, known, now):
        return replace(seen, final=False), None, ""
    is_unclaimed = claimed_by(folder, known.attempt) != known.job_id
    return seen, NO_REASON if seen.raw_state == BY_NOBODY and is_unclaimed else None, ""


def _lost_nodes(
    folder: JobFolder,
    known: History,
    seen: Observation | None,
    result: Result | None,
    table: ExitTable,
    backend: Callable[[str], Backend],
) -> tuple[str, ...]:
    """Return the nodes whose failure ended a job: those that are unavailable, else the batch script's node.

    The batch script's node is lost if the script started and left no result, or noticed the end late, or if it is
    the only node. It may be available again by now.
    """
    if seen is None or not seen.final or not seen.nodes:
        return ()
    outside = table.states.get(seen.state)
    codes = (outside[0].code if outside else 0, result.exit_code if result else 0)
    if not set(codes) & {*LOST_NODES}:
        return ()
    try:
        lost = backend(known.backend).unavailable_nodes(seen.nodes)
    except BackendError:
        return ()
    has_begun = claimed_by(folder, known.attempt) == known.job_id
    is_cut_off = result is None or (result.ended_at or 0) - (seen.ended or 0) > RESULT_LAG
    with suppress(ValueError):
        nodes = expand(seen.nodes)
        if not lost and (len(nodes) == 1 or (has_begun and is_cut_off)):
            return tuple(nodes[:1])
    return tuple(lost)


def _has_started(result: Result | None, reports: Mapping[str, Mapping[int, Report]]) -> bool:
    """Return whether the job's own files show that a task has started."""
    return any(reports.values()) or bool(result and any(task.started_at for task in result.tasks))


def _has_run(known: History, seen: Observation | None) -> bool:
    """Return whether the backend has reported that a job runs or ran, used if task reports are not read."""
    state = seen.state if seen else known.observed.backend_state if known.observed else None
    return state is not None and phase(state) in (Phase.RUNNING, Phase.ENDED)


def _is_claimable(folder: JobFolder, known: History) -> bool:
    """Return whether a monitor here may claim an attempt for no job, if Slurm has lost its job.

    Nodes that share the folder see this claim. Of a job that was submitted from another machine, a Slurm of this one
    may know nothing, because it is another Slurm.
    """
    if is_remote(known.backend) or known.run is None or claimed_by(folder, known.attempt) is not None:
        return False
    return known.run.submitted_by.rpartition("@")[2] == os.uname().nodename


def _canceller(observation: Observation | None, known: History) -> str:
    """Return the user who cancelled a job: sacct prints `CANCELLED by 1000`, and a login node's uids may differ."""
    word = observation.raw_state.rpartition(" by ")[2] if observation else ""
    uid = parse_int(word)
    if uid is None or uid < 0:
        return ""
    if uid and is_remote(known.backend):
        return f"user {word}"
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"user {word}"


def _owner_of_duplicate(
    folder: JobFolder, known: History, observation: Observation | None, *, is_lost: bool
) -> JobId | None:
    """Return the job that runs the attempt, if the known job ended as its duplicate, or Slurm has lost it."""
    is_duplicate = observation is not None and observation.final and observation.status == DUPLICATE
    if not is_duplicate and not is_lost:
        return None
    owner = claimed_by(folder, known.attempt)
    return owner if owner != known.job_id else None
