"""result.json: how an attempt ended, as its script says. The user's own processes can write it, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from .safe_read import DamagedError, json_object, objects, read_end, text, whole, whole_or_none

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Outcome = Literal["succeeded", "failed", "interrupted", "requeued"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
TaskState = Literal["SUCCEEDED", "FAILED", "STOPPED"]
TASK_STATES: tuple[TaskState, ...] = get_args(TaskState)
LARGEST = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """Say how a task ended; None where something never came to be. Times are seconds since 1970."""

    role: str
    index: int
    attempt: int
    state: TaskState
    status: int | None
    code: int | None
    behaviour: str
    node: str
    started: int | None
    ended: int | None

    @property
    def lingers(self) -> bool:
        """Tell whether the task started and had not ended when the result was written."""
        return self.started is not None and self.ended is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Say how an attempt ended, and why."""

    job_id: str
    outcome: Outcome
    code: int
    behaviour: str
    reason: str
    started: int | None
    ended: int | None
    tasks: tuple[TaskResult, ...]

    @property
    def complete(self) -> bool:
        """Tell whether all tasks had ended: it is written when the outcome is decided, and again then."""
        return not any(task.lingers for task in self.tasks)


def read_result(path: Path) -> Result | None:
    """Return the result, None where there is none yet; DamagedError if it is not one."""
    try:
        data, complete = read_end(path, LARGEST)
    except FileNotFoundError:
        return None
    if not complete:
        raise DamagedError("it is too large")
    return parse_result(data)


def parse_result(data: bytes) -> Result:
    """Return the result that a file holds, or DamagedError. Source: this project's docs, run folder."""
    raw = json_object(data)
    outcome = next((outcome for outcome in OUTCOMES if outcome == raw.get("outcome")), None)
    if outcome is None:
        raise DamagedError("`outcome` is none that there is")
    return Result(
        job_id=text(raw, "job_id"),
        outcome=outcome,
        code=whole(raw, "code"),
        behaviour=text(raw, "behaviour"),
        reason=text(raw, "reason"),
        started=whole_or_none(raw, "started"),
        ended=whole_or_none(raw, "ended"),
        tasks=tuple(_task(task) for task in objects(raw, "tasks")),
    )


def _task(raw: Mapping[str, object]) -> TaskResult:
    state = next((state for state in TASK_STATES if state == raw.get("state")), None)
    if state is None:
        raise DamagedError("the state of a task is none that there is")
    return TaskResult(
        role=text(raw, "role"),
        index=whole(raw, "index"),
        attempt=whole_or_none(raw, "attempt") or 0,
        state=state,
        status=whole_or_none(raw, "status"),
        code=whole_or_none(raw, "code"),
        behaviour=_text_or_empty(raw, "behaviour"),
        node=_text_or_empty(raw, "node"),
        started=whole_or_none(raw, "started"),
        ended=whole_or_none(raw, "ended"),
    )


def _text_or_empty(raw: Mapping[str, object], key: str) -> str:
    return "" if raw.get(key) is None else text(raw, key)
