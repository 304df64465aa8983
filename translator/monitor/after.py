"""Jobs that begin after others: how those stand decides whether the first attempt is submitted, waits or never comes.

What is waited for is the end of a job, with all its retries: its journal alone tells that, not a job of Slurm.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ..state.job_folder import JobFolder
from .job_status import JobStatus
from .retry import STOPPED
from .transition import abandoned, held_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..state.history import History
    from ..state.records import Dependency, Record

Fulfilment = Literal["fulfilled", "unfulfilled", "failed"]
"""In the words of squeue. Source: squeue(1), Dependency."""


class Awaited(Struct, frozen=True, kw_only=True):
    """Say how a job stands that another one waits for: `failed` where it ended otherwise than wanted.

    `text` is that in words, and `folder` where it is, None where it was removed.
    """

    dependency: Dependency
    fulfilment: Fulfilment
    text: str
    folder: JobFolder | None = None


def awaited(folder: JobFolder, known: History) -> list[Awaited]:
    """Return the jobs that a job waits for, in the order in which it names them."""
    return [_look(folder, each) for each in known.dependencies]


def may_begin(folder: JobFolder, known: History) -> bool:
    """Tell whether all that a job waits for is as it should be."""
    return all(each.fulfilment == "fulfilled" for each in awaited(folder, known))


def before_first(folder: JobFolder, known: History, now: int) -> tuple[JobStatus, tuple[Record, ...]]:
    """Return how a job stands whose first attempt has not been submitted, and its end where it never will be."""
    found = awaited(folder, known)
    failed = [each.text for each in found if each.fulfilment == "failed"]
    waits = [each.text for each in found if each.fulfilment == "unfulfilled"]
    if known.cancelled is not None:
        reason = f"cancelled by {known.cancelled.user} before it was submitted"
    elif failed:
        reason = f"never submitted: {'; '.join(failed)}"
    else:
        reason = ("; ".join(waits) or "what it waited for has ended; it is submitted next") + held_text(known)
        return JobStatus(state="WAITING", code=None, reason=reason, ended=False), ()
    end = abandoned(known, now, STOPPED, reason)
    return JobStatus(state="STOPPED", code=STOPPED, reason=reason, ended=True), (end,)


def _look(folder: JobFolder, after: Dependency) -> Awaited:
    try:
        found = find_job(folder.path.parent, after.name, after.created_at)
    except OSError as error:
        text = f"after {after.name}, whose journal cannot be read ({error.strerror or error})"
        return Awaited(dependency=after, fulfilment="unfulfilled", text=text)
    must = " has succeeded" if after.until == "succeeded" else " has ended"
    if found is None:
        gone = f"it was to begin after {after.name}{must}, and that job was removed"
        return Awaited(dependency=after, fulfilment="fulfilled" if after.until == "ended" else "failed", text=gone)
    place, other = found
    end = other.ended
    if end is None:
        wanted = f"; {after.name} was cancelled" if other.cancelled is not None else ""
        return Awaited(
            dependency=after, fulfilment="unfulfilled", text=f"after {after.name}{must}{wanted}", folder=place
        )
    if after.until == "ended" or end.state == "SUCCEEDED":
        return Awaited(dependency=after, fulfilment="fulfilled", text=f"{after.name} {end.state}", folder=place)
    code = f" (exit code {end.exit_code})" if end.exit_code else ""
    text = f"it was to begin after {after.name}{must}, and that job {end.state}{code}"
    return Awaited(dependency=after, fulfilment="failed", text=text, folder=place)


def find_job(jobs: Path, name: str, created_at: int) -> tuple[JobFolder, History] | None:
    """Return a job that had the name, under whichever name its folder has by now; None where it was removed.

    One that is moved away while this looks is under its new name, or under the old one again.
    """
    for place in _places(jobs, name):
        with suppress(FileNotFoundError, NotADirectoryError):
            known = place.history()
            if known.created == created_at:
                return place, known
    return None


def _places(jobs: Path, name: str) -> Iterator[JobFolder]:
    yield JobFolder(path=jobs / name)
    for other in sorted(os.listdir(jobs)):  # noqa: PTH208 - of thousands of names few are of use
        if other.startswith(f"{name}.") and other.rpartition(".")[2].isdecimal():
            yield JobFolder(path=jobs / other)
    yield JobFolder(path=jobs / name)
