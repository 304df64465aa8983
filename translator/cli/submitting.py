"""Submit a job: compile it, give it a folder of its own, hand it to the backend; all of it or nothing."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING

from ..errors import (
    BackendError,
    Fault,
    FolderError,
    InterruptedWaitError,
    PlanError,
    RejectedError,
    UnreachableError,
)
from ..monitoring.attempt import NEVER_SENT, new_intent, submit_attempt
from ..monitoring.history import history
from ..monitoring.records import Created, JobRole, dump
from ..monitoring.staging import discard, place, restore, retire, stage
from ..planning.show import plan_dict
from .background import leave_monitor
from .home import backend, clock, store, user_name
from .masking import kept_text
from .policies import policy_of
from .say import say
from .sources import compile_source
from .steps import look_at
from .tracing import traced

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..monitoring.history import History
    from ..monitoring.look import View
    from ..monitoring.store import JobFolder
    from ..pipeline import Compiled
    from .sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
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
            "script": str(self.folder.script(0)),
            "tasks": self.compiled.job.task_count,
            "dry_run": self.job_id is None,
            "faults": [fault.as_dict() for fault in self.compiled.warnings],
        }


def submit(source: Source, *, allow_partial: bool, dry_run: bool) -> Submitted:
    """Submit a job file. A backend that refuses leaves everything as it was."""
    backend(source.backend)
    text, compiled = compile_source(source)
    _refuse_partial(compiled, allow_partial=allow_partial)
    folder = store().folder(user_name(), compiled.job.name)
    finished = _finished(folder)
    job_id = None
    if not dry_run:
        try:
            job_id = _submit(folder, finished, text, compiled, source.backend)
        finally:
            # Also where it is not known whether the job was taken: the monitor finds out.
            leave_monitor(compiled.site)
    return Submitted(
        folder=folder,
        job=compiled.job.name,
        user=user_name(),
        backend=source.backend,
        job_id=job_id,
        compiled=compiled,
    )


def _refuse_partial(compiled: Compiled, *, allow_partial: bool) -> None:
    """Refuse a job that asks for what this version cannot do; the warnings have been said."""
    later = [fault for fault in compiled.warnings if fault.code.startswith("W9")]
    if not later or allow_partial:
        return
    where = ", ".join(f"{fault.code} at {fault.place or fault.path}" for fault in later)
    message = f"the job asks for what is not yet supported, so it was not submitted: {where}"
    hint = "`--allow-partial` submits it without these, if it can do without"
    raise PlanError(Fault(code="E514", message=message, hint=hint))


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _finished(folder: JobFolder) -> View | None:
    """Return the finished job that has the name, or None; FolderError if one that lives has it."""
    try:
        view = look_at(folder)
    except (FileNotFoundError, NotADirectoryError):
        if not folder.path.exists():
            return None
        message = f"{folder.path} is there and holds no job"
        hint = "move it away, or submit under another name: `--suffix TEXT`"
        raise FolderError(Fault(code="E515", message=message, hint=hint)) from None
    if view.standing.ended:
        return view
    if view.problem:
        hint = f"try again when {view.history.keeper} answers, or submit under another name: `--suffix TEXT`"
        message = f"a job of the name {folder.name} is there, and whether it has ended is not known: {view.problem}"
        raise UnreachableError(Fault(code="E513", message=message, hint=hint))
    known = view.history
    what = f"job {known.job_id}" if known.job_id else f"it may or may not have reached {known.keeper}"
    message = f"{folder.name} has not ended yet: {view.standing.state}, {what}"
    hint = f"`paislurm cancel {known.job}` ends it; `--suffix TEXT` submits under another name"
    raise FolderError(Fault(code="E511", message=message, hint=hint))


def _submit(folder: JobFolder, finished: View | None, text: bytes, compiled: Compiled, backend_name: str) -> str:
    """Make the folder, move a finished job's away, submit; undo it all if the backend refuses."""
    files, known = _files(folder, text, compiled, backend_name)
    old = _put_in_place(stage(store(), files), folder, finished)
    try:
        job_id, unwritten = submit_attempt(folder, known, backend(backend_name), clock)
    except BackendError as error:
        if isinstance(error, RejectedError) or error.faults[0].code in NEVER_SENT:
            _undo(folder, old)
            raise (traced(error, compiled.document) if isinstance(error, RejectedError) else error) from None
        raise _unsure(error, folder, known) from None
    except KeyboardInterrupt:
        raise _unsure_by_user(folder, known) from None
    except Exception:
        _undo(folder, old)
        raise
    if unwritten is not None:
        say(f"warning: {folder.journal} cannot be written ({unwritten}); the job is found again by its tag")
    return job_id


def _put_in_place(staged: Path, folder: JobFolder, finished: View | None) -> JobFolder | None:
    """Give the new folder its name, and return the finished job's, moved away; or undo it and raise."""
    old: JobFolder | None = None
    try:
        if finished is not None:
            old = _retire(finished)
        placed = place(staged, folder)
    except BaseException:
        placed = False
        raise
    finally:
        if not placed:
            discard(staged)
            if old is not None:
                restore(old, folder)
    if not placed:
        raise _taken(folder)
    return old


def _retire(finished: View) -> JobFolder:
    """Move the folder away that was found finished, and only that one."""
    folder = finished.folder
    try:
        with _opened(folder.path) as checked:
            if folder.history().tag != finished.history.tag:
                raise _taken(folder)
            old = retire(folder, checked)
    except FileNotFoundError:
        raise _taken(folder) from None
    if old is None:
        raise _taken(folder)
    return old


def _taken(folder: JobFolder) -> FolderError:
    message = f"another submit of {folder.name} was faster"
    hint = "`paislurm list` shows it; `--suffix TEXT` submits under another name"
    return FolderError(Fault(code="E512", message=message, hint=hint))


def _undo(folder: JobFolder, old: JobFolder | None) -> None:
    """Take the new folder away, first out of its name and then as a whole; put the old one back."""
    gone = folder.path.with_name(f".new-{token_hex(8)}")
    with suppress(OSError):
        folder.path.rename(gone)
        discard(gone)
    if old is not None:
        restore(old, folder)


def _unsure(error: BackendError, folder: JobFolder, known: History) -> UnreachableError:
    """Return the error for no answer: the job may have been taken, and its tag will tell."""
    fault = Fault(
        code="E502",
        message=error.faults[0].message,
        hint=f"`paislurm status {known.job}` finds out as soon as {known.keeper} answers; "
        f"its tag is {known.tag}, its folder {folder.path}",
    )
    return UnreachableError(fault, argv=error.argv, status=error.status, stderr=error.stderr)


def _unsure_by_user(folder: JobFolder, known: History) -> InterruptedWaitError:
    message = f"interrupted while {folder.name} was being submitted: whether it was taken is not known"
    hint = f"`paislurm status {known.job}` finds out, `paislurm cancel {known.job}` ends it"
    return InterruptedWaitError(Fault(code="E531", message=message, hint=hint))


def _files(folder: JobFolder, text: bytes, compiled: Compiled, backend_name: str) -> tuple[dict[str, bytes], History]:
    """Return the files of a new job folder, the journal with the intent among them."""
    now = clock()
    roles = tuple(JobRole(name=role.name, folder=role.folder, instances=role.instances) for role in compiled.plan.roles)
    records = (
        Created(
            time=now,
            job=compiled.job.name,
            user=user_name(),
            backend=backend_name,
            roles=roles,
            policy=policy_of(compiled),
            exit_rows=compiled.site.exit_rows,
            notify=compiled.job.notify,
        ),
        new_intent(0, now),
    )
    files = {
        "job.yaml": kept_text(text, compiled.document),
        "plan.json": json.dumps(plan_dict(compiled.plan), indent=2).encode() + b"\n",
        str(folder.script(0).relative_to(folder.path)): compiled.script.encode(errors="surrogateescape"),
        folder.journal.name: b"".join(dump(record) for record in records),
        **{f"{folder.secrets.name}/{name}": secret.encode() for name, secret in compiled.secrets.items()},
    }
    return files, history(records)
