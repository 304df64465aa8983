"""Submit a job: compile it, give it a folder of its own, hand it to the backend; all of it or nothing."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.registry import is_elsewhere
from paislurm.backends.runner import scrubbed

from ...errors import BackendError, Diagnostic, InterruptedWaitError, RejectedError, UnreachableError
from ...monitor.attempt import new_intent, submit_attempt
from ...planning.plan_text import plan_dict
from ...state.history import history
from ...state.publish import stage, write_files
from ...state.records import Created, JobRole, dump
from ...state.submit_environment import ENVIRONMENT, as_bytes
from ..runs.recording import current_folder, run_record
from .after import text_of
from .background import MONITOR_CALL, leave_monitor, monitor_call, say_who_looks_after
from .masking import hidden_texts, kept_text
from .prepare import prepare
from .refusal_location import located, with_back_off
from .replace_job import finished_in, put_in_place, undo
from .retry_policy import retry_policy
from .site_values import partitions_of

if TYPE_CHECKING:
    from ...monitor.poll import View
    from ...pipeline import Compiled
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.records import Dependency, Record
    from ..input.source import Source
    from ..session import Session
    from .prepare import Prepared


SUBMIT_DIR = "submit-dir"
"""The file in which the script of any attempt finds where `submit` was called."""


class Submitted(Struct, frozen=True, kw_only=True):
    """Say what was submitted; `job_id` is None for a dry run, and "" for a job that waits for others."""

    folder: JobFolder
    job: str
    user: str
    backend: str
    job_id: str | None
    compiled: Compiled
    after: tuple[Dependency, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return the record for `--json`."""
        return {
            "job": self.job,
            "user": self.user,
            "name": f"{self.user}~{self.job}",
            "backend": self.backend,
            "job_id": self.job_id or None,
            "attempt": 0,
            "folder": str(self.folder.path),
            "script_file": str(self.folder.script(0)),
            "task_count": self.compiled.job.task_count,
            "monitor": self.compiled.site.monitor.way,
            "dry_run": self.job_id is None,
            "dependencies": [{"name": each.name, "until": each.until} for each in self.after],
            "diagnostics": [diagnostic.as_dict() for diagnostic in self.compiled.warnings],
        }


def submit(session: Session, source: Source, *, dry_run: bool, after: tuple[Dependency, ...] = ()) -> Submitted:
    """Submit a job file, which begins `after` other jobs. A backend that refuses leaves everything as it was."""
    (prepared,) = prepare(session, [source], keep=not dry_run, after=after)
    found = [finished_in(session, prepared.folder)]
    if dry_run:
        return described(session, prepared, None)
    try:
        job_id = take(session, prepared, found)
    finally:
        leave_behind(session, prepared)
    say_what_follows(session, prepared)
    return described(session, prepared, job_id)


def described(session: Session, prepared: Prepared, job_id: str | None) -> Submitted:
    """Return what is said of a job that was submitted."""
    return Submitted(
        folder=prepared.folder,
        job=prepared.compiled.job.name,
        user=session.user,
        backend=prepared.source.backend,
        job_id=job_id,
        compiled=prepared.compiled,
        after=prepared.after,
    )


def taken_text(submitted: Submitted) -> str:
    """Return in words what was submitted, or what it waits for."""
    if submitted.after:
        return f"{submitted.folder.name} waits: it is submitted after {text_of(submitted.after)}"
    return f"{submitted.folder.name} is job {submitted.job_id}"


def take(session: Session, prepared: Prepared, found: list[View | None]) -> str:
    """Submit a job that is ready, and return its id, "" for one that waits for others.

    `found` has the finished job whose name it takes; when it is tried again, that is looked up anew.
    """
    folder = prepared.folder

    def attempt() -> str:
        return _submit(session, prepared, found.pop() if found else finished_in(session, folder))

    return with_back_off(session, attempt, prepared.compiled.site.retry.submit_wait, folder.name)


def leave_behind(session: Session, prepared: Prepared) -> None:
    """Leave a monitor behind, also where it is not known whether the job was taken: the monitor finds out."""
    leave_monitor(session, prepared.compiled.site, elsewhere=is_elsewhere(prepared.source.backend))


def say_what_follows(session: Session, prepared: Prepared) -> None:
    """Say what looks after a job that was submitted, where no monitor does, and what submits one that waits."""
    site = prepared.compiled.site
    if not is_elsewhere(prepared.source.backend):
        say_who_looks_after(session, site)
    if prepared.after and site.monitor.at_end:
        session.say(
            "what waits for other jobs is submitted by the next `paislurm monitor --once`, or command that shows it"
        )


def _submit(session: Session, prepared: Prepared, finished: View | None) -> str:
    """Make the folder, move a finished job's away, submit; undo it all if the backend refuses."""
    folder, compiled, source = prepared.folder, prepared.compiled, prepared.source
    files, known = _files(session, prepared)
    old = put_in_place(stage(session.store, files), folder, finished)
    try:
        # Only now: of a folder that has its name the monitor knows, so that they go even if this process is killed.
        secrets = compiled.secrets.items()
        write_files(folder.path, {f"{folder.secrets.name}/{name}": secret.encode() for name, secret in secrets})
    except BaseException:
        undo(folder, old)
        raise
    if known.is_held_back:
        return ""
    try:
        job_id, unwritten = submit_attempt(folder, known, session.backend(source.backend), session.now)
    except BackendError as error:
        if error.is_refusal:
            undo(folder, old)
            raise (located(session, error, compiled, source) if isinstance(error, RejectedError) else error) from None
        raise _unsure(error, folder, known) from None
    except KeyboardInterrupt:
        raise _unsure_by_user(folder, known) from None
    except Exception:
        undo(folder, old)
        raise
    if unwritten is not None:
        session.say(f"warning: {folder.journal} cannot be written ({unwritten}); the job is found again by its tag")
    return job_id


def _unsure(error: BackendError, folder: JobFolder, known: History) -> UnreachableError:
    """Return the error for no answer: the job may have been taken, and its tag will tell."""
    diagnostic = Diagnostic(
        code="E502",
        message=error.diagnostics[0].message,
        hint=f"`paislurm status {known.job}` finds out as soon as {known.backend_label} answers; "
        f"its tag is {known.tag}, its folder {folder.path}",
    )
    return UnreachableError(diagnostic, argv=error.argv, status=error.status, stderr=error.stderr)


def _unsure_by_user(folder: JobFolder, known: History) -> InterruptedWaitError:
    message = f"interrupted while {folder.name} was being submitted: whether it was taken is not known"
    hint = f"`paislurm status {known.job}` finds out, `paislurm cancel {known.job}` ends it"
    return InterruptedWaitError(Diagnostic(code="E531", message=message, hint=hint))


def _files(session: Session, prepared: Prepared) -> tuple[dict[str, bytes], History]:
    """Return the files of a new job folder; its journal has the intent, unless the job waits for others."""
    folder, compiled, source, now = prepared.folder, prepared.compiled, prepared.source, session.now()
    policy = retry_policy(compiled)
    intent = new_intent(0, now, cluster=compiled.plan.slurm.cluster)
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
        virtual_cluster=compiled.plan.virtual_cluster,
        partition=",".join(partitions_of(compiled)),
        backfill_interval=compiled.site.scheduler.backfill_interval,
        run=run_record(session, source, prepared.text, kept, compiled, hidden_texts(compiled.document)),
        group=prepared.group,
        sweep=prepared.sweep,
        dependencies=prepared.after,
        first_tag=intent.tag if prepared.after else "",
    )
    records: tuple[Record, ...] = (created,) if prepared.after else (created, intent)
    files = {
        "job.yaml": kept,
        "plan.json": json.dumps(plan_dict(compiled.plan), indent=2).encode() + b"\n",
        str(folder.script(0).relative_to(folder.path)): compiled.script.encode(errors="surrogateescape"),
        folder.journal.name: b"".join(dump(record) for record in records),
    }
    if is_elsewhere(source.backend):
        return files, history(records)
    if compiled.plan.retry_policy.monitor_after:
        files[MONITOR_CALL] = monitor_call(session, source.site)
    if policy.retry_limit or policy.max_transient_retries or prepared.after:
        files[ENVIRONMENT] = as_bytes(scrubbed(os.environ))
    if submit_folder := source.submit_folder or current_folder():
        files[SUBMIT_DIR] = os.fsencode(submit_folder)
    return files, history(records)
