"""The state of a task, for `--json` and the Python API."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ...monitor.job_status import State
from ...state.task_reports import ScriptPhase
from ...times import Time


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
    background_since: Time | None = None
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
