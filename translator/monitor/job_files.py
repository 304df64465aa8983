"""Watch the files of jobs for changes, by inotify or by polling."""

from __future__ import annotations

import os
import resource
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from paislurm.backends.base import JobId, Observation
from paislurm.backends.slurm.identity import is_attempt
from paislurm.backends.slurm.states import FORGOTTEN, REUSED, Phase, phase

from ..files.names import CLAIM, RESULT
from ..files.reading import read_end
from ..state.history import apply
from ..state.parsed import CorruptDataError, is_job_number
from ..state.result import read_result
from ..state.task_reports import read_reports
from .attempt import is_unsettled, submitted
from .job_status import NEEDS_BACKEND, tells_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.records import Record
    from ..state.result import Result
    from ..state.task_reports import Report
    from .poll import View

SIGNS = (CLAIM, RESULT)
"""The names in an attempt's folder that show its start and its end."""
Stamp: TypeAlias = "tuple[int, int, int] | None"


class FolderWatch:
    """Watch files or folders by name: `keep` selects them, `changed` returns those that changed."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._stamps: dict[str, Stamp] = {}
        self._unsure: set[str] = set()

    def keep(self, paths: Iterable[tuple[str, Path]]) -> None:
        """Watch only these paths. New names, and names with a new path, count as changed."""
        before, self._paths = self._paths, {name: str(path) for name, path in paths}
        same = {name for name, path in self._paths.items() if before.get(name) == path}
        self._stamps = {name: self._stamps[name] if name in same else None for name in self._paths}
        self._unsure = (self._unsure & same) | (self._paths.keys() - same)

    def changed(self) -> set[str]:
        """Return the names that have changed since the last call.

        Each name is returned again by the next call: two changes within one clock tick show only once in the
        folder's time. A folder that hides a sign is returned until the sign can be opened. Check this before reading
        its files.
        """
        changed: set[str] = set()
        stamps = self._stamps
        for name, path in self._paths.items():
            try:
                status = os.stat(path)  # noqa: PTH116 - pathlib doubles the cost, each second for each job
                stamp = (status.st_mtime_ns, status.st_ino, status.st_nlink)
            except OSError:
                stamp = None
            if stamps[name] != stamp:
                stamps[name] = stamp
                changed.add(name)
        found = changed | self._unsure
        self._unsure = changed | {name for name in found if hides(self._paths[name])}
        return found


def hides(folder: str) -> bool:
    """Return whether a folder lists a sign that cannot be opened yet; False if it cannot be listed."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - only names are needed
    except OSError:
        return False
    return any(name in SIGNS and not os.path.lexists(f"{folder}/{name}") for name in names)


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


def outlive_warning() -> None:
    """Survive SIGXCPU, which arrives at the soft limit and would terminate the process.

    Use a handler: child processes would inherit an ignored signal.
    """
    signal.signal(signal.SIGXCPU, lambda _, __: None)


BEGINS_IN = 60
"""Seconds after its submit within which a job with free nodes has started or failed to."""


class JobFiles(Struct, frozen=True, kw_only=True):
    """Hold a job's history, with the claim's record in `news`, and the result of its last attempt.

    `read_errors` describe unreadable files.
    """

    folder: JobFolder
    known: History
    result: Result | None = None
    news: tuple[Record, ...] = ()
    read_errors: tuple[str, ...] = ()


def read_files(folder: JobFolder, known: History, *, late: bool, read_errors: tuple[str, ...] = ()) -> JobFiles:
    """Read a job's files. Set `late` if the result may be a moment old."""
    news: tuple[Record, ...] = ()
    if is_unsettled(known) and (owner := claim_of(folder, known.attempt).owner):
        news = (submitted(known, owner, known.asked),)
        known = apply(known, news)
    result = None
    if known.ended is None and known.retry is None:
        result, more = result_of(folder, known.attempt, late=late)
        read_errors += more
    return JobFiles(folder=folder, known=known, result=result, news=news, read_errors=read_errors)


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


def questions(jobs: Iterable[JobFiles]) -> dict[str, tuple[set[JobId], set[str]]]:
    """Return the ids to poll for by backend, and the tags of jobs without a known id."""
    wanted: dict[str, tuple[set[JobId], set[str]]] = {}
    for job in jobs:
        known = job.known
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


class Claim(NamedTuple):
    """The claim on an attempt: the job whose batch script wrote it, "" for none, and when, in seconds since 1970."""

    owner: JobId
    time: float


NO_CLAIM = Claim(JobId(""), 0)


def claim_of(folder: JobFolder, attempt: int) -> Claim:
    """Return the claim on an attempt."""
    path = folder.claim(attempt)
    try:
        claim, _ = read_end(path, 64)
        time = path.stat().st_mtime
    except OSError:
        return NO_CLAIM
    owner = claim.split()[0].decode("ascii", errors="replace") if claim.strip() else ""
    return Claim(JobId(owner), time) if is_job_number(owner) else NO_CLAIM


def own(folder: JobFolder, claim: Claim, known: History, seen: Observation | None) -> Observation | None:
    """Return the observation of a job, or that of a forgotten one if Slurm has given its number to another job.

    That one has the time at which the other job was submitted.

    If Slurm shows neither tag nor script, a job of another name is another job, unless the script of ours has begun,
    and the job was submitted before that.
    """
    if seen is None:
        return None
    is_own = is_attempt(seen, known.run_folder(folder.path))
    if is_own or (is_own is None and (seen.name in ("", known.job) or _has_begun_as(claim, known, seen))):
        return seen
    return Observation(job_id=seen.job_id, state=FORGOTTEN, raw_state=REUSED, final=True, submitted=seen.submitted)


def _has_begun_as(claim: Claim, known: History, seen: Observation) -> bool:
    """Return whether the script of an attempt has begun, after the seen job was submitted."""
    return claim.owner == known.job_id and (seen.submitted or 0) <= claim.time


def begun(claim: Claim, known: History, seen: Observation | None, time: float) -> Observation | None:
    """Return the observation of a job that was pending or unknown at the poll's `time`, corrected by its claim.

    A newer claim shows that the job has started since. An older claim says nothing: the job may have been requeued.
    """
    is_pending = bool(known.job_id) and (seen is None or phase(seen.state) is Phase.PENDING)
    if not is_pending or claim.time <= time or claim.owner != known.job_id:
        return seen
    return Observation(job_id=claim.owner, state="RUNNING", raw_state="RUNNING", final=False, started=int(claim.time))
