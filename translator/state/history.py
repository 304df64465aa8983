"""The history of a job: its journal's records, folded into its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from paislurm.backends.base import RunFolder
from paislurm.backends.slurm.pending_reasons import code_of, explained

from ..exit_codes.table import SiteRow
from .changes import changed
from .journal_records import (
    NO_RETRIES,
    Cancelled,
    Changed,
    Created,
    Dependency,
    Ended,
    Intent,
    JobRole,
    Notified,
    Observed,
    Pace,
    Refused,
    Retry,
    RetryCounters,
    RetryPolicy,
    Submitted,
)
from .run_record import RunRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from paislurm.backends.base import Observation

    from .bad_nodes import BadNode
    from .journal_records import Record

EXCLUSION_SECONDS = 24 * 3600
MAX_EXCLUDED = 16


NOTHING = ("", "None")
BY_MONITOR = "paislurm"
"""Who changed a job whose next attempt requests more."""

MAX_REASONS = 16
"""The number of different reasons that enter the journal without a delay."""


class History(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Hold the state of a job from its journal; fields of an attempt are those of the last one.

    `job_id` is "" until the backend is known to have accepted the attempt. `retries` are the ends of earlier
    attempts; while the next attempt is due, the last one is included.
    """

    job: str = ""
    user: str = ""
    backend: str = ""
    roles: tuple[JobRole, ...] = ()
    retry_policy: RetryPolicy = NO_RETRIES
    exit_rows: tuple[SiteRow, ...] = ()
    notify: tuple[str, ...] = ()
    run: RunRecord | None = None
    """None also if only the end of the journal was read; `JobFolder.created` returns it then."""
    virtual_cluster: str = ""
    partition: str = ""
    backfill_interval: int | None = None
    notified: frozenset[str] = frozenset()
    group: str = ""
    sweep: Mapping[str, str] = field(default_factory=dict)
    dependencies: tuple[Dependency, ...] = ()
    pace: Pace | None = None
    first_tag: str = ""
    tasks: int = 0
    created: int = 0
    retries: tuple[Retry, ...] = ()
    cancelled: Cancelled | None = None
    changes: tuple[Changed, ...] = ()
    holds_next: bool = False
    """Whether to submit the next attempt as held by the user."""
    ran: bool = False
    attempt: int = 0
    tag: str = ""
    asked: int = 0
    first_asked: int = 0
    """When the last attempt was submitted: `asked` the last time, `first_asked` the first time, outages excluded."""
    job_id: str = ""
    refused: Refused | None = None
    """Why the backend refused the last attempt, which will be submitted again; None during a new submit."""
    submitted: int | None = None
    avoided: tuple[str, ...] = ()
    """The bad nodes that the last attempt avoids."""
    notes: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    """What sbatch printed beside the id of the last attempt, and the options that Slurm shows for it."""
    observed: Observed | None = None
    waited: frozenset[tuple[str, ...]] = frozenset()
    """The reasons for which the last attempt has waited, as `change_key` returns them."""
    ended: Ended | None = None

    @property
    def backend_label(self) -> str:
        """The name of the job's backend in messages."""
        kind, _, host = self.backend.partition(":")
        return "the local backend" if kind == "local" else f"Slurm at {host}" if host else "Slurm"

    def run_folder(self, folder: Path) -> RunFolder:
        """Return the run folder of the last attempt of a job in this folder."""
        return RunFolder(folder=folder, job=self.job, tag=self.tag, attempt=self.attempt)

    @property
    def full_name(self) -> str:
        """The full name of the job in OpenPAI, `user~name`."""
        return f"{self.user}~{self.job}"

    @property
    def is_held_back(self) -> bool:
        """Whether the first attempt is not yet submitted, because the job waits for others or for a place."""
        return bool(self.first_tag) and not (self.tag or self.job_id or self.attempt) and self.ended is None

    @property
    def retry(self) -> Retry | None:
        """The end of the last attempt, if another attempt is due and not yet submitted."""
        return self.retries[-1] if self.retries and self.retries[-1].attempt == self.attempt else None

    @property
    def is_between_attempts(self) -> bool:
        """Whether the last attempt has ended and another one is due."""
        return self.retry is not None and self.ended is None

    @property
    def counters(self) -> RetryCounters:
        """The counts of the job's retries."""
        last = self.retries[-1] if self.retries else None
        if last is None:
            return RetryCounters()
        return RetryCounters(total=last.retries, used=last.used_retries, transient=last.transient_retries)

    @property
    def cluster(self) -> str:
        """The cluster of the job's nodes, for the ledger of bad nodes: the backend, and the cluster in its tag."""
        cluster = (self.tag or self.first_tag).partition(".")[0].partition("@")[2]
        return f"{self.backend}@{cluster}" if cluster else self.backend

    def excluded_nodes(self, now: int, ledger: Sequence[BadNode] = ()) -> tuple[str, ...]:
        """Return the nodes that a new attempt excludes: its own bad nodes of the last day, then the ledger's.

        The job's retry policy limits both.
        """
        recent = (retry for retry in reversed(self.retries) if now - retry.happened_at < EXCLUSION_SECONDS)
        own = tuple(node for retry in recent for node in retry.blamed_nodes)
        policy = self.retry_policy
        nodes = dict.fromkeys((*own, *avoided(ledger, now, policy.avoid_s, policy.avoid_most)))
        spare = policy.spare_nodes
        return tuple(nodes)[: MAX_EXCLUDED if spare is None else min(MAX_EXCLUDED, spare)]


def avoided(nodes: Sequence[BadNode], now: int, age_s: int, most: int) -> tuple[str, ...]:
    """Return the names of the latest nodes that were bad in the last `age_s` seconds, `most` of them at most."""
    return tuple(each.node for each in nodes if now - each.happened_at < age_s)[:most]


def history(records: Iterable[Record]) -> History:
    """Fold records, oldest first. Ignore late records of earlier attempts; a cancel applies to the job."""
    return apply(History(), records)


def apply(known: History, records: Iterable[Record]) -> History:
    """Return a history with more records applied."""
    notified, retries = set(known.notified), list(known.retries)
    for record in records:
        if isinstance(record, Created):
            known = _created(known, record)
        elif isinstance(record, Notified):
            notified.add(record.key)
        elif isinstance(record, Cancelled):
            known = replace(known, cancelled=record)
        elif isinstance(record, Changed):
            known = changed(known, record)
        elif record.attempt < known.attempt:
            continue
        elif isinstance(record, Retry):
            known = _of_attempt(known, record.attempt)
            decided = bool(retries) and retries[-1].attempt == known.attempt
            if not decided and known.ended is None:
                retries.append(record)
                if record.more:
                    more = Changed(
                        happened_at=record.happened_at, attempt=record.attempt, user=BY_MONITOR, values=record.more,
                        old_values={},
                    )  # fmt: skip
                    known = changed(known, more)
        else:
            known = _next(_of_attempt(known, record.attempt), record)
    return replace(known, notified=frozenset(notified), retries=tuple(retries))


_OF_CREATED = tuple(set(Created.__struct_fields__) & set(History.__struct_fields__))
"""The fields that a history has from the first record."""


def _created(known: History, record: Created) -> History:
    fields = {name: getattr(record, name) for name in _OF_CREATED}
    tasks = sum(role.instances for role in record.roles)
    return replace(known, **fields, tasks=tasks, created=record.happened_at)


def _of_attempt(known: History, attempt: int) -> History:
    """Return the history at the start of an attempt, unless it is already there."""
    if attempt == known.attempt:
        return known
    return replace(
        known,
        attempt=attempt,
        tag="",
        asked=0,
        first_asked=0,
        job_id="",
        refused=None,
        submitted=None,
        avoided=(),
        notes="",
        options={},
        observed=None,
        waited=frozenset(),
        ended=None,
    )


def _next(known: History, record: Intent | Submitted | Refused | Observed | Ended) -> History:
    """Apply a record of the last attempt. Only the first end counts."""
    match record:
        case Intent():
            asked = record.happened_at
            return replace(known, tag=record.tag, asked=asked, first_asked=known.first_asked or asked, refused=None)
        case Submitted():
            return replace(
                known, job_id=record.job_id, submitted=record.happened_at, job=record.job, user=record.user,
                backend=record.backend, tasks=record.task_count, created=known.created or record.happened_at,
                group=known.group or record.group, holds_next=False, refused=None, avoided=record.avoided_nodes,
                notes=record.backend_notes,
            )  # fmt: skip
        case Refused():
            first = known.first_asked if record.reached else 0
            return known if known.job_id else replace(known, refused=record, first_asked=first)
        case Observed():
            known, last = replace(known, options=record.options or known.options), known.observed
            if last is not None and replace(record, happened_at=last.happened_at, options=last.options) == last:
                # Only the options have changed: it has waited since then.
                return known
            if len(known.waited) < MAX_REASONS:
                known = replace(known, waited=known.waited | {change_key(reasons_of(record))})
            return replace(known, observed=record, ran=known.ran or record.backend_state == "RUNNING")
        case Ended():
            return replace(known, ended=known.ended or record)


def change_key(reasons: Sequence[str]) -> tuple[str, ...]:
    """Return a key that differs if a job waits for another reason. All reasons of kind `turn` are equal.

    It is () if no reason is given.
    """
    given = [reason for reason in reasons if reason not in NOTHING]
    other = [
        f"{k} {code_of(reason)}"
        for k, reason in enumerate(reasons)
        if reason in given and explained(reason).kind != "turn"
    ]
    return tuple(other) or (("turn",) if given else ())


def reasons_of(seen: Observation | Observed) -> tuple[str, ...]:
    """Return the reason of each component, or the job's only reason."""
    if isinstance(seen, Observed):
        return seen.backend_reasons or (seen.backend_reason,)
    return seen.reasons or (seen.reason,)
