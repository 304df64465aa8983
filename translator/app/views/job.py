"""How a job stands, as `--json` and the Python API have it. Without a value a field is None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from ...exit_codes.table import Behaviour
from ...monitor.failure import LogStream
from ...monitor.waits import Wait
from ...state.run_record import RunRecord
from ...times import Time
from ..where.web_pages import WebPage
from .line import JobLine
from .task import JobTask


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
