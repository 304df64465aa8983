"""`submit --again`: what a job was submitted with, as the source of one more; what is another one today is told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm import __version__
from paislurm.backends.registry import SSH, is_elsewhere

from ...errors import Diagnostic, FolderError, UsageError
from ...state.run_record import HIDDEN
from ..input.sites import profile_option
from ..input.source import Source
from ..ownership import check_own
from .kept_file import file_again
from .recording import profiles_of

if TYPE_CHECKING:
    from ...state.job_folder import JobFolder
    from ...state.records import Created
    from ...state.run_record import RunRecord
    from ..session import Session


def source_again(
    session: Session, folder: JobFolder, given: Source, *, backend: str | None, host: str | None
) -> Source:
    """Return the source of a job as it was submitted, with what is `given` now in place of what was given then.

    Raises FolderError where too little is kept of the job, and UsageError where a secret must be given once more.
    """
    check_own(folder, "submit --again")
    created, run = run_of(folder)
    secrets = _secrets(session, folder, run, given.secrets)
    again = Source(
        file=run.job_file.file,
        text=file_again(session, folder, run, secrets_given=secrets is not None),
        site=given.site or _site(session, run),
        parameters=_parameters(folder, run, given),
        suffix=given.suffix or run.suffix,
        typed=given.typed,
        secrets=secrets,
        slurm=tuple({**run.slurm_options, **dict(given.slurm)}.items()),
        submit_folder=_submit_folder(session, run),
    )
    again = _for_backend(again, created.backend, backend, host)
    _tell_differences(session, run, again, names_site=given.site is not None)
    return again


def run_of(folder: JobFolder) -> tuple[Created, RunRecord]:
    """Return the first record of a job, and what it was submitted with; FolderError where that is not kept."""
    created = folder.created()
    if created is None or created.run is None:
        message = f"the journal of {folder.name} does not tell what it was submitted with"
        hint = f"an earlier version did not keep it; its job file, without secrets, is {folder.path}/job.yaml"
        raise FolderError(Diagnostic(code="E575", message=message, hint=hint))
    return created, created.run


def source_of(session: Session, created: Created) -> Source:
    """Return the source of a job but for its job file, its secrets and where it was submitted from."""
    source, run = Source(file=""), created.run
    if run is not None:
        source = replace(source, site=_site(session, run), parameters=tuple(run.overrides.items()), suffix=run.suffix)
        source = replace(source, slurm=tuple(run.slurm_options.items()))
    return _for_backend(source, created.backend, None, None)


def _for_backend(source: Source, then: str, backend: str | None, host: str | None) -> Source:
    """Return a source for the backend and the host that are named now, else for those of `then`."""
    if host is not None:
        return replace(source, backend="slurm", host=host)
    if backend is not None:
        return replace(source, backend=backend)
    if is_elsewhere(then):
        return replace(source, backend="slurm", host=then.removeprefix(SSH))
    return replace(source, backend=then)


def _site(session: Session, run: RunRecord) -> str | None:
    """Return the profile as an option would name it; None where none was written, it is gone, or is found unnamed."""
    file = profile_option(session, [each.file for each in run.site_profiles])
    return file if file and Path(file).is_file() else None


def _parameters(folder: JobFolder, run: RunRecord, given: Source) -> tuple[tuple[str, str], ...]:
    found = {**run.overrides, **dict(given.parameters)}
    masked = [name for name in run.overrides if HIDDEN in run.overrides[name] and found[name] == run.overrides[name]]
    if masked:
        message = f"a secret was part of what {folder.name} had for {', '.join(masked)}, and is not kept"
        hint = "give it once more: " + " ".join(f"--set {name}=..." for name in masked)
        raise UsageError(Diagnostic(code="E577", message=message, hint=hint))
    return tuple(found.items())


def _secrets(session: Session, folder: JobFolder, run: RunRecord, given: str | None) -> str | None:
    """Return the file of secrets: the one that is given now, or that of then if it still is there."""
    if given or not run.secrets_file:
        return given
    if not Path(run.secrets_file).is_file():
        message = f"the secrets of {folder.name} were in {run.secrets_file}, which is not there any more"
        raise UsageError(Diagnostic(code="E576", message=message, hint="name a file of them: `--secrets FILE`"))
    session.say(f"secrets are taken from {run.secrets_file}, as they are there now")
    return run.secrets_file


def _submit_folder(session: Session, run: RunRecord) -> str:
    if run.submit_folder and not Path(run.submit_folder).is_dir():
        session.say(
            f"{run.submit_folder}, where it was submitted from, is not there any more: the current folder is taken"
        )
        return ""
    return run.submit_folder


def _tell_differences(session: Session, run: RunRecord, again: Source, *, names_site: bool) -> None:
    """Say what is another one than then, and was not asked for."""
    if run.paislurm_version != __version__:
        session.say(f"it was submitted with paislurm {run.paislurm_version}; this is {__version__}")
    profiles = profiles_of(session, again)
    if names_site or profiles == run.site_profiles:
        return
    then, now = (" and ".join(each.file for each in files) or "none" for files in (run.site_profiles, profiles))
    what = f"{then} has changed since" if then == now else f"was {then}, and is {now}"
    session.say(f"the site profile {what}: `paislurm diff` of both jobs shows what comes of it")
