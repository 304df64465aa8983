"""The records of a journal: a closed set, each with the time of its writing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, field, to_builtins

from ..exit_codes.table import Behaviour, SiteRow
from .parsed import CorruptDataError, Int, is_job_number, read_version
from .run_record import RunRecord

VERSION = 2
"""The version of the format; a reader ignores other versions."""

MAX_ROLES, MAX_TASKS = 10_000, 250_000
"""Limits for a job: paislurm writes no journal with more."""

Count = Annotated[int, Meta(ge=0, lt=1_000_000_000)]
TaskCount = Annotated[int, Meta(ge=0, le=MAX_TASKS)]
FolderName = Annotated[str, Meta(pattern=r"^(?!\.{1,2}\Z)[^/]+\Z")]


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often a job is retried."""

    retry_limit: Int = 0
    """How often failures are retried, as in the job file."""
    max_transient_retries: Int = 10
    """How often the job is retried without using its budget."""
    max_restarts: Int = 0
    """How often a job with a retry count of -2 is restarted."""
    on_timeout: Literal["fail", "retry"] = "fail"
    """The action after a time-out: `fail` or `retry`."""
    on_root_cancel: Literal["stop", "retry"] = "stop"
    """The action after a cancellation by root: `stop` or `retry`."""
    spare_nodes: Int | None = None
    """How many nodes an attempt can exclude and still start; None if unknown."""
    avoid_s: Int = 0
    """For how many seconds a node of the ledger of bad nodes is avoided."""
    avoid_most: Int = 0
    """How many nodes of the ledger are avoided at most."""
    memory_steps: tuple[Mapping[str, Int], ...] = ()
    """MiB of a task by role, in the first attempt and after each lack of memory; () if the request does not grow."""
    time_steps: tuple[Int, ...] = ()
    """The time limit in seconds, in the first attempt and after each time-out; () if it does not grow."""
    no_more: Mapping[str, str] = field(default_factory=dict)
    """Why no further request is made, by `memory` and `time`."""


class RetryCounters(Struct, frozen=True, kw_only=True):
    """Count retries: in total, with use of the budget, and without."""

    total: Int = 0
    used: Int = 0
    transient: Int = 0


NO_RETRIES = RetryPolicy(retry_limit=0, max_transient_retries=0)
"""The policy of a job whose journal contains none."""


class JobRole(Struct, frozen=True, kw_only=True):
    """A task role."""

    name: str
    """The name of the role."""
    folder: FolderName
    """The name of its folders below `logs`, `tasks` and `work`."""
    instances: TaskCount
    """The number of its tasks."""


class Dependency(Struct, frozen=True, kw_only=True):
    """A job for which another one waits."""

    name: FolderName
    """The folder name of the awaited job, `user~job`."""
    created_at: Int
    """When the awaited job was created: names are reused."""
    until: Literal["succeeded", "ended"] = "succeeded"
    """The end to wait for: `succeeded` or `ended`."""


class Pace(Struct, frozen=True, kw_only=True):
    """How a job that waits here is submitted beside the other jobs of its group."""

    most_at_once: Count = 0
    """How many jobs of the group are at the backend at a time; 0: as many as it accepts."""
    stop_after: Count = 0
    """After how many failures of the group with the same exit code the job is not submitted any more; 0: never."""


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
    """The owner of the job."""
    backend: str
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    roles: tuple[JobRole, ...]
    """The task roles."""
    retry_policy: RetryPolicy = NO_RETRIES
    """How often the job is retried."""
    exit_rows: tuple[SiteRow, ...] = ()
    """The site's changes to the exit specification."""
    notify: tuple[str, ...] = ()
    """The events that notify the user."""
    run: RunRecord | None = None
    """How the job was submitted; None in journals of earlier versions."""
    group: str = ""
    """The name of the job's sweep."""
    sweep: Mapping[str, str] = field(default_factory=dict)
    """The values of the sweep's parameters, by name."""
    dependencies: tuple[Dependency, ...] = ()
    """The jobs for which this one waits."""
    pace: Pace | None = None
    """How a job that waits for its place in a group is submitted; None for any other job."""
    first_tag: str = ""
    """The tag of the first attempt of a job that waits here."""
    virtual_cluster: str = ""
    """The virtual cluster."""
    partition: str = ""
    """The partitions from the job file and the site profile, separated by commas."""
    backfill_interval: Count | None = None
    """Seconds between two runs of Slurm's backfill scheduler; None if unknown."""


class Intent(_OfAttempt, frozen=True, kw_only=True):
    """An attempt is about to be submitted; written before the submit."""

    tag: str
    """The tag of the attempt."""


class Submitted(_OfAttempt, frozen=True, kw_only=True):
    """The backend accepted an attempt. Fields of `Created` are repeated for readers of a journal's end."""

    job_id: str
    """The id of the Slurm job."""
    job: str
    """The job's name, without the user's."""
    user: str
    """The owner of the job."""
    backend: str
    """`slurm`, `pyslurm`, `local`, or `ssh:` and a login node."""
    task_count: TaskCount
    """The number of tasks."""
    group: str = ""
    """The name of the job's sweep."""
    avoided_nodes: tuple[str, ...] = ()
    """The bad nodes that the attempt avoids."""
    backend_notes: str = ""
    """What sbatch printed beside the id."""


class Refused(_OfAttempt, frozen=True, kw_only=True):
    """The backend did not accept an attempt."""

    reason: str
    """Why the backend did not accept the attempt."""
    retry_at: Int = 0
    """When the attempt is submitted again; 0 in journals of earlier versions."""
    reached: bool = True
    """Whether the backend was reachable and not full."""


class Observed(_OfAttempt, frozen=True, kw_only=True):
    """The backend's state of an attempt has changed."""

    backend_state: str
    """The backend's state of the Slurm job."""
    backend_reason: str
    """The backend's reason why the Slurm job waits."""
    backend_reasons: tuple[str, ...] = ()
    """The reason of each component."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The `partition`, `account` and `time` limit that the queue shows."""


class Cancelled(_OfAttempt, frozen=True, kw_only=True):
    """A user cancelled the job; `job_id` is empty if no Slurm job was known."""

    user: str
    """Who cancelled the job."""
    job_id: str = ""
    """The id of the cancelled Slurm job."""


class Changed(_OfAttempt, frozen=True, kw_only=True):
    """A user changed the job; see `state/changes.py`. `job_id` is empty if only future attempts are changed."""

    user: str
    """Who changed the job."""
    values: Mapping[str, str]
    """The new values, as text by name: `time`, `partition`, `account`, `qos`, `nice`, `retries`, `held`, `memory`."""
    old_values: Mapping[str, str]
    """The retry limit before the change, as `retries`; earlier versions recorded more."""
    job_id: str = ""
    """The id of the changed Slurm job."""


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
    more: Mapping[str, str] = field(default_factory=dict)
    """What the next attempt requests more of, as text by name: `memory`, `time`."""
    retries: Count
    """How often the job has been retried, including this retry."""
    used_retries: Count
    """How many of the retries used the budget."""
    transient_retries: Count
    """How many of the retries did not use the budget."""
    blamed_nodes: tuple[str, ...]
    """The nodes at fault."""
    backend_state: str
    """The backend's final state of the attempt."""
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
    """Why the job ended in this state, in a sentence."""
    backend_state: str
    """The backend's final state of the last attempt."""
    started_at: Int | None
    """When the nodes of the last attempt were allocated."""
    ended_at: Int | None
    """When the job ended."""
    completed: Count
    """How many tasks ended by themselves."""
    node_list: str = ""
    """The nodes of the last attempt as Slurm writes them, `n[1-3,7]`."""
    blamed_nodes: tuple[str, ...] = ()
    """The nodes at fault for the end of the last attempt."""


class Notified(_OfAttempt, frozen=True, kw_only=True):
    """The site's program was called for an event, or no further call is made."""

    key: str
    """The name of the event."""
    delivered: bool
    """Whether the program was called; false if no further call is made."""


Record: TypeAlias = Created | Intent | Submitted | Refused | Observed | Cancelled | Changed | Retry | Ended | Notified
_RECORD: Any = Record


def dump(record: Record) -> bytes:
    """Return a record as one line of JSON, line break included."""
    return json.dumps({"version": VERSION, **to_builtins(record)}).encode() + b"\n"


def parse(line: bytes) -> Record:
    """Return the record of a line. Raises CorruptDataError."""
    record: Record = read_version(line, _RECORD, VERSION)
    job_id = record.job_id if isinstance(record, (Submitted, Cancelled, Changed)) else ""
    if job_id and not is_job_number(job_id):
        raise CorruptDataError("`job_id` is not the number of a job")
    roles = record.roles if isinstance(record, Created) else ()
    if len(roles) > MAX_ROLES or sum(role.instances for role in roles) > MAX_TASKS:
        raise CorruptDataError(f"it contains more than {MAX_ROLES} roles or {MAX_TASKS} tasks")
    return record
