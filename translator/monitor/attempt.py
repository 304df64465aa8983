"""Submit an attempt without loss: the intent is recorded before the submit."""

from __future__ import annotations

import errno
from contextlib import suppress
from os import urandom
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.base import JobId, Submission
from paislurm.backends.slurm.commands import cluster_of_tag
from paislurm.backends.slurm.refusal_table import LIMIT_REACHED

from ..errors import RejectedError, ThrottledError, UnreachableError
from ..exit_codes.codes import NEVER_TAKEN, STOPPED
from ..files.private import make_private, sync_folder, write_durably
from ..files.reading import read_end
from ..state.history import apply
from ..state.journal_records import Intent, Refused, Submitted
from ..view.reasons import reason
from .transition import abandoned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paislurm.backends.base import Accepted, Backend

    from ..errors import BackendError
    from ..state.history import History
    from ..state.job_folder import JobFolder
    from ..state.journal_records import Record
    from .polling.shared_results import PollResult

FIRST_UNREACHED, MAX_UNREACHED = 5, 60
"""Seconds before a backend that is unreachable or full is tried again; they double each time."""
SETTLED_SECONDS = 180
"""After this time, an attempt that the backend does not know was never accepted: sbatch gives up after 120 s."""
MAX_SCRIPT = 64 << 20


def new_intent(attempt: int, now: int, *, before: str = "", cluster: str = "") -> Intent:
    """Return an intent; `before` is the tag of an earlier attempt, `cluster` the cluster of a first one.

    The tag consists of a random name for the job and the attempt's number. So two monitors that submit the same
    attempt use the same tag. A tag contains the cluster, which the search by tag needs.
    """
    job = before.partition(".")[0] or f"paislurm-{urandom(8).hex()}{f'@{cluster}' if cluster else ''}"
    return Intent(happened_at=now, attempt=attempt, tag=f"{job}.{attempt}" if attempt else job)


def prepare(folder: JobFolder, attempt: int, options: Mapping[str, str], memory_step: int = 0) -> None:
    """Make an attempt's folder with a copy of the first script, or of one with more memory. Raises OSError.

    `options` are sbatch options that the user or a retry changed; they replace the script's.
    """
    first = folder.script_with_memory(memory_step) if memory_step else folder.script(0)
    path = folder.attempt(attempt)
    make_private(path)
    script = folder.script(attempt)
    exists = script.exists()
    if exists and not options:
        return
    data, whole = read_end(first, MAX_SCRIPT)
    if not whole:
        raise OSError(errno.EFBIG, "too large for a script", str(first))
    write_durably(script, _with_options(data, options) if options else data)
    if not exists:
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
    environment: Mapping[str, str] | None = None,
) -> tuple[Submitted, OSError | None]:
    """Submit the attempt whose intent is in the journal. Raises BackendError if the backend does not accept it.

    Avoid the nodes in `exclude`, unless the backend refuses that. Start after at least `delay` seconds, with the
    environment, or that of this process. Return the record of the attempt, and the error if it could not be written;
    the job then runs anyway and is found by its tag.
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
        environment=environment,
        held=known.holds_next,
    )
    accepted, avoided = _submit(backend, submission)
    now = known.asked
    with suppress(OSError):
        # The file server's time is that of the lock, which another process may have taken meanwhile.
        now = clock()
    record = replace(submitted(known, accepted.job_id, now), avoided_nodes=avoided, backend_notes=accepted.notes)
    try:
        folder.append(record)
    except OSError as error:
        return record, error
    return record, None


def _submit(backend: Backend, submission: Submission) -> tuple[Accepted, tuple[str, ...]]:
    """Submit a script, and return the answer and the nodes that it avoids.

    If the backend refuses them, leave out the nodes that it does not know; if it knows all, avoid none.
    """
    wanted = submission.exclude
    try:
        return backend.submit(submission), wanted
    except RejectedError:
        if not wanted:
            raise
    known = backend.known_nodes(wanted, cluster_of_tag(submission.tag))
    exclude = tuple(node for node in wanted if node in known)
    return _submit(backend, replace(submission, exclude=() if exclude == wanted else exclude))


def cancel_as_asked(
    folder: JobFolder, known: History, backend: Backend, now: int, *, name: str = "", again: bool = False
) -> History:
    """Cancel an attempt of a job that its user cancelled before the attempt had an id, or any `again`.

    `name` is the name that the backend shows. Return the new history. Raises BackendError, and OSError if the journal
    cannot be written.
    """
    wanted = known.cancelled
    if wanted is None or not known.job_id or (wanted.job_id == known.job_id and not again):
        return known
    job_id = JobId(known.job_id)
    backend.cancel(job_id, names={job_id: name})
    done = replace(wanted, happened_at=now, attempt=known.attempt, job_id=known.job_id)
    folder.append(done)
    return apply(known, [done])


def submitted(known: History, job_id: JobId, now: int) -> Submitted:
    """Return the record of an accepted attempt."""
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
    """Return whether an attempt has only an intent: a search by its tag shows whether the backend accepted it."""
    return bool(known.tag) and not known.job_id and known.ended is None and known.refused is None


def refusal(error: BackendError, attempt: int, now: int, *last: Refused | None) -> Refused:
    """Return the record of a refused attempt; `last` are earlier refusals of the attempt or the backend.

    A throttling backend gets the same pause as one that refuses.
    """
    is_full = error.diagnostics[0].code == LIMIT_REACHED
    reached, delay = not is_full and not isinstance(error, UnreachableError), SETTLED_SECONDS
    if not reached and not isinstance(error, ThrottledError):
        waited = max((each.retry_at - each.happened_at for each in last if each and not each.reached), default=0)
        delay = min(MAX_UNREACHED, 2 * waited) or FIRST_UNREACHED
    return Refused(happened_at=now, attempt=attempt, reason=error.words, retry_at=now + delay, reached=reached)


def again_at(known: History, refused: Refused) -> int:
    """Return when a refused attempt is submitted again: at once if the user has changed it since."""
    changed = bool(known.changes) and known.changes[-1].happened_at >= refused.happened_at
    return refused.happened_at if changed else refused.retry_at or refused.happened_at + SETTLED_SECONDS


def recover(known: History, answer: PollResult, now: int) -> tuple[History, tuple[Record, ...], str]:
    """Determine the fate of an attempt with only an intent. Return the history, new records, and any error.

    A first attempt that was never accepted ends the job: its submit has reported so. Later attempts, and the first
    of a job that waited for others, are submitted again.
    """
    if not is_unsettled(known) or known.tag not in answer.found:
        return known, (), answer.tag_error if is_unsettled(known) else ""
    job_id = answer.found[known.tag]
    if job_id is None and known.cancelled is not None and known.cancelled.attempt == known.attempt:
        # A cancel found it, and Slurm has forgotten it since.
        job_id = JobId(known.cancelled.job_id) if known.cancelled.job_id else None
    if job_id is not None:
        record = submitted(known, job_id, known.asked)
        return replace(known, job_id=job_id, submitted=record.happened_at), (record,), ""
    if not is_settled(known, min(now, int(answer.time))):
        return known, (), ""
    if known.cancelled is not None:
        why = reason("cancelled, and never submitted", user=known.cancelled.user, label=known.backend_label)
        end = abandoned(known, now, STOPPED, why)
    elif known.attempt == 0 and not known.first_tag:
        end = abandoned(known, now, NEVER_TAKEN, reason("never accepted", label=known.backend_label))
    else:
        return known, (), ""
    return replace(known, ended=end), (end,), ""


def is_settled(known: History, polled_at: int) -> bool:
    """Return whether an attempt that the backend did not know at `polled_at` was never accepted."""
    return is_unsettled(known) and polled_at - known.asked > SETTLED_SECONDS
