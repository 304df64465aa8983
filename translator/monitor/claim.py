"""The claim on an attempt, by which one job runs it, and whether a job that Slurm shows is that job."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from paislurm.backends.base import JobId, Observation
from paislurm.backends.registry import is_remote
from paislurm.backends.slurm.identity import is_attempt
from paislurm.backends.slurm.job_states import FORGOTTEN, REUSED, Phase, phase

from ..files.reading import read_end
from ..state.parsed import is_job_number

if TYPE_CHECKING:
    from ..state.history import History
    from ..state.job_folder import JobFolder

DUPLICATE = 5
"""The exit status of a batch script whose attempt another job runs. Source: this project's docs, run folder."""


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


def shown_name(known: History, seen: Observation | None) -> str:
    """Return the name under which Slurm shows a job; without an answer, the name that it was submitted with.

    scancel goes on while the controller is away, which may give the number to another job: without a name, it cancels
    that one. Source: observed on 22.05.
    """
    return seen.name if seen is not None else known.job


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


def is_claimable(claim: Claim, known: History) -> bool:
    """Return whether a monitor here may claim an attempt for no job, if Slurm has lost its job.

    Nodes that share the folder see this claim. Of a job that was submitted from another machine, a Slurm of this one
    may know nothing, because it is another Slurm.
    """
    if is_remote(known.backend) or known.run is None or claim.owner:
        return False
    return known.run.submitted_by.rpartition("@")[2] == os.uname().nodename


def other_runner(claim: Claim, known: History, seen: Observation | None, *, is_lost: bool) -> JobId:
    """Return the job that runs the attempt, if the known job ended as its duplicate, or Slurm has lost it; else ""."""
    is_duplicate = seen is not None and seen.final and seen.status == DUPLICATE
    return claim.owner if (is_duplicate or is_lost) and claim.owner != known.job_id else JobId("")
