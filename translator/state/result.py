"""Parse the script's reports: result.json of an attempt's end, stall.json of a stall.

The user's own processes can write them too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from ..files.reading import read_end
from .parsed import CorruptDataError, Int, Port, host_or_empty, read_version

if TYPE_CHECKING:
    from pathlib import Path

Outcome = Literal["succeeded", "failed", "interrupted", "requeued"]
TaskState = Literal["SUCCEEDED", "FAILED", "STOPPED"]
MAX_BYTES = 64 << 20
VERSION = 2
"""The version of the format; scripts of other versions write other keys."""
MAX_STALL_BYTES, STALL_VERSION = 1 << 20, 1


class TaskResult(Struct, frozen=True, kw_only=True):
    """How a task ended; null for events that never happened."""

    role: str
    """The name of a role."""
    index: Int
    """The index of the task in its role, from 0."""
    task_attempt: Int
    """The number of the task's last attempt, from 0."""
    state: TaskState
    """How the task ended."""
    exit_status: Int | None
    """The exit status of its commands, 0 to 255."""
    exit_code: Int | None
    """OpenPAI's exit code of the task."""
    behaviour: str | None
    """How the exit code is retried."""
    node_name: str | None = field(name="node")
    """The node of the task."""
    started_at: Int | None
    """When the task started."""
    ended_at: Int | None
    """When the task ended."""
    ended_after_ms: Int | None = None
    """Milliseconds from the start of the batch script to the end of the task's commands, which orders the ends."""
    memory_kills: Int = 0
    """How many processes of a failed task the kernel has killed because memory ran out."""
    evidence: tuple[str, ...] = ()
    """What its node reported about a failed task."""
    node_address: str = ""
    """The address by which the task was reached."""
    ports: Mapping[str, tuple[Port, ...]] = field(default_factory=dict, name="ports_by_label")
    """The ports of the task by their label."""

    @property
    def node(self) -> str:
        """The node of the task, "" if it never started."""
        return self.node_name or ""

    @property
    def address(self) -> str:
        """The address of the task's node, "" if unknown."""
        return host_or_empty(self.node_address)

    @property
    def lingers(self) -> bool:
        """Return whether the task had started but not ended when the result was written."""
        return self.started_at is not None and self.ended_at is None


class Trigger(Struct, frozen=True, kw_only=True):
    """The task whose end reached the threshold that decided the job."""

    role: str
    """The name of a role."""
    index: Int
    """The index of the task in its role, from 0."""
    completion_rule: str | None = None
    """The rule by which the task decided: `C2` for a failed task, `C3` for a succeeded one."""
    count: Int | None = None
    """How many tasks had ended so."""
    threshold: Int | None = None
    """The number of the completion policy that was reached."""


class Stall(Struct, frozen=True, kw_only=True):
    """A time in which the job made no progress, by the clock of the batch node."""

    begins: Int = field(name="from")
    """When the job last made progress."""
    ends: Int = field(name="to")
    """When it made progress again, or ended."""


class RestartRecord(Struct, frozen=True, kw_only=True):
    """A restart of all tasks in the job, after the loss of a node."""

    at: Int
    """When the loss was noticed."""
    lost_node: str
    """The lost node."""
    spare_node: str
    """The node that took its place."""
    checkpoint_at: Int | None = None
    """The time of the newest checkpoint when the tasks started anew (`extras.slurm.resumes`)."""


class Result(Struct, frozen=True, kw_only=True):
    """How an attempt ended."""

    job_id: str
    """The id of the Slurm job, None if there is none."""
    outcome: Outcome
    """How the attempt ended: `succeeded`, `failed`, `interrupted` or `requeued`."""
    exit_code: Int
    """OpenPAI's exit code of the attempt."""
    behaviour: str
    """How the exit code is retried."""
    reason: str
    """Why the attempt ended in this way, in a sentence."""
    started_at: Int | None
    """When the batch script started."""
    ended_at: Int | None
    """When the outcome was decided."""
    tasks: tuple[TaskResult, ...]
    """The tasks."""
    trigger: Trigger | None = None
    """The task whose end decided the attempt, None if there is none."""
    stalls: tuple[Stall, ...] = ()
    """The times in which the job made no progress."""
    resumed_from: Int | None = None
    """The time of the newest checkpoint at the start of the attempt (`extras.slurm.resumes`)."""
    checkpoint_at: Int | None = None
    """The time of the newest checkpoint at its end."""
    restarts: tuple[RestartRecord, ...] = ()
    """The restarts of all tasks in the job."""

    @property
    def complete(self) -> bool:
        """Return whether all tasks had ended. The script writes the result at the decision, and again after that."""
        return not any(task.lingers for task in self.tasks)


def reported_behaviour(result: Result | None, code: int) -> str:
    """Return the retry behaviour that the script reported for an end with this code, "" if it reported none."""
    return result.behaviour if result is not None and result.exit_code == code else ""


def read_result(path: Path) -> Result | None:
    """Return the result, None if it does not exist yet. Raises CorruptDataError."""
    try:
        data, complete = read_end(path, MAX_BYTES)
    except FileNotFoundError:
        return None
    if not complete:
        raise CorruptDataError("the file is too large")
    return parse_result(data)


def parse_result(data: bytes) -> Result:
    """Return the result in a file. Raises CorruptDataError. Source: this project's docs, run folder."""
    return read_version(data, Result, VERSION)


class StallReport(Struct, frozen=True, kw_only=True):
    """A stall that the script has found."""

    found_at: Int
    """When the script found it, in seconds since 1970."""
    moved_at: Int | None
    """When a task moved again, None if none did."""
    tasks: tuple[str, ...]
    """The tasks that the others wait for, `worker-0`; none if nothing tells."""
    reason: str
    """How long no task has moved, and why, in a sentence."""


def read_stall(path: Path) -> StallReport | None:
    """Return the stall, None if there is none, if a task moves again, or if the file cannot be read."""
    try:
        found = read_version(read_end(path, MAX_STALL_BYTES)[0], StallReport, STALL_VERSION)
    except (OSError, CorruptDataError):
        return None
    return found if found.moved_at is None else None


def read_lost_nodes(path: Path) -> tuple[str, ...]:
    """Return the nodes without which a running job has started its tasks anew, in order; () if unreadable."""
    try:
        words = read_end(path, MAX_STALL_BYTES)[0].decode("ascii", errors="replace").split()
    except OSError:
        return ()
    return tuple(filter(None, map(host_or_empty, dict.fromkeys(words))))
