"""result.json: how an attempt ended, as its script says. The user's own processes can write it, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct, field

from .peers import is_port
from .safe_read import (
    CorruptDataError,
    host_or_empty,
    json_object,
    optional_int,
    read_end,
    require_int,
    require_objects,
    require_str,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Outcome = Literal["succeeded", "failed", "interrupted", "requeued"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
TaskState = Literal["SUCCEEDED", "FAILED", "STOPPED"]
TASK_STATES: tuple[TaskState, ...] = get_args(TaskState)
MAX_BYTES = 64 << 20
VERSION = 2
"""Of the keys; the scripts of another version write others."""


class TaskResult(Struct, frozen=True, kw_only=True):
    """Say how a task ended; None where something never came to be. Times are seconds since 1970."""

    role: str
    index: int
    task_attempt: int
    state: TaskState
    exit_status: int | None
    exit_code: int | None
    behaviour: str
    node: str
    started_at: int | None
    ended_at: int | None
    address: str = ""
    ports: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By their label."""

    @property
    def lingers(self) -> bool:
        """Tell whether the task started and had not ended when the result was written."""
        return self.started_at is not None and self.ended_at is None


class Trigger(Struct, frozen=True, kw_only=True):
    """Name the task whose end reached the threshold that decided the job."""

    role: str
    index: int


class Result(Struct, frozen=True, kw_only=True):
    """Say how an attempt ended, and why."""

    job_id: str
    outcome: Outcome
    exit_code: int
    behaviour: str
    reason: str
    started_at: int | None
    ended_at: int | None
    tasks: tuple[TaskResult, ...]
    trigger: Trigger | None = None
    """What decided the job, None where no task did."""

    @property
    def complete(self) -> bool:
        """Tell whether all tasks had ended: it is written when the outcome is decided, and again then."""
        return not any(task.lingers for task in self.tasks)


def read_result(path: Path) -> Result | None:
    """Return the result, None where there is none yet; DamagedError if it is not one."""
    try:
        data, complete = read_end(path, MAX_BYTES)
    except FileNotFoundError:
        return None
    if not complete:
        raise CorruptDataError("it is too large")
    return parse_result(data)


def parse_result(data: bytes) -> Result:
    """Return the result that a file holds, or DamagedError. Source: this project's docs, run folder."""
    raw = json_object(data)
    if require_int(raw, "version") != VERSION:
        raise CorruptDataError("it was written by another version")
    outcome = next((outcome for outcome in OUTCOMES if outcome == raw.get("outcome")), None)
    if outcome is None:
        raise CorruptDataError("`outcome` is none that there is")
    return Result(
        job_id=require_str(raw, "job_id"),
        outcome=outcome,
        exit_code=require_int(raw, "exit_code"),
        behaviour=require_str(raw, "behaviour"),
        reason=require_str(raw, "reason"),
        started_at=optional_int(raw, "started_at"),
        ended_at=optional_int(raw, "ended_at"),
        tasks=tuple(_task(task) for task in require_objects(raw, "tasks")),
        trigger=_trigger(raw.get("trigger")),
    )


def _trigger(raw: object) -> Trigger | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        raise CorruptDataError("`trigger` is not an object")
    return Trigger(role=require_str(raw, "role"), index=require_int(raw, "index"))


def _task(raw: Mapping[str, object]) -> TaskResult:
    state = next((state for state in TASK_STATES if state == raw.get("state")), None)
    if state is None:
        raise CorruptDataError("the state of a task is none that there is")
    return TaskResult(
        role=require_str(raw, "role"),
        index=require_int(raw, "index"),
        task_attempt=optional_int(raw, "task_attempt") or 0,
        state=state,
        exit_status=optional_int(raw, "exit_status"),
        exit_code=optional_int(raw, "exit_code"),
        behaviour=_text_or_empty(raw, "behaviour"),
        node=_text_or_empty(raw, "node"),
        started_at=optional_int(raw, "started_at"),
        ended_at=optional_int(raw, "ended_at"),
        address=host_or_empty(_text_or_empty(raw, "node_address")),
        ports=_ports(raw.get("ports_by_label")),
    )


def _ports(raw: object) -> dict[str, tuple[int, ...]]:
    """Return the ports of a task; what is none is left out, since nothing of a result depends on them."""
    found = raw.items() if isinstance(raw, dict) else ()
    return {label: tuple(filter(is_port, ports)) for label, ports in found if isinstance(ports, list)}


def _text_or_empty(raw: Mapping[str, object], key: str) -> str:
    return "" if raw.get(key) is None else require_str(raw, key)
