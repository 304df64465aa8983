"""Submit a job: compile it, give it a folder of its own, hand it to the backend; all of it or nothing."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.backends.registry import is_elsewhere
from paislurm.backends.runner import LocalRunner

from ...errors import BackendError, Diagnostic, InterruptedWaitError, PlanError, RejectedError, UnreachableError
from ...lazy import dataclass
from ...monitor.attempt import NEVER_SENT, new_intent, submit_attempt
from ...planning.plan_text import plan_dict
from ...state.history import history
from ...state.publish import stage, write_files
from ...state.records import Created, JobRole, dump
from ..context import backend, clock, store, user_name
from ..input.job_input import compile_source
from ..output.console import log
from .at_host import at_host
from .back_off import LIMIT_REACHED, with_back_off
from .background import leave_monitor
from .choose_backend import choose_backend
from .detected_site import detect_site
from .masking import kept_text
from .monitor_call import MONITOR_CALL, monitor_call, say_who_looks_after
from .refusal_location import locate_refusal
from .replace_job import finished_in, put_in_place, undo
from .retry_policy import retry_policy
from .room import check_room
from .site_values import site_now, site_values
from .slurm_version import installed_version

if TYPE_CHECKING:
    from ...monitor.poll import View
    from ...pipeline import Compiled
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ..input.job_input import Source


SUBMIT_DIR = "submit-dir"
"""The file in which the script of any attempt finds where `submit` was called."""


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """Say what was submitted; `job_id` is None for a dry run."""

    folder: JobFolder
    job: str
    user: str
    backend: str
    job_id: str | None
    compiled: Compiled

    def as_dict(self) -> dict[str, object]:
        """Return the record for `--json`."""
        return {
            "job": self.job,
            "user": self.user,
            "name": f"{self.user}~{self.job}",
            "backend": self.backend,
            "job_id": self.job_id,
            "attempt": 0,
            "folder": str(self.folder.path),
            "script_file": str(self.folder.script(0)),
            "task_count": self.compiled.job.task_count,
            "monitor": self.compiled.site.monitor.way,
            "dry_run": self.job_id is None,
            "diagnostics": [diagnostic.as_dict() for diagnostic in self.compiled.warnings],
        }


def submit(source: Source, *, dry_run: bool) -> Submitted:
    """Submit a job file. A backend that refuses leaves everything as it was."""
    source, site = at_host(source)
    source = replace(source, backend=choose_backend(source.backend))
    detected = detect_site(source, keep=not dry_run)
    try:
        text, compiled = compile_source(source, installed_version, detected or site)
    except PlanError:
        # What Slurm said some hours ago may not be so any more: accounts and reservations come and go.
        anew = None if detected else detect_site(source, keep=not dry_run, again=True)
        if anew is None:
            raise
        text, compiled = compile_source(source, installed_version, anew)
    folder = store().folder(user_name(), compiled.job.name)
    found = [finished_in(folder)]
    check_room(store().home, compiled, LocalRunner())
    job_id = None

    def attempt() -> str:
        return _submit(folder, found.pop() if found else finished_in(folder), text, compiled, source)

    if not dry_run:
        try:
            job_id = with_back_off(attempt, compiled.site.retry.submit_wait, folder.name)
        finally:
            # Also where it is not known whether the job was taken: the monitor finds out.
            leave_monitor(compiled.site, elsewhere=is_elsewhere(source.backend))
        if not is_elsewhere(source.backend):
            say_who_looks_after(compiled.site)
    return Submitted(
        folder=folder,
        job=compiled.job.name,
        user=user_name(),
        backend=source.backend,
        job_id=job_id,
        compiled=compiled,
    )


def _submit(folder: JobFolder, finished: View | None, text: bytes, compiled: Compiled, source: Source) -> str:
    """Make the folder, move a finished job's away, submit; undo it all if the backend refuses."""
    files, known = _files(folder, text, compiled, source)
    old = put_in_place(stage(store(), files), folder, finished)
    try:
        # Only now: of a folder that has its name the monitor knows, so that they go even if this process is killed.
        secrets = compiled.secrets.items()
        write_files(folder.path, {f"{folder.secrets.name}/{name}": secret.encode() for name, secret in secrets})
    except BaseException:
        undo(folder, old)
        raise
    try:
        job_id, unwritten = submit_attempt(folder, known, backend(source.backend), clock)
    except BackendError as error:
        if isinstance(error, RejectedError) or error.diagnostics[0].code in NEVER_SENT:
            undo(folder, old)
            raise (_located(error, compiled, source) if isinstance(error, RejectedError) else error) from None
        raise _unsure(error, folder, known) from None
    except KeyboardInterrupt:
        raise _unsure_by_user(folder, known) from None
    except Exception:
        undo(folder, old)
        raise
    if unwritten is not None:
        log(f"warning: {folder.journal} cannot be written ({unwritten}); the job is found again by its tag")
    return job_id


def _located(error: RejectedError, compiled: Compiled, source: Source) -> RejectedError:
    """Return a refusal with its place in the job file, and with what the site has instead.

    Of a refusal that ends by itself, Slurm is not asked more.
    """
    ends_by_itself = error.diagnostics[0].code == LIMIT_REACHED
    site = compiled.site if ends_by_itself else site_now(source.backend, compiled.site)
    return locate_refusal(error, compiled.document, site_values(error.options, site))


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


def _partition(compiled: Compiled) -> str:
    """Return the partitions that the components of a job go to, as far as they, or the site profile, name them."""
    default = compiled.site.default_partition
    asked = (dict(component.directives).get("partition") or default for component in compiled.plan.components)
    return ",".join(dict.fromkeys(filter(None, asked)))


def _files(folder: JobFolder, text: bytes, compiled: Compiled, source: Source) -> tuple[dict[str, bytes], History]:
    """Return the files of a new job folder, the journal with the intent among them."""
    now = clock()
    roles = tuple(JobRole(name=role.name, folder=role.folder, instances=role.instances) for role in compiled.plan.roles)
    records = (
        Created(
            happened_at=now,
            job=compiled.job.name,
            user=user_name(),
            backend=source.backend,
            roles=roles,
            retry_policy=retry_policy(compiled),
            exit_rows=compiled.site.exit_rows,
            notify=compiled.job.notify,
            virtual_cluster=compiled.plan.virtual_cluster,
            partition=_partition(compiled),
        ),
        new_intent(0, now, cluster=compiled.plan.slurm.cluster),
    )
    files = {
        "job.yaml": kept_text(text, compiled.document),
        "plan.json": json.dumps(plan_dict(compiled.plan), indent=2).encode() + b"\n",
        str(folder.script(0).relative_to(folder.path)): compiled.script.encode(errors="surrogateescape"),
        folder.journal.name: b"".join(dump(record) for record in records),
    }
    if is_elsewhere(source.backend):
        return files, history(records)
    if compiled.plan.retry_policy.monitor_after:
        files[MONITOR_CALL] = monitor_call(source.site)
    with suppress(FileNotFoundError):
        files[SUBMIT_DIR] = os.fsencode(Path.cwd())
    return files, history(records)
