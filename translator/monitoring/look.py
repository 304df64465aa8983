"""Look at jobs: read what their folders say, ask each backend once for all, and write down what is new."""

from __future__ import annotations

import pwd
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId

from ..errors import BackendError
from .attempt import submitted
from .history import history
from .journal import append, read
from .records import Ended, Seen
from .reports import read_reports
from .result import read_result
from .untrusted import DamagedError
from .view import FINAL, Facts, Standing, State, TaskView, job_state, task_views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from paislurm.backends.base import Backend, Observation

    from .history import History
    from .records import Record
    from .reports import Report
    from .result import Result
    from .store import JobFolder

SETTLED_SECONDS = 180
"""After so long an attempt that the backend does not show was never taken: sbatch gives up after 120 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Hold how a job stands. `problem`: why the backend did not answer; `damage`: what cannot be read."""

    folder: JobFolder
    history: History
    standing: Standing
    observation: Observation | None = None
    tasks: tuple[TaskView, ...] = ()
    problem: str = ""
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Hold what the backends said: observations by backend and id, and for each that said nothing, why."""

    observations: Mapping[tuple[str, str], Observation]
    problems: Mapping[str, str]


def look(folder: JobFolder, backend: Callable[[str], Backend], now: int) -> View:
    """Look at one job in full; OSError if it has no journal that can be read."""
    journal = read(folder.journal)
    known, problem = adopt(folder, history(journal.records), backend, now)
    if known.ended is None:
        answers = ask([known], backend)
        view = examine(folder, known, answers, now)
    else:
        view = _ended(folder, known)
    damage = tuple(f"{folder.journal.name}: {what}" for what in journal.damage)
    return replace(view, damage=damage + view.damage, problem=problem or view.problem)


def ask(histories: Iterable[History], backend: Callable[[str], Backend]) -> Answers:
    """Ask each backend once about all its jobs; that one does not answer is an answer too."""
    ids: dict[str, set[JobId]] = {}
    for known in histories:
        if known.job_id and known.ended is None:
            ids.setdefault(known.backend, set()).add(JobId(known.job_id))
    observations: dict[tuple[str, str], Observation] = {}
    problems: dict[str, str] = {}
    for name, wanted in ids.items():
        answer = _observe(backend(name), wanted)
        if isinstance(answer, str):
            problems[name] = answer
        else:
            observations |= {(name, job_id): observation for job_id, observation in answer.items()}
    return Answers(observations=observations, problems=problems)


def _observe(backend: Backend, ids: set[JobId]) -> Mapping[JobId, Observation] | str:
    """Return what a backend says, or why it says nothing."""
    try:
        return backend.observe(ids)
    except BackendError as error:
        return "; ".join(fault.message for fault in error.faults)


def examine(folder: JobFolder, known: History, answers: Answers, now: int) -> View:
    """Put together how a job stands that had not ended, and write down what is new about it."""
    observation = answers.observations.get((known.backend, known.job_id))
    problem = answers.problems.get(known.backend, "")
    result, damage = _result(folder, known)
    reports = _reports(folder, known)
    facts = Facts(
        history=known,
        observation=observation,
        answered=not problem,
        result=result,
        started=any(reports.values()) or bool(result and any(task.started for task in result.tasks)),
        now=now,
        canceller=_canceller(observation),
    )
    standing = job_state(facts)
    tasks = task_views(known.roles, result, reports, ended=standing.ended)
    known = _write_down(folder, facts, standing, tasks)
    return View(
        folder=folder,
        history=known,
        standing=standing,
        observation=observation,
        tasks=tasks,
        problem=problem,
        damage=damage,
    )


def _ended(folder: JobFolder, known: History) -> View:
    """The journal knows the end; only the tasks are looked up."""
    assert known.ended is not None
    result, damage = _result(folder, known)
    tasks = task_views(known.roles, result, _reports(folder, known) if result is None else {}, ended=True)
    return View(folder=folder, history=known, standing=recorded(known.ended), tasks=tasks, damage=damage)


def recorded(end: Ended) -> Standing:
    """Return how a job stands whose end is in the journal."""
    state: State = next((state for state in FINAL if state == end.state), "UNKNOWN")
    return Standing(state=state, code=end.code, reason=end.reason, ended=True)


def _result(folder: JobFolder, known: History) -> tuple[Result | None, tuple[str, ...]]:
    path = folder.result(known.attempt)
    # Listing the folder makes a network file system look again for a file that was missing a moment ago.
    with suppress(OSError):
        list(path.parent.iterdir())
    try:
        return read_result(path), ()
    except (OSError, DamagedError) as error:
        return None, (f"{path.name} cannot be read: {error}",)


def _reports(folder: JobFolder, known: History) -> dict[str, Mapping[int, Report]]:
    return {role.folder: read_reports(folder.reports(known.attempt, role)) for role in known.roles}


def _canceller(observation: Observation | None) -> str:
    """Return who cancelled a job: sacct says `CANCELLED by 1000`."""
    word = observation.raw_state.rpartition(" by ")[2] if observation else ""
    if not word.isdecimal():
        return ""
    try:
        return pwd.getpwuid(int(word)).pw_name
    except (KeyError, OverflowError):
        return f"user {word}"


def _write_down(folder: JobFolder, facts: Facts, standing: Standing, tasks: Sequence[TaskView]) -> History:
    """Append what is new. A journal that cannot be written (another user's, a full disk) is no hindrance."""
    known, seen = facts.history, facts.observation
    record: Record | None = None
    if standing.ended:
        record = _end(facts, standing, tasks)
        known = replace(known, ended=record)
    elif seen is not None and (known.seen is None or known.seen.state != seen.state):
        record = Seen(time=facts.now, attempt=known.attempt, state=seen.state, reason=seen.reason)
        known = replace(known, seen=record)
    if record is not None:
        with suppress(OSError):
            append(folder.journal, record)
    return known


def _end(facts: Facts, standing: Standing, tasks: Sequence[TaskView]) -> Ended:
    seen, result = facts.observation, facts.result
    ended = (result.ended if result else None) or (seen.ended if seen else None)
    return Ended(
        time=facts.now,
        attempt=facts.history.attempt,
        state=standing.state,
        code=standing.code,
        reason=standing.reason,
        backend_state=seen.raw_state if seen and seen.final else "",
        started=(result.started if result else None) or (seen.started if seen else None),
        ended=ended or facts.now,
        completed=sum(task.completed for task in tasks),
    )


def adopt(folder: JobFolder, known: History, backend: Callable[[str], Backend], now: int) -> tuple[History, str]:
    """Find out what became of an attempt of which only the intent is known."""
    if not known.tag or known.job_id or known.ended is not None:
        return known, ""
    try:
        job_id = backend(known.backend).find(known.tag)
    except BackendError as error:
        return known, "; ".join(fault.message for fault in error.faults)
    record: Record
    if job_id is not None:
        record = submitted(known, job_id, known.asked)
        known = replace(known, job_id=job_id, submitted=record.time)
    elif now - known.asked > SETTLED_SECONDS:
        record = known.ended or never_taken(known, now)
        known = replace(known, ended=record)
    else:
        return known, ""
    with suppress(OSError):
        append(folder.journal, record)
    return known, ""


def never_taken(known: History, now: int) -> Ended:
    """Return the end of an attempt that the backend never took."""
    return given_up(known, now, "FAILED", -120, "it never reached Slurm")


def given_up(known: History, now: int, state: str, code: int, reason: str) -> Ended:
    """Return an end that nobody but the user or this program has decided."""
    return Ended(
        time=now,
        attempt=known.attempt,
        state=state,
        code=code,
        reason=reason,
        backend_state="",
        started=None,
        ended=now,
        completed=0,
    )
