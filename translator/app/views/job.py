"""How a job stands, as `--json` and the Python API have it. Without a value a field is None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from ...exit_codes.table import Behaviour
from ...monitor.failure import LogStream
from ...monitor.job_status import State
from ...monitor.waits import Wait
from ...state.run_record import RunRecord
from ...times import Time, elapsed_seconds, seconds_since_1970
from ..session import user_name
from ..where.web_pages import WebPage
from .task import JobTask


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


class JobFailure(Struct, frozen=True, kw_only=True):
    """Why a job failed."""

    task: str | None
    """The name of the task that decided, `worker-0`; None where none did."""
    node: str | None
    """The node of that task."""
    exit_code: int
    """OpenPAI's exit code of the job."""
    exit_status: int | None
    """The exit status of the task's commands, 0 to 255."""
    cause: str | None
    """What probably made a command fail."""
    meaning: str
    """What the exit code means."""
    advice: str
    """What to do against the failure."""
    file: str | None
    """The file with the command that failed."""
    line: int | None
    """The line of that command, from 1."""
    last_line: int | None
    """The last of the lines of which one has the command; `line` where that one is known."""
    stream: LogStream
    """The log of which `last_lines` are the end; `batch` is that of the batch script."""
    last_lines: tuple[str, ...]
    """The last lines of that log, ten at most."""


class RetriedAttempt(Struct, frozen=True, kw_only=True):
    """How an attempt ended that was followed by another."""

    attempt: int
    """The number of the attempt, from 0."""
    exit_code: int
    """OpenPAI's exit code of the attempt."""
    behaviour: Behaviour
    """How the exit code is retried."""
    reason: str
    """Why the attempt ended, in a sentence."""
    retry_rule: str
    """The rule by which the attempt was retried."""
    backend_state: str | None
    """The backend's own word for how it ended."""
    blamed_nodes: tuple[str, ...]
    """The nodes that the end is blamed on."""
    started_at: Time | None
    """When the attempt's nodes were allocated."""
    ended_at: Time | None
    """When the attempt ended."""
    retry_at: Time | None
    """When the next attempt was due."""


class JobChange(Struct, frozen=True, kw_only=True):
    """What `update` changed of a job."""

    changed_at: Time | None
    """When it was changed."""
    user: str
    """Who changed it."""
    attempt: int
    """The attempt that was the last one then."""
    job_id: str | None
    """The Slurm job that was changed; None where only attempts to come were."""
    values: Mapping[str, str]
    """What was changed, as text by name: `time`, `partition`, `account`, `qos`, `nice`, `retries`, `held`."""
    old_values: Mapping[str, str | None]
    """The values before, None for those that only Slurm has."""


class JobDependency(Struct, frozen=True, kw_only=True):
    """A job that another one waits for."""

    name: str
    """The name of that job's folder, `user~job`."""
    until: Literal["succeeded", "ended"]
    """The end that is waited for."""


class RoleTasks(Struct, frozen=True, kw_only=True):
    """How the tasks of a role stand."""

    name: str
    """The name of the role."""
    instances: int
    """The number of its tasks."""
    states: Mapping[str, int]
    """Numbers of tasks by their state."""


class JobView(JobLine, frozen=True, kw_only=True):
    """How a job and its tasks stand."""

    failure: JobFailure | None = None
    """Why the job failed."""
    backend_state: str | None = None
    """The backend's own word for how the Slurm job stands."""
    backend_reason: str | None = None
    """Why the Slurm job waits, in the backend's own word."""
    backend_reachable: bool = True
    """Whether the backend answered; if not, the states are those that were known last."""
    backend_error: str | None = None
    """Why the backend did not answer."""
    read_errors: tuple[str, ...] = ()
    """What cannot be read of the job's files."""
    waits: tuple[Wait, ...] = ()
    """Why components wait."""
    dependencies: tuple[JobDependency, ...] = ()
    """The jobs that this one waits for."""
    attempts: tuple[RetriedAttempt, ...] = ()
    """The attempts that were followed by another, in order."""
    changes: tuple[JobChange, ...] = ()
    """What `update` changed of the job, in order."""
    excluded_nodes: tuple[str, ...] = ()
    """The nodes that the next attempt would leave out."""
    roles: tuple[RoleTasks, ...] = ()
    """The task roles."""
    tasks: tuple[JobTask, ...] = ()
    """The tasks."""
    account: str | None = None
    """The account that is charged; None for the user's default."""
    job_gpus: int = 0
    """GPUs of all tasks that run at a time."""
    pages: tuple[WebPage, ...] = ()
    """Pages that running tasks serve, as far as the job file tells."""
    run: RunRecord | None = None
    """What the job was submitted with; None where an earlier version did not keep it."""


class Jobs(Struct, frozen=True, kw_only=True):
    """Several jobs."""

    jobs: tuple[JobView, ...]
    """The jobs, in the order in which they were named."""


class Listing(Struct, frozen=True, kw_only=True):
    """The jobs of a list."""

    jobs: tuple[JobLine, ...]
    """The jobs, the newest first; those of a sweep by the values of its parameters."""
    group: str | None = None
    """The name of the sweep whose jobs these are."""
