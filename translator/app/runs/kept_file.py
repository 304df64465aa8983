"""The job file of a job that is submitted once more: the copy in its folder, or the file itself for its secrets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import Diagnostic, FolderError, UsageError
from ...reading.read import read
from ...state.run_record import HIDDEN
from ..input.sites import read_at_most
from ..input.source import STDIN
from .recording import digest

if TYPE_CHECKING:
    from ...state.job_folder import JobFolder
    from ...state.run_record import RunRecord
    from ..session import Session


def file_again(session: Session, folder: JobFolder, run: RunRecord, *, secrets_given: bool) -> bytes:
    """Return the text of the job file as it was.

    Where the copy lacks secrets, the file itself is taken if it is as it was, else the copy for which secrets are
    given. Raises FolderError where neither is as it was, and UsageError where secrets are missing.
    """
    copy, original = folder.path / "job.yaml", Path(run.job_file.file)
    kept = _unchanged(copy, run.kept_sha256)
    if kept is not None and not run.masks_secrets:
        _tell_of_change(session, copy, run)
        return kept
    text = None if run.job_file.file == STDIN else _unchanged(original, run.job_file.sha256)
    if text is not None:
        if run.masks_secrets and not secrets_given:
            session.say(f"secrets are taken from {original}, which has not changed")
        return text
    if kept is None:
        message = f"neither {copy} nor the job file {_shown(run)} is as {folder.name} had it"
        raise FolderError(Diagnostic(code="E578", message=message, hint="submit a job file of today: `submit FILE`"))
    return _with_given_secrets(session, folder, run, kept, secrets_given=secrets_given)


def _with_given_secrets(
    session: Session, folder: JobFolder, run: RunRecord, kept: bytes, *, secrets_given: bool
) -> bytes:
    """Return a copy that lacks secrets, if all of them can come from `--secrets`."""
    document = read(kept, file="job.yaml")
    auths = [value.get("auth") == HIDDEN for _, value in document.mappings(("prerequisites",))]
    if secrets_given and not any(auths):
        _tell_of_change(session, folder.path / "job.yaml", run)
        return kept
    what = "logins of registries" if any(auths) else "secrets"
    message = f"{folder.name} had {what} in {_shown(run)}, which {_fate(run)}; they are not kept"
    hint = "submit the job file itself: `submit FILE`" if any(auths) else "name a file of them: `--secrets FILE`"
    raise UsageError(Diagnostic(code="E576", message=message, hint=hint))


def _tell_of_change(session: Session, copy: Path, run: RunRecord) -> None:
    """Say that the copy is taken, where the file itself is another one by now."""
    if run.job_file.file != STDIN and _unchanged(Path(run.job_file.file), run.job_file.sha256) is None:
        session.say(f"{run.job_file.file} {_fate(run)}: the job file is taken as it was then, {copy}")


def _fate(run: RunRecord) -> str:
    if run.job_file.file == STDIN:
        return "is gone"
    return "has changed since" if Path(run.job_file.file).exists() else "is not there any more"


def _shown(run: RunRecord) -> str:
    return "standard input" if run.job_file.file == STDIN else run.job_file.file


def _unchanged(path: Path, sha256: str) -> bytes | None:
    """Return what is in a file that is as it was, else None."""
    try:
        text = read_at_most(path) if path.is_file() else b""
    except OSError:
        return None
    return text if digest(text) == sha256 else None
