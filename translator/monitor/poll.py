"""Look at jobs: read what their folders say, ask each backend once for the rest. `reconcile` writes, this does not."""

from __future__ import annotations

import pwd
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId
from paislurm.backends.slurm.states import Phase, phase

from ..errors import BackendError
from ..exit_codes.table import ExitTable
from ..state.history import apply, history
from ..state.journal import read
from ..state.records import Ended
from ..state.safe_read import parse_int
from ..state.task_reports import read_reports
from .asking.answer import NOT_ASKED, asking
from .attempt import is_unsettled, recover, submitted
from .job_status import FINAL, Evidence, JobStatus, State, determine_status, has_just_ended, tells_all
from .task_status import TaskView, task_views
from .transition import between_attempts, transition
from .unbegun import may_be_slurms_own, node_failure
from .watching.job_files import begun, claimed_by, read_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from paislurm.backends.base import Backend, Observation

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.records import Record
    from ..state.result import Result
    from ..state.task_reports import Report
    from .asking.answer import Answer, Ask
    from .watching.job_files import JobFiles

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

    `news` are the records that its journal lacks; `history` has taken them in. `heard` is when the backend was asked
    for it, 0 where it was not; `room_at` when the attempt that is due may be submitted, None where that is now.
    """

    folder: JobFolder
    history: History
    job_status: JobStatus
    observation: Observation | None = None
    result: Result | None = None
    tasks: tuple[TaskView, ...] = ()
    heard: int = 0
    room_at: int | None = None
    backend_error: str = ""
    read_errors: tuple[str, ...] = ()
    news: tuple[Record, ...] = ()


def open_job(folder: JobFolder) -> Opened:
    """Read a job's journal; OSError if it has none that can be read."""
    folder = replace(folder, inode=folder.journal.stat().st_ino)
    journal = read(folder.journal)
    read_errors = tuple(f"{folder.journal.name}: {what}" for what in journal.read_errors)
    return Opened(folder=folder, history=history(journal.records), read_errors=read_errors)


def poll_jobs(
    jobs: Sequence[Opened], backend: Callable[[str], Backend], now: int, ask: Ask | None = None, *, tasks: bool = True
) -> list[View]:
    """Look at jobs, and ask each backend once for all of which their files do not tell enough.

    `ask` is how that is done, at once where it is None. Without `tasks`, what the tasks of a living job report is not
    read: that can be thousands of files.
    """
    looks = [_look(job, late=tasks) for job in jobs]
    answers = _answers(looks, ask or asking(backend, now))
    views: list[View] = []
    for look in looks:
        answer = answers.get(look.known.backend, NOT_ASKED)
        known, news, backend_error = recover(look.known, answer, now)
        view = evaluate(replace(look, known=known), answer, now, backend, tasks=tasks)
        backend_error = backend_error or view.backend_error
        views.append(replace(view, backend_error=backend_error, news=(*look.news, *news, *view.news)))
    return views


def questions(jobs: Iterable[Opened]) -> dict[str, tuple[set[JobId], set[str]]]:
    """Return for each backend what is to be asked of it: ids, and the tags of jobs whose ids are not known."""
    return _questions(_look(job, late=False) for job in jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """Hold what a job's folder tells: its journal with the `news` that a claim is, and its files."""

    folder: JobFolder
    known: History
    files: JobFiles
    news: tuple[Record, ...] = ()
    read_errors: tuple[str, ...] = ()


def _look(job: Opened, *, late: bool) -> _Look:
    known = job.history
    news: tuple[Record, ...] = ()
    if is_unsettled(known) and (owner := claimed_by(job.folder, known.attempt)) is not None:
        news = (submitted(known, owner, known.asked),)
        known = apply(known, news)
    files = read_files(job.folder, known, late=late)
    return _Look(folder=job.folder, known=known, files=files, news=news, read_errors=job.read_errors)


def _questions(looks: Iterable[_Look]) -> dict[str, tuple[set[JobId], set[str]]]:
    wanted: dict[str, tuple[set[JobId], set[str]]] = {}
    for look in looks:
        known = look.known
        if is_unsettled(known):
            wanted.setdefault(known.backend, (set(), set()))[1].add(known.tag)
        elif known.job_id and known.ended is None and known.retry is None and not tells_all(look.files.result):
            wanted.setdefault(known.backend, (set(), set()))[0].add(JobId(known.job_id))
    return wanted


def _answers(looks: Iterable[_Look], ask: Ask) -> dict[str, Answer]:
    """Ask each backend once; of one about which there is nothing to ask there is no answer."""
    return {name: ask(name, ids, tags) for name, (ids, tags) in _questions(looks).items()}


def evaluate(look: _Look, answer: Answer, now: int, backend: Callable[[str], Backend], *, tasks: bool) -> View:
    """Put together how a job stands, and what is new about it."""
    folder, known = look.folder, look.known
    if known.ended is not None:
        return _ended(look, tasks=tasks)
    heard = min(now, int(answer.time)) if known.tag in answer.found or known.job_id in answer.asked else 0
    if known.retry is not None:
        job_status, news = between_attempts(known, known.retry, now)
        return View(
            folder=folder, history=apply(known, news), job_status=job_status, news=news, read_errors=look.read_errors
        )
    files, observation, backend_error = look.files, None, ""
    if not tells_all(files.result) and known.job_id:
        observation, backend_error = answer.observations.get(JobId(known.job_id)), answer.error
        observation = begun(folder, known, observation, heard)
    owner = _owner_of_duplicate(folder, known, observation)
    if owner is not None:
        news = (submitted(known, owner, now),)
        job_status = JobStatus(state="WAITING", code=None, reason=f"it is job {owner} that runs it", ended=False)
        return View(folder=folder, history=apply(known, news), job_status=job_status, news=news)
    if files.result is None and observation is not None and observation.final:
        files = read_files(folder, known, late=True)
    result = files.result
    reports = _reports(folder, known) if tasks else {}
    unbegun = None
    if observation is not None and may_be_slurms_own(known, observation, result):
        told = result is not None and any(task.started for task in result.tasks)
        has_begun = told or any(_reports(folder, known).values())
        try:
            # The script of a job that had begun was told to end: that was root.
            lost = {} if told else backend(known.backend).unavailable_nodes(observation.nodes)
            unbegun = node_failure(folder.attempt(known.attempt) / "srun", lost, begun=has_begun)
            if unbegun is None and not told and has_just_ended(observation, known, now):
                observation = replace(observation, final=False)
        except BackendError as error:
            observation, backend_error = None, "; ".join(diagnostic.message for diagnostic in error.diagnostics)
    evidence = Evidence(
        history=known,
        observation=observation,
        backend_reachable=bool(heard) and not backend_error,
        result=result,
        started=any(reports.values())
        or bool(result and any(task.started for task in result.tasks))
        or (not tasks and _has_run(known, observation)),
        now=now,
        heard=heard,
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
        heard=heard,
        backend_error=backend_error,
        read_errors=look.read_errors + files.read_errors,
        news=news,
    )


def _ended(look: _Look, *, tasks: bool) -> View:
    """The journal knows the end; only the tasks are looked up."""
    folder, known = look.folder, look.known
    assert known.ended is not None
    view = View(folder=folder, history=known, job_status=recorded_status(known.ended), read_errors=look.read_errors)
    if not tasks:
        return view
    files = read_files(folder, replace(known, ended=None), late=True)
    reports = _reports(folder, known) if files.result is None else {}
    found = task_views(known.roles, files.result, reports, ended=True)
    return replace(view, result=files.result, tasks=found, read_errors=view.read_errors + files.read_errors)


def recorded_status(end: Ended) -> JobStatus:
    """Return how a job stands whose end is in the journal."""
    state: State = next((state for state in FINAL if state == end.state), "UNKNOWN")
    return JobStatus(state=state, code=end.code, reason=end.reason, ended=True)


def _reports(folder: JobFolder, known: History) -> dict[str, Mapping[int, Report]]:
    return {role.folder: read_reports(folder.reports(known.attempt, role)) for role in known.roles}


def _has_run(known: History, seen: Observation | None) -> bool:
    """Tell whether the backend has said that a job runs or ran: what is believed of its tasks unless they are asked."""
    last = seen or known.observed
    return last is not None and phase(last.state) in (Phase.RUNNING, Phase.ENDED)


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
    owner = claimed_by(folder, known.attempt)
    return owner if owner != known.job_id else None
