"""Parts of a job's view: its earlier attempts, its changes, its stall, its dependencies. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeVar

from msgspec import Struct

from ..exit_codes.table import Behaviour
from ..times import Time, aware

Shown = TypeVar("Shown", bound=Struct)


def as_shown(kind: type[Shown], record: Struct, **given: object) -> Shown:
    """Return a record as it is shown: the fields of the same names, times in the local zone, and the `given` fields."""
    names = [name for name in kind.__struct_fields__ if name not in given and hasattr(record, name)]
    values = {name: getattr(record, name) for name in names}
    times = {name: aware(value) for name, value in values.items() if name.endswith("_at")}
    return kind(**(values | times | given))


class AttemptView(Struct, frozen=True, kw_only=True):
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
    meaning: str | None = None
    """The usual meaning of its exit code; None if the code explains nothing."""
    remedy: str | None = None
    """What to try."""


class JobStall(Struct, frozen=True, kw_only=True):
    """A stall that the job's stall guard has found, and after which no task has moved."""

    found_at: Time | None
    """When it was found."""
    stalled_tasks: tuple[str, ...]
    """The tasks that the others wait for, `worker-0`; none if nothing tells."""
    reason: str
    """How long no task has moved, and why, in a sentence."""
    folder: str
    """The folder with details: a file for each task."""


class JobChange(Struct, frozen=True, kw_only=True):
    """A change by `update`, or by a retry that requests more."""

    changed_at: Time | None
    """When the job was changed."""
    user: str
    """The user who changed it, `paislurm` for a retry."""
    attempt: int
    """The number of the attempt at that time."""
    job_id: str | None
    """The changed Slurm job; None if only later attempts were changed."""
    values: Mapping[str, str]
    """The new values, as text by name: `time`, `partition`, `account`, `qos`, `nice`, `retries`, `held`, `memory`."""


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
