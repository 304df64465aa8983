"""result.json: how an attempt ended, as its script says. The user's own processes can write it, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from .safe_read import CorruptDataError, Int, Port, host_or_empty, read_end, read_version

if TYPE_CHECKING:
    from pathlib import Path

Outcome = Literal["succeeded", "failed", "interrupted", "requeued"]
TaskState = Literal["SUCCEEDED", "FAILED", "STOPPED"]
MAX_BYTES = 64 << 20
VERSION = 2
"""Of the keys; the scripts of another version write others."""


class TaskResult(Struct, frozen=True, kw_only=True):
    """Say how a task ended; None where something never came to be. Times are seconds since 1970."""

    role: str
    index: Int
    task_attempt: Int
    state: TaskState
    exit_status: Int | None
    exit_code: Int | None
    behaviour: str | None
    node_name: str | None = field(name="node")
    started_at: Int | None
    ended_at: Int | None
    node_address: str = ""
    ports: Mapping[str, tuple[Port, ...]] = field(default_factory=dict, name="ports_by_label")
    """By their label."""

    @property
    def node(self) -> str:
        """The node on which it ran, "" where it never began."""
        return self.node_name or ""

    @property
    def address(self) -> str:
        """The address of its node, "" where that is not known."""
        return host_or_empty(self.node_address)

    @property
    def lingers(self) -> bool:
        """Tell whether the task started and had not ended when the result was written."""
        return self.started_at is not None and self.ended_at is None


class Trigger(Struct, frozen=True, kw_only=True):
    """Name the task whose end reached the threshold that decided the job."""

    role: str
    index: Int


class Result(Struct, frozen=True, kw_only=True):
    """Say how an attempt ended, and why."""

    job_id: str
    outcome: Outcome
    exit_code: Int
    behaviour: str
    reason: str
    started_at: Int | None
    ended_at: Int | None
    tasks: tuple[TaskResult, ...]
    trigger: Trigger | None = None
    """What decided the job, None where no task did."""

    @property
    def complete(self) -> bool:
        """Tell whether all tasks had ended: it is written when the outcome is decided, and again then."""
        return not any(task.lingers for task in self.tasks)


def read_result(path: Path) -> Result | None:
    """Return the result, None where there is none yet; CorruptDataError if it is not one."""
    try:
        data, complete = read_end(path, MAX_BYTES)
    except FileNotFoundError:
        return None
    if not complete:
        raise CorruptDataError("it is too large")
    return parse_result(data)


def parse_result(data: bytes) -> Result:
    """Return the result that a file holds, or CorruptDataError. Source: this project's docs, run folder."""
    return read_version(data, Result, VERSION)
