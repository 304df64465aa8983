"""The state of a task, from the result and the reports. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from ..exit_codes.codes import TASK_STOPPED
from ..state.parsed import host_or_empty
from ..state.task_reports import ScriptPhase
from ..terminal_text import one_line
from ..times import Time, aware
from .parts import as_shown
from .states import State

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..state.journal_records import JobRole
    from ..state.result import Result, TaskResult
    from ..state.task_reports import Peer, Report


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


class TaskView(Struct, frozen=True, kw_only=True):
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

    @property
    def is_running(self) -> bool:
        """Whether the task runs now."""
        return self.started_at is not None and self.state in ("RUNNING", "STOPPING")

    @property
    def host(self) -> str:
        """The address of its node if known, else the name of the node."""
        return self.node_address or host_or_empty(self.node or "")


class WebPage(Struct, frozen=True, kw_only=True):
    """A web page of a task."""

    title: str
    """The title of the page: `TensorBoard`, `Jupyter` or `HTTP`."""
    task: str
    """The name of the task."""
    port: int
    """The port of the task."""
    url: str
    """The URL of the page."""

    @property
    def text(self) -> str:
        """The page in a line: `TensorBoard: http://10.0.0.1:5000 (worker-0)`."""
        return one_line(f"{self.title}: {self.url} ({self.task})")


class Usage(Struct, frozen=True, kw_only=True):
    """The average use of a role's running tasks."""

    role: str
    """The name of the role."""
    running_tasks: int
    """The number of its running tasks."""
    requested_cpus: int
    """The CPUs that a task requests."""
    requested_memory_mib: int
    """The memory that a task requests, in MiB; 0 if the job does not state it."""
    cpus_busy: float | None
    """The number of busy CPUs of a task since its start."""
    used_memory_mib: int
    """The memory of a task, in MiB."""
    max_memory_mib: int
    """The most memory of one Slurm process of a task so far, in MiB."""
    gpu_percent: int | None = None
    """The load of a task's GPUs, in percent; None if Slurm does not gather it."""
    gpu_memory_mib: int | None = None
    """The GPU memory of a task, in MiB; None if Slurm does not gather it."""


def task_views(
    roles: tuple[JobRole, ...],
    result: Result | None,
    reports: Mapping[str, Mapping[int, Report]],
    *,
    ended: bool,
) -> tuple[TaskView, ...]:
    """Return every task of a job in the order of the job file; `reports` are by role folder and index.

    The result has precedence over reports. `ended` tells whether the job has ended.
    """
    results = {(task.role, task.index): task for task in result.tasks} if result else {}

    def view(role: JobRole, index: int) -> TaskView:
        task = results.get((role.name, index))
        if task is not None:
            return _ended_task(task, ended=ended)
        return _reported_task(role.name, index, reports.get(role.folder, {}).get(index), ended=ended)

    return tuple(view(role, index) for role in roles for index in range(role.instances))


def with_places(
    tasks: Sequence[TaskView],
    roles: Sequence[JobRole],
    result: Result | None,
    peers: Callable[[], Mapping[tuple[int, int], Peer]],
) -> tuple[TaskView, ...]:
    """Return the tasks of an attempt, the started ones with their addresses and ports.

    The source is the result for an ended task, else the files of the nodes, which `peers` reads if it must, by the
    position of the role and the index.
    """
    begun = {task.name for task in tasks if task.started_at is not None}
    kept = {f"{task.role}-{task.index}": task for task in result.tasks if task.address} if result else {}
    positions = {role.name: position for position, role in enumerate(roles)}
    others = peers() if begun - kept.keys() else {}

    def placed(task: TaskView) -> TaskView:
        found = kept.get(task.name) or others.get((positions.get(task.role, -1), task.index))
        if found is None or task.name not in begun:
            return task
        return replace(task, node_address=found.address or None, ports_by_label=found.ports)

    return tuple(map(placed, tasks))


def _ended_task(task: TaskResult, *, ended: bool) -> TaskView:
    state = task.state if ended or not task.lingers else "STOPPING"
    # Its places come from `with_places`.
    return as_shown(TaskView, task, state=state, node=task.node or None, node_address=None)


def _reported_task(role: str, index: int, report: Report | None, *, ended: bool) -> TaskView:
    """Return a task from its report. A task without an end was stopped if the job has ended."""
    if report is None:
        state: State = "STOPPED" if ended else "WAITING"
        return TaskView(role=role, index=index, task_attempt=0, state=state, exit_code=TASK_STOPPED if ended else None)
    runs = not ended and report.ended is None
    if report.ended is None:
        state, code = ("STOPPED", TASK_STOPPED) if ended else ("RUNNING", None)
    else:
        state, code = ("SUCCEEDED" if report.behaviour == "success" else "FAILED"), report.code
    return TaskView(
        role=role,
        index=index,
        task_attempt=report.attempt,
        state=state,
        exit_status=report.status,
        exit_code=code,
        node=report.node or None,
        started_at=aware(report.started),
        ended_at=aware(report.ended),
        hold_ends_at=aware(report.held) if runs else None,
        background_began_at=aware(report.background_began_at) if runs else None,
        background_processes=report.holders if runs else (),
    )
