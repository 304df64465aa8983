"""The state of a job, for `--json` and the Python API. Fields without a value are None."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from ...exit_codes.table import Behaviour
from ...monitor.failure import LogStream
from ...monitor.job_status import State
from ...monitor.waits import Wait
from ...report.cost import JobCost
from ...state.run_record import RunRecord
from ...state.task_reports import ScriptPhase
from ...times import Time
from ..places import WebPage
from ..usage import Usage
from .line import JobLine


class TaskScript(Struct, frozen=True, kw_only=True):
    """A script that a task ran."""

    task_attempt: int
    """The attempt of the task, from 0."""
    phase: ScriptPhase
    """The phase in which the script runs."""
    name: str | None
    """The name of its prerequisite or plugin; None for the commands."""
    exit_status: int
    """The exit status of the script."""
    started_at: Time | None
    """When the script started."""
    ended_at: Time | None
    """When the script ended."""


class JobTask(Struct, frozen=True, kw_only=True):
    """The state of a task."""

    role: str
    """The name of its role."""
    index: int
    """Its index in the role, from 0."""
    task_attempt: int
    """The number of its last attempt, from 0."""
    state: State
    """The state."""
    exit_status: int | None = None
    """The exit status of its commands, 0 to 255."""
    exit_code: int | None = None
    """OpenPAI's exit code of the task; None while it has none."""
    node: str | None = None
    """The node of the task."""
    started_at: Time | None = None
    """When the task started."""
    ended_at: Time | None = None
    """When the task ended."""
    hold_ends_at: Time | None = None
    """Until when the failed task is held (`isDebug`)."""
    background_began_at: Time | None = None
    """When its commands succeeded, while processes that they left in the background keep the task running."""
    background_processes: tuple[str, ...] = ()
    """Those processes, as `PID:NAME`, at most eight."""
    scripts: tuple[TaskScript, ...] = ()
    """The scripts of prerequisites and plugins that the task ran in the job's last attempt."""
    node_address: str | None = None
    """The address of the task's node."""
    ports_by_label: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The ports of the task by their label."""

    @property
    def name(self) -> str:
        """The name of the task, `worker-0`."""
        return f"{self.role}-{self.index}"

    @property
    def completed(self) -> bool:
        """Whether the task ended by itself; a task that never started did not."""
        return self.state in ("SUCCEEDED", "FAILED") and self.started_at is not None


class JobFailure(Struct, frozen=True, kw_only=True):
    """Why a job failed."""

    task: str | None
    """The name of the task that failed first, `worker-0`; None if no task decided."""
    node: str | None
    """The node of that task."""
    what: str
    """What ended that task, or the job, in a few words."""
    ended_at: Time | None
    """When that was."""
    last_words: str | None
    """The last line of that task's log that names an error, or its last line."""
    cascade: tuple[str, ...]
    """The tasks that failed by themselves besides it."""
    cascade_delays_ms: tuple[int, int] | None
    """The least and the most milliseconds from its end to theirs."""
    stopped: tuple[str, ...]
    """The tasks that paislurm or Slurm stopped."""
    evidence: tuple[str, ...]
    """What the node of that task reported."""
    exit_code: int
    """OpenPAI's exit code of the job."""
    exit_status: int | None
    """The exit status of the task's commands, 0 to 255."""
    cause: str | None
    """The probable cause of a command's failure."""
    meaning: str
    """The meaning of the exit code."""
    advice: str
    """Advice about the failure."""
    file: str | None
    """The file with the failed command."""
    line: int | None
    """The line of that command, from 1."""
    last_line: int | None
    """The last line of a range that contains the command; equal to `line` if the exact line is known."""
    stream: LogStream
    """The log of `last_lines`; `batch` is the log of the batch script."""
    last_lines: tuple[str, ...]
    """The last lines of the log, at most ten."""


class JobStall(Struct, frozen=True, kw_only=True):
    """A stall that the job's stall guard has found, and that has not ended."""

    found_at: Time | None
    """When it was found."""
    stalled_tasks: tuple[str, ...]
    """The tasks that the others wait for, `worker-0`; none if nothing tells."""
    reason: str
    """How long no task has moved, and why, in a sentence."""
    folder: str
    """The folder with details: a file for each task."""


class RetriedAttempt(Struct, frozen=True, kw_only=True):
    """An attempt that was retried, and how it ended."""

    attempt: int
    """The number of the attempt, from 0."""
    exit_code: int
    """OpenPAI's exit code of the attempt."""
    behaviour: Behaviour
    """The behaviour of the exit code."""
    reason: str
    """Why the attempt ended, in a sentence."""
    retry_rule: str
    """The rule by which the attempt was retried."""
    backend_state: str | None
    """The backend's state of its end."""
    blamed_nodes: tuple[str, ...]
    """The nodes that probably caused the end."""
    started_at: Time | None
    """When the attempt's nodes were allocated."""
    ended_at: Time | None
    """When the attempt ended."""
    retry_at: Time | None
    """When the next attempt was due."""


class JobChange(Struct, frozen=True, kw_only=True):
    """A change by `update`."""

    changed_at: Time | None
    """When the job was changed."""
    user: str
    """The user who changed it."""
    attempt: int
    """The number of the attempt at that time."""
    job_id: str | None
    """The changed Slurm job; None if only later attempts were changed."""
    values: Mapping[str, str]
    """The new values, as text by name: `time`, `partition`, `account`, `qos`, `nice`, `retries`, `held`."""


class JobDependency(Struct, frozen=True, kw_only=True):
    """A job that another one waits for."""

    name: str
    """The name of that job's folder, `user~job`."""
    until: Literal["succeeded", "ended"]
    """The required end."""


class RoleTasks(Struct, frozen=True, kw_only=True):
    """The states of a role's tasks."""

    name: str
    """The name of the role."""
    instances: int
    """The number of its tasks."""
    states: Mapping[str, int]
    """Numbers of tasks by their state."""


class JobView(JobLine, frozen=True, kw_only=True):
    """The state of a job and its tasks."""

    failure: JobFailure | None = None
    """Why the job failed."""
    stall: JobStall | None = None
    """The stall of a running job; None if its tasks move, or without a stall guard."""
    backend_state: str | None = None
    """The backend's state of the Slurm job."""
    backend_reason: str | None = None
    """The backend's reason why the Slurm job waits."""
    backend_reachable: bool = True
    """Whether the backend answered; if not, the states are the last known ones."""
    backend_error: str | None = None
    """Why the backend did not answer."""
    read_errors: tuple[str, ...] = ()
    """Errors in reading the job's files."""
    waits: tuple[Wait, ...] = ()
    """Why components wait."""
    dependencies: tuple[JobDependency, ...] = ()
    """The jobs that this one waits for."""
    attempts: tuple[RetriedAttempt, ...] = ()
    """The attempts that were retried, in order."""
    changes: tuple[JobChange, ...] = ()
    """The changes by `update`, in order."""
    avoided_nodes: tuple[str, ...] = ()
    """The bad nodes that the last attempt avoids."""
    excluded_nodes: tuple[str, ...] = ()
    """The nodes that the next attempt would exclude."""
    roles: tuple[RoleTasks, ...] = ()
    """The task roles."""
    tasks: tuple[JobTask, ...] = ()
    """The tasks."""
    account: str | None = None
    """The account that is charged; None for the user's default."""
    job_gpus: int = 0
    """The GPUs of all tasks that run at the same time."""
    pages: tuple[WebPage, ...] = ()
    """The web pages of running tasks, as far as the job file declares them."""
    run: RunRecord | None = None
    """The run record; None for a job of an earlier version that did not write one."""
    cost: JobCost | None = None
    """The allocated time by its use; None without `--cost`."""
    usages: tuple[Usage, ...] | None = None
    """The use of running tasks, for each role that Slurm knows; None without `--usage`."""


class Jobs(Struct, frozen=True, kw_only=True):
    """Several jobs."""

    jobs: tuple[JobView, ...]
    """The jobs, in the order of the arguments."""
