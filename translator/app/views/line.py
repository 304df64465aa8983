"""A job on one line, for `list` and `watch`; computed without its tasks and logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ...monitor.job_status import State
from ...monitor.status import ended_at, expected_start_at, node_list, started_at
from ...monitor.waits import advice
from ...state.address import parse
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
    """The state of a job, without values that take long to compute."""

    name: str
    """The name of the job's folder, `user~job`."""
    job: str | None
    """The job's name, without the user's."""
    user: str | None
    """The user who owns the job."""
    state: State
    """The job status."""
    exit_code: int | None
    """OpenPAI's exit code of the job; None while it has none."""
    reason: str | None
    """The reason of the job status, in a sentence."""
    ended: bool
    """Whether the job status is final."""
    attempt: int
    """The number of the last attempt of the job, from 0."""
    retries: int | None
    """The number of retries; None for an ended job in `list` and `watch`."""
    backend: str | None
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    job_id: str | None
    """The id of the last attempt's Slurm job; None while it has none."""
    created_at: Time | None
    """When the first attempt was submitted."""
    submitted_at: Time | None
    """When the last attempt was submitted."""
    started_at: Time | None
    """When the nodes of the last attempt were allocated, even if no task has started yet."""
    ended_at: Time | None
    """When the job ended."""
    expected_start_at: Time | None = None
    """When Slurm expects to start the waiting job."""
    virtual_cluster: str | None
    """The virtual cluster."""
    partition: str | None
    """The partition in the job file or the site profile; None for Slurm's default."""
    node_list: str | None = None
    """The nodes of the last attempt in Slurm's notation, `n[1-3,7]`."""
    folder: str
    """The path of the job's folder."""
    task_count: int
    """The number of tasks."""
    completed: int | None
    """The number of tasks that ended by themselves; None if unknown."""
    time_limit: int | None = None
    """The time limit in seconds; None for the partition's limit and for a job that has ended."""
    waits_began_at: Time | None = None
    """When the journal recorded the reason to wait."""
    advice: str | None = None
    """Advice for a waiting job."""
    group: str | None = None
    """The name of the job's sweep."""
    sweep: Mapping[str, str] = field(default_factory=dict)
    """The values of the sweep's parameters, by name."""
    parameters: Mapping[str, str] | None = None
    """The parameters in effect, by name; only `list` and `status` set them."""
    result: float | None = None
    """The number in the logs that matches `extras.slurm.result`; None without one. Only `list` sets it."""
    size_bytes: int | None = None
    """The disk usage of the job's folder in bytes; only `list` sets it, for its column `size`."""
    readable: bool = True
    """Whether the journal is readable; if not, `reason` says why, and the other values are unknown."""

    @property
    def succeeded(self) -> bool:
        """Whether the job has ended and succeeded."""
        return self.state == "SUCCEEDED"

    @property
    def begun_at(self) -> int:
        """When the last attempt was submitted, or else the job was created, in seconds since 1970; 0 if unknown."""
        return seconds_since_1970(self.submitted_at or self.created_at) or 0

    def elapsed(self, now: int) -> int | None:
        """Return how many seconds the last attempt has run; None if it has not started.

        A job with allocated nodes waits until its first task starts.
        """
        since = None if self.state == "WAITING" else seconds_since_1970(self.started_at)
        return elapsed_seconds(since, seconds_since_1970(self.ended_at), now)

    @property
    def short_name(self) -> str:
        """The name, without the user's own `user~`."""
        return self.name.removeprefix(f"{user_name()}~")


class Listing(Struct, frozen=True, kw_only=True):
    """The jobs of a list."""

    jobs: tuple[JobLine, ...]
    """The jobs, the newest first; jobs of a sweep are sorted by parameter values."""
    group: str | None = None
    """The name of the sweep, if these are its jobs."""


def line_of_status(folder: JobFolder, known: History, status: JobStatus) -> JobLine:
    """Return the line of a job from its journal and status, without its nodes and tasks."""
    user, _, job = parse(folder.name).name.partition("~")
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
    """Return the line of a job; `plan` is read if it is not given."""
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
    """The request of a job after all changes: its time limit in seconds, and the GPUs of all its tasks."""

    account: str | None
    time_limit: int | None
    job_gpus: int


def asked_of(view: View, plan: KeptPlan | None = None) -> Asked:
    """Return the request of a job; `plan` is read if it is not given."""
    plan = plan or kept_plan(view.folder.path)
    options = dict(plan.directives)
    for change in view.history.changes:
        options |= change.values
    try:
        limit = seconds_of(options.get("time", ""))
    except ValueError:
        limit = None
    return Asked(options.get("account") or None, limit, plan.gpu_count)
