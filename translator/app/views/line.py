"""A job on one line: what `list` and `watch` show of it, found without its tasks and logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ...monitor.job_status import State
from ...monitor.status import ended_at, expected_start_at, node_list, started_at
from ...monitor.waits import advice
from ...state.kept_plan import kept_plan
from ...times import Time, aware, elapsed_seconds, seconds_of, seconds_since_1970
from ..session import user_name

if TYPE_CHECKING:
    from ...monitor.job_status import JobStatus
    from ...monitor.poll import View
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.kept_plan import KeptPlan


class JobLine(Struct, frozen=True, kw_only=True):
    """How a job stands, without what takes long to find out."""

    name: str
    """The name of the job's folder, `user~job`."""
    job: str | None
    """The job's name, without the user's."""
    user: str | None
    """The user whose job it is."""
    state: State
    """How the job stands."""
    exit_code: int | None
    """OpenPAI's exit code of the job; None while it has none."""
    reason: str | None
    """Why the job stands as it does, in a sentence."""
    ended: bool
    """Whether nothing can change any more."""
    attempt: int
    """The number of the last attempt of the job, from 0."""
    retries: int | None
    """How often the job was retried; None where `list` and `watch` do not count the retries of an ended job."""
    backend: str | None
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    job_id: str | None
    """The id of the last attempt's Slurm job; None while it has none."""
    created_at: Time | None
    """When the job was submitted first."""
    submitted_at: Time | None
    """When the last attempt was submitted."""
    started_at: Time | None
    """When the nodes of the last attempt were allocated; a job that still waits for its first task has a time, too."""
    ended_at: Time | None
    """When the job ended."""
    expected_start_at: Time | None = None
    """When Slurm expects to start a job that waits."""
    virtual_cluster: str | None
    """The virtual cluster."""
    partition: str | None
    """The partition by the job file and the site profile; None for Slurm's default."""
    node_list: str | None = None
    """The nodes of the last attempt as Slurm writes them, `n[1-3,7]`."""
    folder: str
    """The path of the job's folder."""
    task_count: int
    """The number of tasks."""
    completed: int | None
    """How many tasks ended by themselves; None where that is not known."""
    time_limit: int | None = None
    """The time limit in seconds; None for the partition's limit and for a job that has ended."""
    waits_began_at: Time | None = None
    """Since when the journal has the reason to wait."""
    advice: str | None = None
    """What would help a job that waits."""
    group: str | None = None
    """The name of the job's sweep."""
    sweep: Mapping[str, str] = field(default_factory=dict)
    """The values of the sweep's parameters, by name."""
    parameters: Mapping[str, str] | None = None
    """The parameters in effect, by name; None where only `list` and `status` read them."""
    result: float | None = None
    """The number in the logs that `extras.slurm.result` names; None where there is none, or only `list` reads it."""
    readable: bool = True
    """Whether the journal can be read: if not, the reason says why, and the other values are not known."""

    @property
    def succeeded(self) -> bool:
        """Whether the job has ended and succeeded."""
        return self.state == "SUCCEEDED"

    @property
    def begun_at(self) -> int:
        """When the last attempt was submitted, or else the job was made, in seconds since 1970; 0 if not known."""
        return seconds_since_1970(self.submitted_at or self.created_at) or 0

    def elapsed(self, now: int) -> int | None:
        """Return for how many seconds the last attempt has run, or ran; None while the job waits, and if it never ran.

        A job whose nodes are allocated waits until its first task starts.
        """
        since = None if self.state == "WAITING" else seconds_since_1970(self.started_at)
        return elapsed_seconds(since, seconds_since_1970(self.ended_at), now)

    @property
    def short_name(self) -> str:
        """The name, without the user's own before it."""
        return self.name.removeprefix(f"{user_name()}~")


class Listing(Struct, frozen=True, kw_only=True):
    """The jobs of a list."""

    jobs: tuple[JobLine, ...]
    """The jobs, the newest first; those of a sweep by the values of its parameters."""
    group: str | None = None
    """The name of the sweep whose jobs these are."""


def line_of_status(folder: JobFolder, known: History, status: JobStatus) -> JobLine:
    """Return what journal and status tell of a job, without its nodes and tasks."""
    user, _, job = folder.name.partition("~")
    return JobLine(
        name=folder.name,
        job=known.job or job or None,
        user=known.user or user or None,
        state=status.state,
        exit_code=status.code,
        reason=status.reason or None,
        ended=status.ended,
        attempt=known.attempt,
        retries=known.counters.total,
        backend=known.backend or None,
        job_id=known.job_id or None,
        created_at=aware(known.created or None),
        submitted_at=aware(known.submitted),
        started_at=None,
        ended_at=None,
        virtual_cluster=known.virtual_cluster or None,
        partition=known.partition or None,
        folder=str(folder.path),
        task_count=known.tasks,
        completed=None,
        waits_began_at=aware(status.since),
        advice=advice(status.waits) or None,
        group=known.group or None,
        sweep=known.sweep,
    )


def job_line(view: View, plan: KeptPlan | None = None) -> JobLine:
    """Return how a job stands, without its tasks, by its plan, which is read if it is not given."""
    return replace(
        line_of_status(view.folder, view.history, view.job_status),
        started_at=aware(started_at(view)),
        ended_at=aware(ended_at(view)),
        expected_start_at=aware(expected_start_at(view)),
        node_list=node_list(view) or None,
        completed=sum(task.completed for task in view.tasks) if view.tasks else None,
        time_limit=asked_of(view, plan).time_limit,
    )


class Asked(NamedTuple):
    """What a job asks of Slurm, after all changes: its time limit in seconds, and the GPUs of all its tasks."""

    account: str | None
    time_limit: int | None
    job_gpus: int


def asked_of(view: View, plan: KeptPlan | None = None) -> Asked:
    """Return what a job asks of Slurm by its plan, which is read if it is not given."""
    plan = plan or kept_plan(view.folder.path)
    options = dict(plan.directives)
    for change in view.history.changes:
        options |= change.values
    try:
        limit = seconds_of(options.get("time", ""))
    except ValueError:
        limit = None
    return Asked(options.get("account") or None, limit, plan.gpu_count)
