"""Read the files of jobs, and find what only the backend can tell about them."""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.backends.slurm.job_states import FORGOTTEN, Phase, phase

from ..state.history import apply
from ..state.parsed import CorruptDataError
from ..state.result import read_result
from ..state.task_reports import read_reports
from .attempt import is_unsettled, submitted
from .claim import claim_of
from .job_status import NEEDS_BACKEND, tells_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.result import Result
    from ..state.task_reports import Report
    from .facts import View

PART = 0.75
"""The usable share of the CPU time limit; the rest is for a step with many jobs, which is not interrupted."""


def is_nearly_spent() -> bool:
    """Return whether this process has used most of its CPU time."""
    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    return soft != resource.RLIM_INFINITY and used() >= PART * soft


def used() -> float:
    """Return the CPU seconds of this process, without those of its children."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime


BEGINS_IN = 60
"""Seconds after its submit within which a job with free nodes has started or failed to."""


def read_files(job: View, *, late: bool) -> View:
    """Add the claim's record and the result of a job's last attempt. Set `late` if the result may be a moment old."""
    folder, known = job.folder, job.history
    if is_unsettled(known) and (owner := claim_of(folder, known.attempt).owner):
        news = (submitted(known, owner, known.asked),)
        known = apply(known, news)
        job = replace(job, history=known, news=news)
    if known.ended is not None or known.retry is not None:
        return job
    result, errors = result_of(folder, known.attempt, late=late)
    return replace(job, result=result, read_errors=job.read_errors + errors)


def result_of(folder: JobFolder, attempt: int, *, late: bool) -> tuple[Result | None, tuple[str, ...]]:
    """Return the result of an attempt, None if there is none, and descriptions of read errors."""
    path = folder.result(attempt)
    if late:
        # Listing the folder makes a network file system refresh its cache of missing files.
        with suppress(OSError):
            list(path.parent.iterdir())
    try:
        return read_result(path), ()
    except (OSError, CorruptDataError) as error:
        return None, (f"{path.name} cannot be read: {error}",)


def reports_of(folder: JobFolder, known: History) -> dict[str, Mapping[int, Report]]:
    """Return the task reports of the last attempt, by role folder and task index."""
    found = read_reports(folder.reports(known.attempt))
    return {role.folder: found.get(position, {}) for position, role in enumerate(known.roles)}


def questions(jobs: Iterable[View]) -> dict[str, tuple[set[JobId], set[str]]]:
    """Return the ids to poll for by backend, and the tags of jobs without a known id."""
    wanted: dict[str, tuple[set[JobId], set[str]]] = {}
    for job in jobs:
        known = job.history
        if is_unsettled(known):
            wanted.setdefault(known.backend, (set(), set()))[1].add(known.tag)
        elif known.job_id and known.ended is None and known.retry is None and not tells_all(job.result):
            wanted.setdefault(known.backend, (set(), set()))[0].add(JobId(known.job_id))
    return wanted


def needs_answer(view: View) -> bool:
    """Return whether a job has news that only the backend can complete, and soon will.

    The job was cancelled; its script was interrupted or lost a node; it is unknown whether the backend accepted it;
    or it has left the queue without accounts and without a result.
    """
    known, result, seen = view.history, view.result, view.observation
    if known.ended is not None or known.retry is not None:
        return False
    if known.cancelled is not None or is_unsettled(known):
        return True
    if result is not None:
        return result.outcome == "interrupted" or result.exit_code in NEEDS_BACKEND
    if seen is None:
        return bool(known.job_id and view.polled_at)
    return phase(seen.state) is Phase.ENDED and (not seen.final or seen.state == FORGOTTEN)


def may_fail_to_begin(view: View, now: int) -> bool:
    """Return whether a job was just submitted and has not started.

    If its nodes cannot start it, no file reports this.
    """
    known = view.history
    if not known.job_id or known.ended is not None or known.retry is not None or view.result is not None:
        return False
    return now - (known.submitted or 0) < BEGINS_IN and not view.folder.claim(known.attempt).exists()
