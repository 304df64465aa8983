"""Hand an attempt to the backend such that nothing is lost: the intent is written down before it is asked."""

from __future__ import annotations

import errno
from os import urandom
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.base import Submission

from ..errors import RejectedError, ThrottledError, UnreachableError
from ..state.publish import sync_folder, write_durably
from ..state.records import Intent, Refused, Submitted
from ..state.safe_read import read_end
from ..state.submit_environment import kept_environment
from .retry import STOPPED
from .transition import abandoned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paislurm.backends.base import Backend, JobId

    from ..errors import BackendError
    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.records import Record
    from .asking.answer import Answer

FIRST_UNREACHED, MAX_UNREACHED = 5, 60
"""Seconds after which a backend that could not be reached is tried again: twice as many each time."""
SETTLED_SECONDS = 180
"""After so long an attempt that the backend does not show was never taken: sbatch gives up after 120 s."""
NEVER_TAKEN = -120
MAX_SCRIPT = 64 << 20


def new_intent(attempt: int, now: int, *, before: str = "", cluster: str = "") -> Intent:
    """Return an intent; `before` is the tag of another attempt of the job, `cluster` where a first one goes.

    The tag names the job by chance and the attempt by number, so that two monitors that are about to submit the same
    attempt do it under the same tag. Of a job of another cluster it names that, where it is looked up.
    """
    job = before.partition(".")[0] or f"paislurm-{urandom(8).hex()}{f'@{cluster}' if cluster else ''}"
    return Intent(happened_at=now, attempt=attempt, tag=f"{job}.{attempt}" if attempt else job)


def prepare(folder: JobFolder, attempt: int, options: Mapping[str, str]) -> None:
    """Give a fresh attempt its folder, with the script of the first; OSError if it cannot be written.

    `options` of sbatch take the place of the script's: those that the user changed.
    """
    path = folder.attempt(attempt)
    path.mkdir(mode=0o700, exist_ok=True)
    script = folder.script(attempt)
    is_there = script.exists()
    if is_there and not options:
        return
    data, whole = read_end(folder.script(0), MAX_SCRIPT)
    if not whole:
        raise OSError(errno.EFBIG, "it is too large for a script", str(folder.script(0)))
    write_durably(script, _with_options(data, options) if options else data)
    if not is_there:
        sync_folder(path.parent)


def _with_options(script: bytes, options: Mapping[str, str]) -> bytes:
    from paislurm.backends.batch_script import with_options

    return with_options(script.decode(errors="surrogateescape"), options).encode(errors="surrogateescape")


def submit_attempt(
    folder: JobFolder,
    known: History,
    backend: Backend,
    clock: Callable[[], int],
    *,
    exclude: tuple[str, ...] = (),
    delay: int = 0,
) -> tuple[JobId, OSError | None]:
    """Submit the attempt whose intent is in the journal; BackendError if the backend did not take it.

    `exclude` are nodes that it had better not run on: if it cannot do without, they are not left out. It is not to
    begin before `delay` seconds have passed. A retry, or a job that waited for others, has the environment in which
    the user submitted it. Returns its id and, where it could not be written down, why: the job runs all the same, its
    tag finds it.
    """
    submission = Submission(
        script=folder.script(known.attempt),
        folder=folder.path,
        job=known.job,
        attempt=known.attempt,
        tag=known.tag,
        log=folder.batch_log(known.attempt),
        exclude=exclude,
        delay=max(0, delay),
        environment=kept_environment(folder.path) if known.attempt or known.dependencies else None,
        held=known.holds_next,
    )
    try:
        job_id = backend.submit(submission)
    except RejectedError:
        if not exclude:
            raise
        job_id = backend.submit(replace(submission, exclude=()))
    try:
        folder.append(submitted(known, job_id, clock()))
    except OSError as error:
        return job_id, error
    return job_id, None


def submitted(known: History, job_id: JobId, now: int) -> Submitted:
    """Return the record of an attempt that the backend took."""
    return Submitted(
        happened_at=now,
        attempt=known.attempt,
        job_id=job_id,
        job=known.job,
        user=known.user,
        backend=known.backend,
        task_count=known.tasks,
        group=known.group,
    )


def is_unsettled(known: History) -> bool:
    """Tell whether only the intent of an attempt is known: its tag tells whether the backend took it."""
    return bool(known.tag) and not known.job_id and known.ended is None and known.refused is None


def refusal(error: BackendError, attempt: int, now: int, *last: Refused | None) -> Refused:
    """Return the record of an attempt that the backend did not take; `last` are earlier ones of it or its backend.

    A backend that is asked too often is left alone for as long as one that says no.
    """
    reached, delay = not isinstance(error, UnreachableError), SETTLED_SECONDS
    if not reached and not isinstance(error, ThrottledError):
        waited = max((each.retry_at - each.happened_at for each in last if each and not each.reached), default=0)
        delay = min(MAX_UNREACHED, 2 * waited) or FIRST_UNREACHED
    return Refused(happened_at=now, attempt=attempt, reason=error.words, retry_at=now + delay, reached=reached)


def again_at(known: History, refused: Refused) -> int:
    """Return from when on an attempt that was refused is submitted again: at once if it was changed meanwhile."""
    changed = bool(known.changes) and known.changes[-1].happened_at >= refused.happened_at
    return refused.happened_at if changed else refused.retry_at or refused.happened_at + SETTLED_SECONDS


def recover(known: History, answer: Answer, now: int) -> tuple[History, tuple[Record, ...], str]:
    """Find out what became of an attempt of which only the intent is known; return news, or why there are none.

    The first attempt that was never taken ends the job: its user has been told so. A later one is submitted again, and
    so is the first of a job that waited for others.
    """
    if not is_unsettled(known) or known.tag not in answer.found:
        return known, (), answer.tag_error if is_unsettled(known) else ""
    job_id = answer.found[known.tag]
    if job_id is not None:
        record = submitted(known, job_id, known.asked)
        return replace(known, job_id=job_id, submitted=record.happened_at), (record,), ""
    if not is_settled(known, min(now, int(answer.time))):
        return known, (), ""
    if known.cancelled is not None:
        end = abandoned(
            known, now, STOPPED, f"cancelled by {known.cancelled.user}; it never reached {known.backend_label}"
        )
    elif known.attempt == 0 and not known.first_tag:
        end = abandoned(known, now, NEVER_TAKEN, f"it never reached {known.backend_label}")
    else:
        return known, (), ""
    return replace(known, ended=end), (end,), ""


def is_settled(known: History, heard: int) -> bool:
    """Tell whether an attempt that the backend did not know at `heard` was never taken."""
    return is_unsettled(known) and heard - known.asked > SETTLED_SECONDS
