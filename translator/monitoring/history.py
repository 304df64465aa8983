"""What a journal amounts to: the records of a job, folded into how it stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .records import Cancelled, Created, Ended, Intent, Seen, Submitted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .records import JobRole, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Hold what is known of a job from its journal; what belongs to an attempt is that of the last one.

    `job_id` is "" while it is not known whether the backend took the attempt, though it was asked to.
    """

    job: str = ""
    user: str = ""
    backend: str = ""
    roles: tuple[JobRole, ...] = ()
    tasks: int = 0
    created: int = 0
    attempt: int = 0
    tag: str = ""
    asked: int = 0
    job_id: str = ""
    submitted: int | None = None
    seen: Seen | None = None
    cancelled: Cancelled | None = None
    ended: Ended | None = None

    @property
    def full_name(self) -> str:
        """The name that OpenPAI gave the job, `user~name`."""
        return f"{self.user}~{self.job}"


def history(records: Iterable[Record]) -> History:
    """Fold records, oldest first. Records of an earlier attempt that come late change nothing."""
    known = History()
    for record in records:
        if isinstance(record, Created):
            known = _created(known, record)
        elif record.attempt < known.attempt:
            continue
        else:
            known = _next(known, record)
    return known


def _created(known: History, record: Created) -> History:
    return replace(
        known,
        job=record.job,
        user=record.user,
        backend=record.backend,
        roles=record.roles,
        tasks=sum(role.instances for role in record.roles),
        created=record.time,
    )


def _next(known: History, record: Intent | Submitted | Seen | Cancelled | Ended) -> History:
    if record.attempt > known.attempt:
        known = replace(
            known, attempt=record.attempt, tag="", asked=0, job_id="", submitted=None, seen=None,
            cancelled=None, ended=None,
        )  # fmt: skip
    match record:
        case Intent():
            return replace(known, tag=record.tag, asked=record.time)
        case Submitted():
            return replace(
                known, job_id=record.job_id, submitted=record.time, job=record.job, user=record.user,
                backend=record.backend, tasks=record.tasks, created=known.created or record.time,
            )  # fmt: skip
        case Seen():
            return replace(known, seen=record)
        case Cancelled():
            return replace(known, cancelled=record)
        case Ended():
            return replace(known, ended=record)
