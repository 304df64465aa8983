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
    """How often a job is retried."""

    retry_limit: Int = 0
    """How often failures are retried, as in the job file."""
    max_transient_retries: Int = 10
    """How often the job is retried without using up its budget."""
    max_restarts: Int = 0
    """How often a job with a retry count of -2 is restarted."""
    on_timeout: Literal["fail", "retry"] = "fail"
    """What follows the end of the time limit: `fail` or `retry`."""
    on_root_cancel: Literal["stop", "retry"] = "stop"
    """What follows a cancellation by root: `stop` or `retry`."""
    spare_nodes: Int | None = None
    """How many nodes an attempt may leave out and still start; None where that is not known."""


class RetryCounters(Struct, frozen=True, kw_only=True):
    """Count retries: all of them, those that used the budget, those that did not."""

    total: Int = 0
    used: Int = 0
    transient: Int = 0


NO_RETRIES = RetryPolicy(retry_limit=0, max_transient_retries=0)
"""The policy of a job whose journal names none."""


class JobRole(Struct, frozen=True, kw_only=True):
    """A task role."""

    name: str
    """The name of the role."""
    folder: FolderName
    """The name of its folders below `logs`, `tasks` and `work`."""
    instances: TaskCount
    """The number of its tasks."""


class Dependency(Struct, frozen=True, kw_only=True):
    """A job that another one waits for."""

    name: FolderName
    """The name of the folder of the job that is waited for, `user~job`."""
    created_at: Int
    """When that job was made: names are used again."""
    until: Literal["succeeded", "ended"] = "succeeded"
    """The end that is waited for: `succeeded` or `ended`."""


class _Record(Struct, frozen=True, kw_only=True, tag_field="kind", tag=str.lower):
    """A line of a journal; `kind` is the name of its class."""

    happened_at: Int
    """When the record was written."""


class _OfAttempt(_Record, frozen=True, kw_only=True):
    """A line about an attempt."""

    attempt: Count
    """The number of an attempt of the job, from 0."""


class Created(_Record, frozen=True, kw_only=True):
    """The first record: what the job is, where it runs, and how often it is retried."""

    job: str
    """The job's name, without the user's."""
    user: str
    """The user whose job it is."""
    backend: str
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    roles: tuple[JobRole, ...]
    """The task roles."""
    retry_policy: RetryPolicy = NO_RETRIES
    """How often the job is retried."""
    exit_rows: tuple[SiteRow, ...] = ()
    """The site's changes of the exit specification."""
    notify: tuple[str, ...] = ()
    """The events that the user wants to be told of."""
    run: RunRecord | None = None
    """What the job was submitted with; None where an earlier version did not keep it."""
    group: str = ""
    """The name of the job's sweep."""
    sweep: Mapping[str, str] = field(default_factory=dict)
    """The values of the sweep's parameters, by name."""
    dependencies: tuple[Dependency, ...] = ()
    """The jobs that this one waits for."""
    first_tag: str = ""
    """The tag of the first attempt of a job that waits for others."""
    virtual_cluster: str = ""
    """The virtual cluster."""
    partition: str = ""
    """The partitions by the job file and the site profile, with commas between several."""
    backfill_interval: Count | None = None
    """Seconds between two runs of Slurm's backfill scheduler; None where that is not known."""


class Intent(_OfAttempt, frozen=True, kw_only=True):
    """An attempt is about to be submitted; written before the backend is asked."""

    tag: str
    """The tag under which the attempt is submitted."""


class Submitted(_OfAttempt, frozen=True, kw_only=True):
    """The backend took an attempt. Fields of `Created` are repeated for readers of a journal's end."""

    job_id: str
    """The id of the Slurm job."""
    job: str
    """The job's name, without the user's."""
    user: str
    """The user whose job it is."""
    backend: str
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    task_count: TaskCount
    """The number of tasks."""
    group: str = ""
    """The name of the job's sweep."""


class Refused(_OfAttempt, frozen=True, kw_only=True):
    """The backend did not take an attempt."""

    reason: str
    """Why the backend did not take the attempt."""
    retry_at: Int = 0
    """When the attempt is submitted again; 0 in journals of earlier versions."""
    reached: bool = True
    """Whether the backend could be reached."""


class Observed(_OfAttempt, frozen=True, kw_only=True):
    """The backend's state of an attempt has changed."""

    backend_state: str
    """The backend's own word for how the Slurm job stands."""
    backend_reason: str
    """Why the Slurm job waits, in the backend's own word."""
    backend_reasons: tuple[str, ...] = ()
    """The reason of each component."""


class Cancelled(_OfAttempt, frozen=True, kw_only=True):
    """A user cancelled the job; `job_id` is empty where no Slurm job was known."""

    user: str
    """Who cancelled the job."""
    job_id: str = ""
    """The id of the Slurm job that was to end."""


class Changed(_OfAttempt, frozen=True, kw_only=True):
    """A user changed the job; see `state/changes.py`. `job_id` is empty where only attempts to come are changed."""

    user: str
    """Who changed the job."""
    values: Mapping[str, str]
    """What was changed, as text by name: `time`, `partition`, `account`, `qos`, `nice`, `retries`, `held`."""
    old_values: Mapping[str, str]
    """The values before; an empty text for those that only Slurm has."""
    job_id: str = ""
    """The id of the Slurm job that was changed."""


class Retry(_OfAttempt, frozen=True, kw_only=True):
    """An attempt ended, and the next one is due; the counts include that retry."""

    exit_code: Int
    """OpenPAI's exit code of the attempt."""
    behaviour: Behaviour
    """How the exit code is retried."""
    reason: str
    """Why the attempt ended, in a sentence."""
    retry_rule: str
    """The rule by which the attempt is retried."""
    retry_at: Int
    """When the next attempt is due."""
    retries: Count
    """How often the job has been retried, this retry included."""
    used_retries: Count
    """How many of the retries used up the budget."""
    transient_retries: Count
    """How many of the retries used up no budget."""
    blamed_nodes: tuple[str, ...]
    """The nodes that the end is blamed on."""
    backend_state: str
    """The backend's own word for how the attempt ended."""
    started_at: Int | None
    """When the attempt's nodes were allocated."""
    ended_at: Int | None
    """When the attempt ended."""


class Ended(_OfAttempt, frozen=True, kw_only=True):
    """The job ended."""

    state: str
    """How the job ended: `SUCCEEDED`, `FAILED` or `STOPPED`."""
    exit_code: Int | None
    """OpenPAI's exit code of the job."""
    reason: str
    """Why the job ended so, in a sentence."""
    backend_state: str
    """The backend's own word for how the last attempt ended."""
    started_at: Int | None
    """When the nodes of the last attempt were allocated."""
    ended_at: Int | None
    """When the job ended."""
    completed: Count
    """How many tasks ended by themselves."""
    node_list: str = ""
    """The nodes of the last attempt as Slurm writes them, `n[1-3,7]`."""


class Notified(_OfAttempt, frozen=True, kw_only=True):
    """The site's program was told of an event, or no more is tried."""

    key: str
    """The name of the event."""
    delivered: bool
    """Whether the program was called; false where no more is tried."""


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
