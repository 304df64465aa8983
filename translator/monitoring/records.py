"""What a journal can hold: a closed set of records, each with the time at which it was written."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeAlias

from .untrusted import DamagedError, json_object, objects, text, whole, whole_or_none

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VERSION = 1
"""Of the format; a reader leaves alone what a later version wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRole:
    """Name a role, its folder below `logs` and `tasks`, and its number of tasks."""

    name: str
    folder: str
    instances: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """Begin a journal: what the job is, and where it runs."""

    time: int
    job: str
    user: str
    backend: str
    roles: tuple[JobRole, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Say before the backend is asked that an attempt is about to be submitted under a tag."""

    time: int
    attempt: int
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """Say that the backend took an attempt, with enough of `Created` for who reads a journal's end only."""

    time: int
    attempt: int
    job_id: str
    job: str
    user: str
    backend: str
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Keep the backend's own state of an attempt whenever it changed: what is known without an answer."""

    time: int
    attempt: int
    state: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Say that the backend was asked to cancel an attempt, and by whom."""

    time: int
    attempt: int
    user: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Say how the job ended. `state` is OpenPAI's word, `backend_state` the backend's, or ""."""

    time: int
    attempt: int
    state: str
    code: int | None
    reason: str
    backend_state: str
    started: int | None
    ended: int | None
    completed: int


Record: TypeAlias = "Created | Intent | Submitted | Seen | Cancelled | Ended"


def dump(record: Record) -> bytes:
    """Return a record as one line of JSON, line break included."""
    kind = type(record).__name__.lower()
    return json.dumps({"version": VERSION, "kind": kind, **asdict(record)}).encode() + b"\n"


def parse(line: bytes) -> Record:
    """Return the record of a line; DamagedError if it is none."""
    raw = json_object(line)
    if whole(raw, "version") > VERSION:
        raise DamagedError("it was written by a later version")
    kind = text(raw, "kind")
    if kind not in _PARSERS:
        raise DamagedError("no such kind of record")
    return _PARSERS[kind](raw)


def _created(raw: Mapping[str, object]) -> Created:
    return Created(
        time=whole(raw, "time"),
        job=text(raw, "job"),
        user=text(raw, "user"),
        backend=text(raw, "backend"),
        roles=tuple(
            JobRole(name=text(role, "name"), folder=text(role, "folder"), instances=whole(role, "instances"))
            for role in objects(raw, "roles")
        ),
    )


def _intent(raw: Mapping[str, object]) -> Intent:
    return Intent(time=whole(raw, "time"), attempt=whole(raw, "attempt"), tag=text(raw, "tag"))


def _submitted(raw: Mapping[str, object]) -> Submitted:
    return Submitted(
        time=whole(raw, "time"),
        attempt=whole(raw, "attempt"),
        job_id=text(raw, "job_id"),
        job=text(raw, "job"),
        user=text(raw, "user"),
        backend=text(raw, "backend"),
        tasks=whole(raw, "tasks"),
    )


def _seen(raw: Mapping[str, object]) -> Seen:
    return Seen(
        time=whole(raw, "time"),
        attempt=whole(raw, "attempt"),
        state=text(raw, "state"),
        reason=text(raw, "reason"),
    )


def _cancelled(raw: Mapping[str, object]) -> Cancelled:
    return Cancelled(time=whole(raw, "time"), attempt=whole(raw, "attempt"), user=text(raw, "user"))


def _ended(raw: Mapping[str, object]) -> Ended:
    return Ended(
        time=whole(raw, "time"),
        attempt=whole(raw, "attempt"),
        state=text(raw, "state"),
        code=whole_or_none(raw, "code"),
        reason=text(raw, "reason"),
        backend_state=text(raw, "backend_state"),
        started=whole_or_none(raw, "started"),
        ended=whole_or_none(raw, "ended"),
        completed=whole(raw, "completed"),
    )


_PARSERS: Mapping[str, Callable[[Mapping[str, object]], Record]] = {
    "created": _created,
    "intent": _intent,
    "submitted": _submitted,
    "seen": _seen,
    "cancelled": _cancelled,
    "ended": _ended,
}
