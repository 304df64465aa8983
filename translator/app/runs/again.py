"""`submit --again`: the source of a new job from a run record; report what has changed since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm import __version__
from paislurm.backends.registry import SSH, is_remote

from ...errors import Diagnostic, FolderError, UsageError
from ...state.run_record import HIDDEN
from ..input.sites import profile_option
from ..input.source import Source
from ..ownership import check_own
from .recording import file_again, profiles_of

if TYPE_CHECKING:
    from ...state.job_folder import JobFolder
    from ...state.records import Created
    from ...state.run_record import RunRecord
    from ..session import Session


def source_again(
    session: Session, folder: JobFolder, given: Source, *, backend: str | None, host: str | None
) -> Source:
    """Return the recorded source of a job; options in `given` override it.

    Raises FolderError for an incomplete record, and UsageError if a secret must be given again.
    """
    check_own(folder, "submit --again")
    created, run = run_of(folder)
    secrets = _secrets(session, folder, run, given.secrets)
    again = Source(
        file=run.job_file.file,
        text=file_again(session, folder, run, secrets_given=secrets is not None),
        site=given.site or _site(session, run),
        parameters=_parameters(folder, run, given),
        suffix=given.suffix or run.suffix or "",
        typed=given.typed,
        secrets=secrets,
        slurm=tuple({**run.slurm_options, **dict(given.slurm)}.items()),
        submit_folder=_submit_folder(session, run),
    )
    again = _for_backend(again, created.backend, backend, host)
    _tell_differences(session, run, again, names_site=given.site is not None)
    return again


def run_of(folder: JobFolder) -> tuple[Created, RunRecord]:
    """Return the first record of a job, and its run record. Raises FolderError without one."""
    created = folder.created()
    if created is None or created.run is None:
        message = f"the journal of {folder.name} has no run record"
        hint = f"an earlier version did not write one; the job file, without secrets, is {folder.path}/job.yaml"
        raise FolderError(Diagnostic(code="E575", message=message, hint=hint))
    return created, created.run


def source_of(session: Session, created: Created) -> Source:
    """Return the source of a job without its job file, its secrets and its submit folder."""
    source, run = Source(file=""), created.run
    if run is not None:
        source = replace(
            source, site=_site(session, run), parameters=tuple(run.overrides.items()), suffix=run.suffix or ""
        )
        source = replace(source, slurm=tuple(run.slurm_options.items()))
    return _for_backend(source, created.backend, None, None)


def _for_backend(source: Source, then: str, backend: str | None, host: str | None) -> Source:
    """Return a source for the given backend and host, else for those of `then`."""
    if host is not None:
        return replace(source, backend="slurm", host=host)
    if backend is not None:
        return replace(source, backend=backend)
    if is_remote(then):
        return replace(source, backend="slurm", host=then.removeprefix(SSH))
    return replace(source, backend=then)


def _site(session: Session, run: RunRecord) -> str | None:
    """Return the profile for `--site`; None if there was none, it is gone, or the usual search finds it."""
    file = profile_option(session, [each.file for each in run.site_profiles])
    return file if file and Path(file).is_file() else None


def _parameters(folder: JobFolder, run: RunRecord, given: Source) -> tuple[tuple[str, str], ...]:
    found = {**run.overrides, **dict(given.parameters)}
    masked = [name for name in run.overrides if HIDDEN in run.overrides[name] and found[name] == run.overrides[name]]
    if masked:
        message = f"the values of {', '.join(masked)} in {folder.name} contained a secret and were not recorded"
        hint = "give them again: " + " ".join(f"--set {name}=..." for name in masked)
        raise UsageError(Diagnostic(code="E577", message=message, hint=hint))
    return tuple(found.items())


def _secrets(session: Session, folder: JobFolder, run: RunRecord, given: str | None) -> str | None:
    """Return the file of secrets: the given one, or the recorded one if it still exists."""
    if given or not run.secrets_file:
        return given
    if not Path(run.secrets_file).is_file():
        message = f"the secrets of {folder.name} were in {run.secrets_file}, which no longer exists"
        raise UsageError(Diagnostic(code="E576", message=message, hint="name a file of them: `--secrets FILE`"))
    session.say(f"using the current secrets in {run.secrets_file}")
    return run.secrets_file


def _submit_folder(session: Session, run: RunRecord) -> str:
    if run.submit_folder and not Path(run.submit_folder).is_dir():
        session.say(f"the submit folder {run.submit_folder} no longer exists: using the current folder")
        return ""
    return run.submit_folder


def _tell_differences(session: Session, run: RunRecord, again: Source, *, names_site: bool) -> None:
    """Report what has changed since."""
    if run.paislurm_version != __version__:
        session.say(f"it was submitted with paislurm {run.paislurm_version}; this is {__version__}")
    profiles = profiles_of(session, again)
    if names_site or profiles == run.site_profiles:
        return
    then, now = (" and ".join(each.file for each in files) or "none" for files in (run.site_profiles, profiles))
    what = f"{then} has changed since" if then == now else f"was {then} and is now {now}"
    session.say(f"the site profile {what}: compare both jobs with `paislurm diff`")
