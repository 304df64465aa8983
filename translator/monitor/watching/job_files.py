"""What a job's folder tells of its last attempt: who runs it, and how it ended. The backend is asked for the rest."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.base import JobId, Observation
from paislurm.backends.slurm.states import Phase, phase

from ...state.history import apply
from ...state.result import read_result
from ...state.safe_read import CorruptDataError, is_job_number, read_end
from ..attempt import is_unsettled, submitted
from ..job_status import SLURM_KNOWS_MORE, tells_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.records import Record
    from ...state.result import Result
    from ..poll import View

BEGINS_IN = 60
"""Seconds after its submission within which a job that finds room has begun, or failed to."""


class JobFiles(Struct, frozen=True, kw_only=True):
    """Hold what a job's folder tells: its history with the `news` that a claim is, and the result of its last attempt.

    `read_errors` are what cannot be read, in words.
    """

    folder: JobFolder
    known: History
    result: Result | None = None
    news: tuple[Record, ...] = ()
    read_errors: tuple[str, ...] = ()


def read_files(folder: JobFolder, known: History, *, late: bool, read_errors: tuple[str, ...] = ()) -> JobFiles:
    """Read what there is of a job; with `late` its result may have come a moment ago."""
    news: tuple[Record, ...] = ()
    if is_unsettled(known) and (owner := claimed_by(folder, known.attempt)) is not None:
        news = (submitted(known, owner, known.asked),)
        known = apply(known, news)
    result = None
    if known.ended is None and known.retry is None:
        result, more = result_of(folder, known.attempt, late=late)
        read_errors += more
    return JobFiles(folder=folder, known=known, result=result, news=news, read_errors=read_errors)


def result_of(folder: JobFolder, attempt: int, *, late: bool) -> tuple[Result | None, tuple[str, ...]]:
    """Return the result of an attempt, None where there is none, and in words why one cannot be read."""
    path = folder.result(attempt)
    if late:
        # Listing the folder makes a network file system look again for a file that was missing a moment ago.
        with suppress(OSError):
            list(path.parent.iterdir())
    try:
        return read_result(path), ()
    except (OSError, CorruptDataError) as error:
        return None, (f"{path.name} cannot be read: {error}",)


def questions(jobs: Iterable[JobFiles]) -> dict[str, tuple[set[JobId], set[str]]]:
    """Return for each backend what files do not tell: ids to ask for, and the tags of jobs whose ids are not known."""
    wanted: dict[str, tuple[set[JobId], set[str]]] = {}
    for job in jobs:
        known = job.known
        if is_unsettled(known):
            wanted.setdefault(known.backend, (set(), set()))[1].add(known.tag)
        elif known.job_id and known.ended is None and known.retry is None and not tells_all(job.result):
            wanted.setdefault(known.backend, (set(), set()))[0].add(JobId(known.job_id))
    return wanted


def needs_answer(view: View) -> bool:
    """Tell whether something has happened to a job of which only the backend can say more, and will soon.

    It was to be cancelled; its script was told to end, or lost a node; nobody knows whether it was taken; or the queue
    has it no more, its accounts are not there yet, and it has left no result.
    """
    known, result, seen = view.history, view.result, view.observation
    if known.ended is not None or known.retry is not None:
        return False
    if known.cancelled is not None or is_unsettled(known):
        return True
    if result is not None:
        return result.outcome == "interrupted" or result.exit_code in SLURM_KNOWS_MORE
    if seen is None:
        return bool(known.job_id and view.heard)
    return phase(seen.state) is Phase.ENDED and not seen.final


def may_fail_to_begin(view: View, now: int) -> bool:
    """Tell whether a job was submitted a moment ago and has not begun.

    Nobody says so if its nodes cannot begin it.
    """
    known = view.history
    if not known.job_id or known.ended is not None or known.retry is not None or view.result is not None:
        return False
    return now - (known.submitted or 0) < BEGINS_IN and not view.folder.claim(known.attempt).exists()


def claimed_by(folder: JobFolder, attempt: int) -> JobId | None:
    """Return the job that runs an attempt, as the batch script wrote when it began; None where none has begun."""
    try:
        claim, _ = read_end(folder.claim(attempt), 64)
    except OSError:
        return None
    owner = claim.split()[0].decode("ascii", errors="replace") if claim.strip() else ""
    return JobId(owner) if is_job_number(owner) else None


def begun(folder: JobFolder, known: History, seen: Observation | None, time: float) -> Observation | None:
    """Return what to believe of a job that the backend said at `time` it waits, or said nothing of.

    A claim that is newer says that the job runs since. An older one says nothing of a job that was put back to wait.
    """
    if (seen is not None and phase(seen.state) is not Phase.PENDING) or not known.job_id:
        return seen
    try:
        started = folder.claim(known.attempt).stat().st_mtime
    except OSError:
        return seen
    if started <= time or claimed_by(folder, known.attempt) != known.job_id:
        return seen
    return Observation(
        job_id=JobId(known.job_id), state="RUNNING", raw_state="RUNNING", final=False, started=int(started)
    )
