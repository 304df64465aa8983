"""Look at jobs: read what their folders say, ask each backend once for all. Nothing is written: `reconcile` does."""

from __future__ import annotations

import pwd
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId

from ..errors import BackendError, PaislurmError
from ..exit_codes.table import ExitTable
from ..state.history import apply, history
from ..state.journal import read
from ..state.records import Ended
from ..state.result import read_result
from ..state.safe_read import CorruptDataError, is_job_number, parse_int, read_end
from ..state.task_reports import read_reports
from .attempt import recover, submitted
from .job_status import FINAL, Evidence, JobStatus, State, determine_status, has_just_ended
from .task_status import TaskView, task_views
from .transition import between_attempts, transition
from .unbegun import may_be_slurms_own, node_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from paislurm.backends.base import Backend, Observation

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.records import Record
    from ..state.result import Result
    from ..state.task_reports import Report
    from .unbegun import NodeFailure

DUPLICATE = 5
"""What a batch script exits with whose attempt another job runs. Source: this project's docs, run folder."""
_SHIPPED = ExitTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Hold a job's folder and what its journal tells."""

    folder: JobFolder
    history: History
    read_errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Hold how a job stands. `backend_error`: why the backend did not answer; `read_errors`: what cannot be read.

    `news` are the records that its journal lacks; `history` has taken them in.
    """

    folder: JobFolder
    history: History
    job_status: JobStatus
    observation: Observation | None = None
    result: Result | None = None
    tasks: tuple[TaskView, ...] = ()
    backend_error: str = ""
    read_errors: tuple[str, ...] = ()
    news: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResult:
    """Hold what the backends said: observations by backend and id, and for each that said nothing, why."""

    observations: Mapping[tuple[str, str], Observation]
    problems: Mapping[str, str]


def open_job(folder: JobFolder) -> Opened:
    """Read a job's journal; OSError if it has none that can be read."""
    folder = replace(folder, inode=folder.journal.stat().st_ino)
    journal = read(folder.journal)
    read_errors = tuple(f"{folder.journal.name}: {what}" for what in journal.read_errors)
    return Opened(folder=folder, history=history(journal.records), read_errors=read_errors)


def poll_jobs(jobs: Sequence[Opened], backend: Callable[[str], Backend], now: int, *, tasks: bool = True) -> list[View]:
    """Look at jobs, and ask each backend once for all of them; of those that have ended nothing is asked.

    Without `tasks`, what the tasks of a living job report is not read: that can be thousands of files.
    """
    found = [recover(job.history, backend, now) for job in jobs]
    answers = poll_backends((known for known, _, _ in found), backend)
    views: list[View] = []
    for job, (known, news, backend_error) in zip(jobs, found, strict=True):
        view = evaluate(job.folder, known, answers, now, backend, tasks=tasks)
        read_errors, backend_error = job.read_errors + view.read_errors, backend_error or view.backend_error
        views.append(replace(view, read_errors=read_errors, backend_error=backend_error, news=(*news, *view.news)))
    return views


def poll_backends(histories: Iterable[History], backend: Callable[[str], Backend]) -> PollResult:
    """Ask each backend once about all its jobs; that one does not answer is an answer too."""
    ids: dict[str, set[JobId]] = {}
    for known in histories:
        if known.job_id and known.ended is None and known.retry is None:
            ids.setdefault(known.backend, set()).add(JobId(known.job_id))
    observations: dict[tuple[str, str], Observation] = {}
    problems: dict[str, str] = {}
    for name, wanted in ids.items():
        answer = _observe(backend, name, wanted)
        if isinstance(answer, str):
            problems[name] = answer
        else:
            observations |= {(name, job_id): observation for job_id, observation in answer.items()}
    return PollResult(observations=observations, problems=problems)


def _observe(backend: Callable[[str], Backend], name: str, ids: set[JobId]) -> Mapping[JobId, Observation] | str:
    """Return what a backend says, or why it says nothing: it can be one that there is not, in the record of a job."""
    try:
        return backend(name).observe(ids)
    except PaislurmError as error:
        return "; ".join(diagnostic.message for diagnostic in error.diagnostics)


def evaluate(
    folder: JobFolder, known: History, answers: PollResult, now: int, backend: Callable[[str], Backend], *, tasks: bool
) -> View:
    """Put together how a job stands, and what is new about it."""
    if known.ended is not None:
        return _ended(folder, known, tasks=tasks)
    if known.retry is not None:
        job_status, news = between_attempts(known, known.retry, now)
        return View(folder=folder, history=apply(known, news), job_status=job_status, news=news)
    observation = answers.observations.get((known.backend, known.job_id))
    owner = _owner_of_duplicate(folder, known, observation)
    if owner is not None:
        news = (submitted(known, owner, now),)
        job_status = JobStatus(state="WAITING", code=None, reason=f"it is job {owner} that runs it", ended=False)
        return View(folder=folder, history=apply(known, news), job_status=job_status, news=news)
    backend_error = answers.problems.get(known.backend, "")
    result, read_errors = _result(folder, known, late=tasks or (observation is not None and observation.final))
    reports = _reports(folder, known) if tasks else {}
    unbegun = None
    if observation is not None and may_be_slurms_own(known, observation, result):
        observation, unbegun, silence = _investigate(folder, known, observation, result, backend, now)
        backend_error = silence or backend_error
    evidence = Evidence(
        history=known,
        observation=observation,
        backend_reachable=not backend_error,
        result=result,
        started=not tasks or any(reports.values()) or bool(result and any(task.started_at for task in result.tasks)),
        now=now,
        canceller=_canceller(observation),
        unbegun=unbegun,
        table=ExitTable(known.exit_rows) if known.exit_rows else _SHIPPED,
    )
    job_status = determine_status(evidence)
    if job_status.ended and result is None:
        reports = _reports(folder, known)
    found = task_views(known.roles, result, reports, ended=job_status.ended) if tasks or job_status.ended else ()
    job_status, news = transition(evidence, job_status, completed=sum(task.completed for task in found))
    return View(
        folder=folder,
        history=apply(known, news),
        job_status=job_status,
        observation=observation,
        result=result,
        tasks=found,
        backend_error=backend_error,
        read_errors=read_errors,
        news=news,
    )


def _ended(folder: JobFolder, known: History, *, tasks: bool) -> View:
    """The journal knows the end; only the tasks are looked up."""
    assert known.ended is not None
    if not tasks:
        return View(folder=folder, history=known, job_status=recorded_status(known.ended))
    result, read_errors = _result(folder, known)
    found = task_views(known.roles, result, _reports(folder, known) if result is None else {}, ended=True)
    return View(
        folder=folder, history=known, job_status=recorded_status(known.ended), tasks=found, read_errors=read_errors
    )


def recorded_status(end: Ended) -> JobStatus:
    """Return how a job stands whose end is in the journal."""
    state: State = next((state for state in FINAL if state == end.state), "UNKNOWN")
    return JobStatus(state=state, code=end.exit_code, reason=end.reason, ended=True)


def _result(folder: JobFolder, known: History, *, late: bool = True) -> tuple[Result | None, tuple[str, ...]]:
    path = folder.result(known.attempt)
    if late:
        # Listing the folder makes a network file system look again for a file that was missing a moment ago.
        with suppress(OSError):
            list(path.parent.iterdir())
    try:
        return read_result(path), ()
    except (OSError, CorruptDataError) as error:
        return None, (f"{path.name} cannot be read: {error}",)


def _reports(folder: JobFolder, known: History) -> dict[str, Mapping[int, Report]]:
    return {role.folder: read_reports(folder.reports(known.attempt, role)) for role in known.roles}


def _investigate(
    folder: JobFolder,
    known: History,
    seen: Observation,
    result: Result | None,
    backend: Callable[[str], Backend],
    now: int,
) -> tuple[Observation | None, NodeFailure | None, str]:
    """Return what to believe of a job that Slurm may have cancelled itself, why it has, and why nobody says so."""
    told = result is not None and any(task.started_at for task in result.tasks)
    begun = told or any(_reports(folder, known).values())
    try:
        # The script of a job that had begun was told to end: that was root.
        lost = {} if told else backend(known.backend).unavailable_nodes(seen.nodes)
    except BackendError as error:
        return None, None, "; ".join(diagnostic.message for diagnostic in error.diagnostics)
    failure = node_failure(folder.attempt(known.attempt) / "srun", lost, begun=begun)
    more = failure is None and not told and has_just_ended(seen, known, now)
    return replace(seen, final=False) if more else seen, failure, ""


def _canceller(observation: Observation | None) -> str:
    """Return who cancelled a job: sacct says `CANCELLED by 1000`."""
    word = observation.raw_state.rpartition(" by ")[2] if observation else ""
    uid = parse_int(word)
    if uid is None or uid < 0:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return f"user {word}"


def _owner_of_duplicate(folder: JobFolder, known: History, observation: Observation | None) -> JobId | None:
    """Return the job that runs the attempt, where the one that is known ended as a duplicate of it."""
    if observation is None or not observation.final or observation.status != DUPLICATE:
        return None
    try:
        claim, _ = read_end(folder.claim(known.attempt), 64)
    except OSError:
        return None
    owner = claim.split()[0].decode("ascii", errors="replace") if claim.strip() else ""
    return JobId(owner) if is_job_number(owner) and owner != known.job_id else None
