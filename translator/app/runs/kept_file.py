"""The job file for `submit --again`: the copy in the job's folder, or the original file if secrets are needed."""

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
    """Return the text of the job file at the time of the submit.

    If the copy lacks secrets, use the original file if unchanged, else the copy with the given secrets. Raises
    FolderError if both have changed, and UsageError if secrets are missing.
    """
    copy, original = folder.path / "job.yaml", Path(run.job_file.file)
    kept = _unchanged(copy, run.kept_sha256)
    if kept is not None and not run.masks_secrets:
        _tell_of_change(session, copy, run)
        return kept
    text = None if run.job_file.file == STDIN else _unchanged(original, run.job_file.sha256)
    if text is not None:
        if run.masks_secrets and not secrets_given:
            session.say(f"using the secrets in {original}, which has not changed")
        return text
    if kept is None:
        message = f"neither {copy} nor the job file {_shown(run)} is unchanged since the submit of {folder.name}"
        raise FolderError(Diagnostic(code="E578", message=message, hint="submit a job file: `paislurm submit FILE`"))
    return _with_given_secrets(session, folder, run, kept, secrets_given=secrets_given)


def _with_given_secrets(
    session: Session, folder: JobFolder, run: RunRecord, kept: bytes, *, secrets_given: bool
) -> bytes:
    """Return the copy without secrets, if `--secrets` can supply all of them."""
    document = read(kept, file="job.yaml")
    auths = [value.get("auth") == HIDDEN for _, value in document.mappings(("prerequisites",))]
    if secrets_given and not any(auths):
        _tell_of_change(session, folder.path / "job.yaml", run)
        return kept
    what = "logins of registries" if any(auths) else "secrets"
    message = f"{folder.name} had {what} in {_shown(run)}, which {_fate(run)}; paislurm does not record them"
    hint = "submit the job file itself: `paislurm submit FILE`" if any(auths) else "give them with `--secrets FILE`"
    raise UsageError(Diagnostic(code="E576", message=message, hint=hint))


def _tell_of_change(session: Session, copy: Path, run: RunRecord) -> None:
    """Send an event if the original file has changed and the copy is used."""
    if run.job_file.file != STDIN and _unchanged(Path(run.job_file.file), run.job_file.sha256) is None:
        session.say(f"{run.job_file.file} {_fate(run)}: using the recorded copy {copy}")


def _fate(run: RunRecord) -> str:
    if run.job_file.file == STDIN:
        return "is gone"
    return "has changed since" if Path(run.job_file.file).exists() else "no longer exists"


def _shown(run: RunRecord) -> str:
    return "standard input" if run.job_file.file == STDIN else run.job_file.file


def _unchanged(path: Path, sha256: str) -> bytes | None:
    """Return the contents of an unchanged file, else None."""
    try:
        text = read_at_most(path) if path.is_file() else b""
    except OSError:
        return None
    return text if digest(text) == sha256 else None
