"""What a journal can hold: a closed set of records, each with the time at which it was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field, to_builtins

from ..exit_codes.table import Behaviour, SiteRow
from .run_record import RunRecord
from .safe_read import CorruptDataError, Int, is_job_number, read_version

VERSION = 2
"""Of the format; a reader leaves alone what another version wrote."""

MAX_ROLES, MAX_TASKS = 10_000, 250_000
"""Of a job: a journal that names more has been written by something else."""

Count = Annotated[int, Meta(ge=0, lt=1_000_000_000)]
TaskCount = Annotated[int, Meta(ge=0, le=MAX_TASKS)]
FolderName = Annotated[str, Meta(pattern=r"^(?!\.{1,2}\Z)[^/]+\Z")]


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """Say how often a job is retried: `retry_limit` as in the job file, the bounds as the site says.

    `max_transient_retries` bounds the retries that use no budget, `max_restarts` those of a job with a
    retry count of -2. `spare_nodes` is how many nodes an attempt may leave out and still start,
    None where nobody knows.
    """

    retry_limit: Int = 0
    max_transient_retries: Int = 10
    max_restarts: Int = 0
    on_timeout: Literal["fail", "retry"] = "fail"
    on_root_cancel: Literal["stop", "retry"] = "stop"
    spare_nodes: Int | None = None


class RetryCounters(Struct, frozen=True, kw_only=True):
    """Count retries: all of them, those that used the budget, those that did not."""

    total: Int = 0
    used: Int = 0
    transient: Int = 0


NO_RETRIES = RetryPolicy(retry_limit=0, max_transient_retries=0)
"""The policy of a job whose journal names none."""


class JobRole(Struct, frozen=True, kw_only=True):
    """Name a role, its folder below `logs` and `tasks`, and its number of tasks."""

    name: str
    folder: FolderName
    instances: TaskCount


class Dependency(Struct, frozen=True, kw_only=True):
    """Name a job that another one waits for, by its folder and the time of its `Created`: names are used again."""

    name: FolderName
    created_at: Int
    until: Literal["succeeded", "ended"] = "succeeded"


class _Record(Struct, frozen=True, kw_only=True, tag_field="kind", tag=str.lower):
    """A line of a journal; `kind` is the name of its class."""

    happened_at: Int


class _OfAttempt(_Record, frozen=True, kw_only=True):
    """A line about an attempt."""

    attempt: Count


class Created(_Record, frozen=True, kw_only=True):
    """Begin a journal: what the job is, where it runs, how often it is retried, and of what its user is told.

    `exit_rows` are the site's changes of the exit specification; `notify` are events. `run` is what the job was
    submitted with, None in a journal of a version that did not keep it. A job of a sweep has the name of its `group`,
    and in `sweep` the values of the parameters that differ. One with `dependencies` is submitted by the monitor, under
    `first_tag`. `partition` is where it goes by the job file and the site profile, "" for Slurm's default, several with
    commas between them. `backfill_interval` is that of Slurm's backfill scheduler in seconds, None if not known.
    """

    job: str
    user: str
    backend: str
    roles: tuple[JobRole, ...]
    retry_policy: RetryPolicy = NO_RETRIES
    exit_rows: tuple[SiteRow, ...] = ()
    notify: tuple[str, ...] = ()
    run: RunRecord | None = None
    group: str = ""
    sweep: Mapping[str, str] = field(default_factory=dict)
    dependencies: tuple[Dependency, ...] = ()
    first_tag: str = ""
    virtual_cluster: str = ""
    partition: str = ""
    backfill_interval: Count | None = None


class Intent(_OfAttempt, frozen=True, kw_only=True):
    """Say before the backend is asked that an attempt is about to be submitted under a tag."""

    tag: str


class Submitted(_OfAttempt, frozen=True, kw_only=True):
    """Say that the backend took an attempt, with enough of `Created` for who reads a journal's end only."""

    job_id: str
    job: str
    user: str
    backend: str
    task_count: TaskCount
    group: str = ""


class Refused(_OfAttempt, frozen=True, kw_only=True):
    """Say that the backend did not take an attempt, and its `reason`; the attempt is submitted again at `retry_at`.

    `reached` is false where the backend could not be reached. `retry_at` is 0 in journals of earlier versions.
    """

    reason: str
    retry_at: Int = 0
    reached: bool = True


class Observed(_OfAttempt, frozen=True, kw_only=True):
    """Keep the backend's own state of an attempt whenever it changed: what is known without an answer.

    `backend_reasons` are why each component waits.
    """

    backend_state: str
    backend_reason: str
    backend_reasons: tuple[str, ...] = ()


class Cancelled(_OfAttempt, frozen=True, kw_only=True):
    """Say who wants the job's end, and which of the backend's jobs was asked for it: "" where none was known."""

    user: str
    job_id: str = ""


class Changed(_OfAttempt, frozen=True, kw_only=True):
    """Say what a job's user changed while it waited or ran, and what was before; see `state/changes.py`.

    `job_id` is the backend's job that was changed, "" where only attempts to come are: then the `attempt` is the last.
    """

    user: str
    values: Mapping[str, str]
    old_values: Mapping[str, str]
    job_id: str = ""


class Retry(_OfAttempt, frozen=True, kw_only=True):
    """Say how an attempt ended, and that the next one is due at `retry_at`; the counts of retries are those after it.

    `used_retries` used up the budget, `transient_retries` did not. `retry_rule` is the rule that it is retried by;
    `blamed_nodes` are those that the end is blamed on.
    """

    exit_code: Int
    behaviour: Behaviour
    reason: str
    retry_rule: str
    retry_at: Int
    retries: Count
    used_retries: Count
    transient_retries: Count
    blamed_nodes: tuple[str, ...]
    backend_state: str
    started_at: Int | None
    ended_at: Int | None


class Ended(_OfAttempt, frozen=True, kw_only=True):
    """Say how the job ended. `state` is OpenPAI's word, `backend_state` the backend's, or "".

    `node_list` is a host list, as in Slurm.
    """

    state: str
    exit_code: Int | None
    reason: str
    backend_state: str
    started_at: Int | None
    ended_at: Int | None
    completed: Count
    node_list: str = ""


class Notified(_OfAttempt, frozen=True, kw_only=True):
    """Say that the site's program was told of an event, or that no more is tried; `key` is the event's own."""

    key: str
    delivered: bool


Record: TypeAlias = Created | Intent | Submitted | Refused | Observed | Cancelled | Changed | Retry | Ended | Notified
_RECORD: Any = Record


def dump(record: Record) -> bytes:
    """Return a record as one line of JSON, line break included."""
    return json.dumps({"version": VERSION, **to_builtins(record)}).encode() + b"\n"


def parse(line: bytes) -> Record:
    """Return the record of a line; CorruptDataError if it is none."""
    record: Record = read_version(line, _RECORD, VERSION)
    job_id = record.job_id if isinstance(record, (Submitted, Cancelled, Changed)) else ""
    if job_id and not is_job_number(job_id):
        raise CorruptDataError("`job_id` is not the number of a job")
    roles = record.roles if isinstance(record, Created) else ()
    if len(roles) > MAX_ROLES or sum(role.instances for role in roles) > MAX_TASKS:
        raise CorruptDataError(f"it has more than {MAX_ROLES} roles, or {MAX_TASKS} tasks")
    return record
