"""Dependencies between jobs: decide whether a first attempt is submitted, waits, or is never submitted.

A job waits for the end of another job with all its retries. Only that job's journal records it, not Slurm.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..plural import counted
from ..state.job_folder import JobFolder
from ..view.reasons import Reason, reason
from .job_status import JobStatus
from .transition import held_text, stopped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..state.history import History
    from ..state.journal_records import Dependency, Record

Fulfilment = Literal["fulfilled", "unfulfilled", "failed"]
"""The states of a dependency in squeue. Source: squeue(1), Dependency."""


class Awaited(Struct, frozen=True, kw_only=True):
    """Hold the state of an awaited job; `failed` if it did not end as required.

    `why` describes a state that is not fulfilled; `folder` is the job's folder, None if it was removed.
    """

    fulfilment: Fulfilment
    why: Reason | None = None
    folder: JobFolder | None = None


def awaited(folder: JobFolder, known: History) -> list[Awaited]:
    """Return the jobs for which a job waits, in the order of its job file."""
    return [_state_of_dependency(folder, each) for each in known.dependencies]


def may_begin(folder: JobFolder, known: History) -> bool:
    """Return whether all dependencies of a job are fulfilled."""
    return all(each.fulfilment == "fulfilled" for each in awaited(folder, known))


def before_first(folder: JobFolder, known: History, now: int) -> tuple[JobStatus, tuple[Record, ...]]:
    """Return the status of a job whose first attempt is not submitted, and its end if it never will be."""
    found = awaited(folder, known)
    failed = "; ".join(str(each.why) for each in found if each.fulfilment == "failed")
    waits = "; ".join(str(each.why) for each in found if each.fulfilment == "unfulfilled")
    if known.cancelled is not None:
        why = reason("cancelled before its submit", user=known.cancelled.user)
    elif failed:
        why = reason("never submitted", jobs=failed)
    else:
        return JobStatus.so_far("WAITING", _why_it_waits(known, waits)), ()
    return stopped(known, now, why)


def _why_it_waits(known: History, jobs: str) -> Reason:
    held = held_text(known)
    if jobs or known.pace is None:
        return reason("it waits for jobs" if jobs else "its dependencies are fulfilled", jobs=jobs, held=held)
    most, label = counted(known.pace.most_at_once, "job"), known.backend_label
    kind = "it waits for a place in its group" if known.pace.most_at_once else "it waits for a place in the queue"
    return reason(kind, most=most, group=known.group, label=label, held=held)


def _state_of_dependency(folder: JobFolder, after: Dependency) -> Awaited:
    try:
        found = find_job(folder.path.parent, after.name, after.created_at)
    except OSError as error:
        why = reason("an awaited job cannot be read", job=after.name, error=error.strerror or error)
        return Awaited(fulfilment="unfulfilled", why=why)
    if found is None:
        why = reason("an awaited job was removed", job=after.name, until=after.until)
        return Awaited(fulfilment="fulfilled" if after.until == "ended" else "failed", why=why)
    place, other = found
    end = other.ended
    if end is None:
        cancelled = f"; {after.name} was cancelled" if other.cancelled is not None else ""
        why = reason("an awaited job goes on", job=after.name, until=after.until, cancelled=cancelled)
        return Awaited(fulfilment="unfulfilled", why=why, folder=place)
    if after.until == "ended" or end.state == "SUCCEEDED":
        return Awaited(fulfilment="fulfilled", folder=place)
    code = f" (exit code {end.exit_code})" if end.exit_code else ""
    why = reason("an awaited job failed", job=after.name, until=after.until, state=end.state, code=code)
    return Awaited(fulfilment="failed", why=why, folder=place)


def find_job(jobs: Path, name: str, created_at: int) -> tuple[JobFolder, History] | None:
    """Return the job that was created under a name; None if it was removed.

    Version 0.2.0 renamed the folder to `name.1` when the name was used again.
    """
    for place in _candidates(jobs, name):
        with suppress(FileNotFoundError, NotADirectoryError):
            known = place.history()
            if known.created == created_at:
                return place, known
    return None


def _candidates(jobs: Path, name: str) -> Iterator[JobFolder]:
    yield JobFolder(path=jobs / name)
    for other in sorted(os.listdir(jobs)):  # noqa: PTH208 - few of thousands of names match
        if other.startswith(f"{name}.") and other.rpartition(".")[2].isdecimal():
            yield JobFolder(path=jobs / other)
