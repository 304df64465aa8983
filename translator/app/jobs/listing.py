"""Gather a line for every job: of ended ones from their journals, of living ones with one query for all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from ...folded_names import by_numbers
from ...monitor.job_status import JobStatus
from ...monitor.poll import final_state, open_job
from ...monitor.status import ended_at, expected_start_at, node_list, started_at
from ...monitor.waits import advice
from ...state.ended_jobs import EndedJob, summary
from ...state.history import History
from ...state.kept_plan import kept_plan
from ...times import seconds_of
from ..session import user_name
from .asking import BY_A_PERSON
from .logs.result import result_of
from .refresh import refresh_all

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ...monitor.poll import Opened, View
    from ...state.job_folder import JobFolder, Store
    from ..session import Session


class Line(Struct, frozen=True, kw_only=True):
    """Hold what a list shows of a job. `completed` is None where it is not known; `advice` is against its waiting.

    `readable` is false where the journal cannot be read: then the reason says why, and the rest is not known.

    That the time from which on it waits becomes known is no change, nor is another `expected_start_at`: when Slurm
    expects to start it. `time_limit` is in seconds, None for a job that has ended; `parameters` and `result` are known
    where `with_run` has read them.
    """

    name: str
    state: str
    exit_code: int | None
    reason: str
    attempt: int
    backend: str
    job_id: str
    completed: int | None
    task_count: int
    created_at: int
    submitted_at: int | None
    ended: bool
    folder: str
    started_at: int | None = None
    ended_at: int | None = None
    expected_start_at: int | None = None
    virtual_cluster: str = ""
    partition: str = ""
    node_list: str = ""
    waits_began_at: int | None = None
    advice: str = ""
    readable: bool = True
    group: str = ""
    time_limit: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    result: float | None = None
    lasting_reason: str = ""
    """The reason as it stays while seconds pass, "" where it is the same."""

    @property
    def begun_at(self) -> int:
        """When the last attempt was submitted, or else the job was made; 0 where that is not known."""
        return self.submitted_at or self.created_at

    @property
    def runs_since(self) -> int | None:
        """When the last attempt started; None as long as the job waits: for a node, or for its tasks to begin."""
        return None if self.state == "WAITING" else self.started_at

    @property
    def short_name(self) -> str:
        """The name, without the user's own before it."""
        return self.name.removeprefix(f"{user_name()}~")

    def as_dict(self) -> dict[str, object]:
        """Return the line for `--json`, without what `with_run` adds."""
        nulls = ("job_id", "virtual_cluster", "partition", "node_list", "group")
        found = {**asdict(self), **{name: getattr(self, name) or None for name in nulls}}
        del found["parameters"], found["result"], found["lasting_reason"]
        return found


def lasting(line: Line) -> Line:
    """Return a line without what changes by itself while the job stands as it does."""
    return replace(
        line, reason=line.lasting_reason or line.reason, expected_start_at=None, waits_began_at=None, time_limit=None
    )


def lines(
    session: Session,
    store: Store,
    *,
    everything: bool,
    max_age: float = BY_A_PERSON,
    names: Collection[str] | None = None,
) -> tuple[list[Line], list[str]]:
    """Return the lines, the newest job first, and why backends did not answer, or did `max_age` seconds ago at most.

    With `names`, those of the folders of these names alone.
    """
    found: list[Line] = []
    living: list[Opened] = []
    for name, job in store.look():
        if names is not None and name not in names:
            continue
        if isinstance(job, EndedJob):
            if everything or not job.job or name == job.full_name:
                found.append(_ended(name, job, f"{store.jobs}/{name}"))
            continue
        folder = job.folder
        try:
            known = job.read()
            if not everything and known.job and name != known.full_name:
                continue
            if known.ended is not None:
                found.append(_ended(name, summary(known), str(folder.path)))
                continue
            opened = open_job(folder)
        except NotADirectoryError:
            continue
        except OSError as error:
            if is_gone(folder):
                continue
            found.append(_unreadable(folder, error.strerror or str(error)))
            continue
        if opened.history.job:
            living.append(opened)
        else:
            found.append(_unreadable(folder, next(iter(opened.read_errors), "it is empty")))
    problems: set[str] = set()
    for view in refresh_all(session, living, max_age=max_age):
        found.append(line_of(view))
        problems |= {view.backend_error} - {""}
    found.sort(key=lambda line: (line.begun_at, by_numbers(line.name)), reverse=True)
    return found, sorted(problems)


def with_run(found: Sequence[Line]) -> list[Line]:
    """Return lines with the parameters of their jobs and the results; it reads journals and logs."""
    from pathlib import Path

    from ...state.job_folder import JobFolder

    def one(line: Line) -> Line:
        if not line.readable:
            return line
        with suppress(OSError):
            folder = JobFolder(path=Path(line.folder))
            created = folder.created()
            if created is not None and created.run is not None:
                result = result_of(folder, line.attempt, created.roles, created.run)
                return replace(line, parameters=created.run.parameters, result=result)
        return line

    return [one(line) for line in found]


def is_gone(folder: JobFolder) -> bool:
    """Tell whether a job has another name by now, as when it is submitted again."""
    return not folder.path.exists()


def _unreadable(folder: JobFolder, why: str) -> Line:
    reason = f"its journal cannot be read ({why}): repair {folder.journal}, or remove the folder"
    job_status = JobStatus(state="UNKNOWN", code=None, reason=reason, ended=False)
    return replace(_line(folder, History(), job_status, None), readable=False)


def _ended(name: str, job: EndedJob, folder: str) -> Line:
    return Line(
        name=name,
        state=final_state(job.state),
        exit_code=job.exit_code,
        reason=job.reason,
        attempt=job.attempt,
        backend=job.backend,
        job_id=job.job_id,
        completed=job.completed,
        task_count=job.task_count,
        created_at=job.created,
        submitted_at=job.submitted,
        ended=True,
        folder=folder,
        started_at=job.started_at,
        ended_at=job.ended_at,
        virtual_cluster=job.virtual_cluster,
        partition=job.partition,
        node_list=job.node_list,
        group=job.group,
    )


def line_of(view: View) -> Line:
    """Return the line of a job that was looked at."""
    completed = sum(task.completed for task in view.tasks) if view.tasks else None
    return replace(
        _line(view.folder, view.history, view.job_status, completed),
        started_at=started_at(view),
        ended_at=ended_at(view),
        expected_start_at=expected_start_at(view),
        node_list=node_list(view),
        time_limit=asked_of(view).time_limit,
    )


def _line(folder: JobFolder, known: History, job_status: JobStatus, completed: int | None) -> Line:
    return Line(
        name=folder.name,
        state=job_status.state,
        exit_code=job_status.code,
        reason=job_status.reason,
        lasting_reason=job_status.lasting_reason,
        attempt=known.attempt,
        backend=known.backend,
        job_id=known.job_id,
        completed=completed,
        task_count=known.tasks,
        created_at=known.created,
        submitted_at=known.submitted,
        ended=job_status.ended,
        folder=str(folder.path),
        virtual_cluster=known.virtual_cluster,
        partition=known.partition,
        waits_began_at=job_status.since,
        advice=advice(job_status.waits),
        group=known.group,
    )


class Asked(NamedTuple):
    """Hold what a job asks of Slurm, after all changes: its time limit in seconds, and the GPUs of all its tasks."""

    account: str | None
    time_limit: int | None
    job_gpus: int


def asked_of(view: View) -> Asked:
    """Return what a job asks of Slurm, as far as its folder tells."""
    plan = kept_plan(view.folder.path)
    now = plan.directives
    for change in view.history.changes:
        now |= change.values
    try:
        limit = seconds_of(now.get("time", ""))
    except ValueError:
        limit = None
    return Asked(now.get("account") or None, limit, plan.gpu_count)
