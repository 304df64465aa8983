"""What a job's folder tells of its last attempt: who runs it, and how it ended. The backend is asked for the rest."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paislurm.backends.base import JobId, Observation
from paislurm.backends.slurm.states import Phase, phase

from ...state.result import read_result
from ...state.safe_read import CorruptDataError, is_job_number, read_end

if TYPE_CHECKING:
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFiles:
    """Hold the result of an attempt, if it left one, and in words why that cannot be read."""

    result: Result | None = None
    read_errors: tuple[str, ...] = ()


def read_files(folder: JobFolder, known: History, *, late: bool) -> JobFiles:
    """Read the result of a living job's last attempt; with `late` it may have come a moment ago."""
    if known.ended is not None or known.retry is not None:
        return JobFiles()
    path = folder.result(known.attempt)
    if late:
        # Listing the folder makes a network file system look again for a file that was missing a moment ago.
        with suppress(OSError):
            list(path.parent.iterdir())
    try:
        return JobFiles(result=read_result(path))
    except (OSError, CorruptDataError) as error:
        return JobFiles(read_errors=(f"{path.name} cannot be read: {error}",))


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
