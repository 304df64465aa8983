"""Submit a job: compile it, create its folder, pass it to the backend. On an error, undo everything."""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.base import JobId
from paislurm.backends.registry import is_remote
from paislurm.backends.runner import scrubbed

from ...errors import BackendError, Diagnostic, FolderError, InterruptedWaitError, RejectedError, UnreachableError
from ...files.names import ATTEMPTS, ENVIRONMENT, JOB_FILE, JOURNAL, MORE_MEMORY, PLAN, SCRIPT, SECRETS
from ...monitor.after import before_first
from ...monitor.attempt import cancel_as_asked, new_intent, submit_attempt
from ...planning.growth import growth_of
from ...state.address import stage, write_files
from ...state.history import history
from ...state.journal_records import Created, JobRole, dump
from ...state.submit_environment import UMASK, as_bytes, current_umask, is_kept
from ...terminal_text import one_line
from ..input.secret_files import hidden_texts, kept_text
from ..jobs.refresh import ledger
from ..json_documents import plain
from .background import MONITOR_CALL, leave_monitor, monitor_call, say_monitor
from .new_folder import check_in_time, place_for, put_in_place, undo
from .prepare import prepare, retry_policy
from .recording import current_folder, run_record
from .refusal_location import located, partitions_of, with_back_off
from .submission import Submitted

if TYPE_CHECKING:
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.journal_records import Dependency, Record
    from ..input.source import Source
    from ..session import Session
    from .new_folder import Place
    from .prepare import Prepared


SUBMIT_DIR = "submit-dir"
"""The file with the submit folder, for the script of each attempt."""


def submit(session: Session, source: Source, *, dry_run: bool, after: tuple[Dependency, ...] = ()) -> Submitted:
    """Submit a job file to start `after` other jobs. If the backend rejects it, everything is undone."""
    (prepared,) = prepare(session, [source], keep=not dry_run, after=after)
    place = place_for(session, prepared.name)
    if dry_run:
        return described(session, prepared, place.folder)
    try:
        submitted = take(session, prepared, place)
    finally:
        leave_behind(session, prepared)
    say_next(session, prepared)
    return submitted


def described(
    session: Session, prepared: Prepared, folder: JobFolder, job_id: str | None = None, why: str = ""
) -> Submitted:
    """Return the result of a submission."""
    return Submitted(
        folder=folder,
        job=prepared.compiled.job.name,
        user=session.user,
        backend=prepared.source.backend,
        job_id=job_id,
        compiled=prepared.compiled,
        after=prepared.after,
        why=why,
    )


def take(session: Session, prepared: Prepared, place: Place, *, patience: int | None = None) -> Submitted:
    """Submit a prepared job, and return the result. A repeated attempt searches the place again.

    At a limit on submitted jobs, attempts are repeated for `patience` seconds, by default as the site has it.
    """
    found = [place]

    def attempt() -> Submitted:
        return _submit(session, prepared, found.pop() if found else place_for(session, prepared.name))

    patience = prepared.compiled.site.retry.submit_wait if patience is None else patience
    return with_back_off(session, attempt, patience, place.folder.name)


def leave_behind(session: Session, prepared: Prepared) -> None:
    """Start a monitor, even if it is unknown whether the submission succeeded: the monitor finds out."""
    leave_monitor(session, prepared.compiled.site, remote=is_remote(prepared.source.backend))


def say_next(session: Session, prepared: Prepared) -> None:
    """Send a message about monitoring of a submitted job without a monitor, and about a job that waits."""
    site = prepared.compiled.site
    if not is_remote(prepared.source.backend):
        say_monitor(session, site)
    if prepared.after and site.monitor.at_end:
        session.say(
            "`paislurm monitor --once`, or a command that shows the job, submits it after the other jobs have ended"
        )


def _submit(session: Session, prepared: Prepared, place: Place) -> Submitted:
    """Create the folder and submit; undo everything if the backend rejects the job."""
    compiled, source = prepared.compiled, prepared.source
    files, known = _files(session, prepared)
    last = {f"{SECRETS}/{name}": secret.encode() for name, secret in compiled.secrets.items()}
    if known.is_held_back and last:
        # A monitor submits no job without a script.
        last[f"{ATTEMPTS}/0/{SCRIPT}"] = files.pop(f"{ATTEMPTS}/0/{SCRIPT}")
    folder = put_in_place(session, stage(session.store, files), place)
    try:
        # Secrets come last: once the folder has its name, the monitor removes them even if this process is killed.
        check_in_time(folder, session.now() - known.created)
        write_files(folder.path, last)
        check_in_time(folder, session.now() - known.created)
    except BaseException:
        undo(folder, session.now() - known.created)
        raise
    if known.is_held_back:
        return described(session, prepared, folder, "", before_first(folder, known, known.created)[0].reason)
    try:
        exclude = known.excluded_nodes(session.now(), ledger(session).read(known))
        record, unwritten = submit_attempt(folder, known, session.backend(source.backend), session.now, exclude=exclude)
    except BackendError as error:
        if error.is_refusal:
            undo(folder, session.now() - known.created)
            raise (located(session, error, compiled, source) if isinstance(error, RejectedError) else error) from None
        raise _unsure(error, folder, known) from None
    except KeyboardInterrupt:
        raise _unsure_by_user(folder, known) from None
    except Exception:
        # The backend may have the job.
        undo(folder, math.inf)
        raise
    job_id = JobId(record.job_id)
    _say_avoided(session, folder.name, exclude, record.avoided_nodes)
    if record.backend_notes:
        session.say(f"note from sbatch: {one_line(record.backend_notes)}")
    if unwritten is not None and not folder.is_here():
        with suppress(BackendError):
            session.backend(source.backend).cancel(job_id)
        raise _too_late(folder, job_id)
    # If this fails, a monitor tries again.
    with suppress(BackendError, OSError):
        _after_submit(session, folder, job_id)
    if unwritten is not None:
        raise _unrecorded(folder, known, job_id, unwritten)
    return described(session, prepared, folder, job_id)


def _say_avoided(session: Session, job: str, wanted: tuple[str, ...], avoided: tuple[str, ...]) -> None:
    """Report which bad nodes a submitted job avoids, and which it does not."""
    if avoided:
        session.say(f"{job} avoids bad nodes: {', '.join(avoided)}")
    left = ", ".join(node for node in wanted if node not in avoided)
    if left:
        session.say(f"warning: {job} does not avoid {left}: Slurm refuses that; see `paislurm nodes`")


def _after_submit(session: Session, folder: JobFolder, job_id: JobId) -> None:
    """Cancel a job that another process cancelled, or gave up because this process stalled before its submit."""
    known = replace(folder.history(), job_id=job_id)
    backend = session.backend(known.backend)
    if known.ended is None:
        cancel_as_asked(folder, known, backend, session.now())
    elif known.ended.started_at is None:
        folder.forget_secrets()
        session.say(f"warning: {folder.name} has already ended ({known.ended.reason}); job {job_id} runs nothing")
        backend.cancel(job_id)


def _too_late(folder: JobFolder, job_id: JobId) -> FolderError:
    """Return the error for a process that stalled so long before its submit that its job was given up and removed."""
    message = f"another process has removed {folder.name} while this submit stalled; job {job_id} runs nothing"
    return FolderError(Diagnostic(code="E512", message=message, hint="see `paislurm list`"))


def _unrecorded(folder: JobFolder, known: History, job_id: JobId, error: OSError) -> FolderError:
    """Return the error for an accepted job that the journal lacks: it cannot be found once the backend forgets it."""
    message = f"cannot write {folder.journal}: {error.strerror or error}; {known.backend_label} accepted job {job_id}"
    hint = f"free space there, then run `paislurm status {known.job}`, which finds the job by its tag {known.tag}"
    return FolderError(Diagnostic(code="E510", message=message, hint=hint))


def _unsure(error: BackendError, folder: JobFolder, known: History) -> UnreachableError:
    """Return the error for a backend without an answer: the submission may have succeeded."""
    diagnostic = Diagnostic(
        code="E502",
        message=error.diagnostics[0].message,
        hint=f"run `paislurm status {known.job}` when {known.backend_label} answers; "
        f"its tag is {known.tag}, its folder {folder.path}",
    )
    return UnreachableError(diagnostic, argv=error.argv, status=error.status, stderr=error.stderr)


def _unsure_by_user(folder: JobFolder, known: History) -> InterruptedWaitError:
    message = f"interrupted during the submission of {folder.name}: it is unknown whether it was submitted"
    hint = f"check with `paislurm status {known.job}`, or cancel it with `paislurm cancel {known.job}`"
    return InterruptedWaitError(Diagnostic(code="E531", message=message, hint=hint))


def _files(session: Session, prepared: Prepared) -> tuple[dict[str, bytes], History]:
    """Return the files of a new job folder; the journal contains the intent unless the job waits here."""
    compiled, source, now = prepared.compiled, prepared.source, session.now()
    policy = retry_policy(compiled)
    intent = new_intent(0, now, cluster=compiled.plan.slurm.cluster or "")
    kept = kept_text(prepared.text, compiled.document)
    roles = tuple(JobRole(name=role.name, folder=role.folder, instances=role.instances) for role in compiled.plan.roles)
    created = Created(
        happened_at=now,
        job=compiled.job.name,
        user=session.user,
        backend=source.backend,
        roles=roles,
        retry_policy=policy,
        exit_rows=compiled.site.exit_rows,
        notify=compiled.job.notify,
        virtual_cluster=compiled.plan.virtual_cluster or "",
        partition=",".join(partitions_of(compiled)),
        backfill_interval=compiled.site.scheduler.backfill_interval,
        run=run_record(session, source, prepared.text, kept, compiled, hidden_texts(compiled.document)),
        group=prepared.group,
        sweep=prepared.sweep,
        dependencies=prepared.after,
        pace=prepared.pace,
        first_tag=intent.tag if prepared.after or prepared.pace else "",
    )
    records: tuple[Record, ...] = (created,) if created.first_tag else (created, intent)
    files = {
        JOB_FILE: kept,
        PLAN: json.dumps(plain(compiled.plan), indent=2).encode() + b"\n",
        f"{ATTEMPTS}/0/{SCRIPT}": compiled.script.encode(errors="surrogateescape"),
        JOURNAL: b"".join(dump(record) for record in records),
    }
    for step, plan in enumerate(growth_of(compiled.job, compiled.site, compiled.plan).plans, 1):
        files[f"{MORE_MEMORY}/{step}.sbatch"] = replace(compiled, plan=plan).script.encode(errors="surrogateescape")
    if is_remote(source.backend):
        return files, history(records)
    if compiled.plan.retry_policy.monitor_after:
        files[MONITOR_CALL] = monitor_call(session, source.site)
    if is_kept(policy, created.first_tag):
        files[ENVIRONMENT] = as_bytes(scrubbed(session.environment))
    if submit_folder := source.submit_folder or current_folder():
        files[SUBMIT_DIR] = os.fsencode(submit_folder)
    files[UMASK] = f"{current_umask():04o}\n".encode()
    return files, history(records)
