"""Recorded jobs: the source for `submit --again`, and the differences between two jobs, or a job and a job file."""

from __future__ import annotations

import difflib
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from paislurm import __version__
from paislurm.backends.registry import SSH, is_remote

from ...errors import Diagnostic, FolderError, NotFoundError, PaislurmError, UsageError
from ...files.names import PLAN
from ...rendering.runtime_bundle import SEAL
from ...state.kept_script import read_script
from ...state.run_record import HIDDEN
from ..input.job_input import compile_source, shown_name
from ..input.source import STDIN, Source
from ..input.submit_host import installed_version
from ..json_documents import plain
from ..paths import check_own
from ..sites.find import profile_option, read_at_most
from .recording import file_again, profiles_of

if TYPE_CHECKING:
    from ...state.job_folder import JobFolder
    from ...state.journal_records import Created
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


DERIVED = frozenset(("paislurm_version", "diagnostics", "job_range", "item_lines", "command", "script", "variables"))
"""Keys of a plan with locations, or with contents of the script's head."""


class Differences(Struct, frozen=True, kw_only=True):
    """The differences of two jobs, in the format of `diff -u`."""

    compared: tuple[str, ...]
    """The names of the compared jobs, or of the job file."""
    same: bool
    """Whether nothing differs."""
    plan_difference: str | None
    """Differences of the plans."""
    script_difference: str | None
    """Differences of the scripts' heads, and of the names of their runtimes."""


def compare(session: Session, old: str, new: str) -> Differences:
    """Return the differences between two jobs, or between a job and a job file compiled with the job's options.

    `old` is a job, `new` a job or a job file. Raises UsageError if they cannot be compared.
    """
    try:
        folder = session.store.find(old, user=session.user)
        first = _recorded(folder)
        try:
            second = _recorded(session.store.find(new, user=session.user))
        except NotFoundError:
            if new != STDIN and not Path(new).is_file():
                raise
            second = _compiled(session, new, folder)
    except PaislurmError as error:
        raise UsageError(error.diagnostics) from None
    names = (first[0], second[0])
    plan, script = (
        "".join(f"{line}\n" for line in difflib.unified_diff(before, after, *names, lineterm=""))
        for before, after in zip(first[1:], second[1:], strict=True)
    )
    return Differences(
        compared=names, same=not (plan or script), plan_difference=plan or None, script_difference=script or None
    )


def _recorded(folder: JobFolder) -> tuple[str, list[str], list[str]]:
    """Return the name, the plan and the script of a job's first attempt. Raises UsageError if they cannot be read."""
    try:
        script = read_script(folder, 0).decode(errors="surrogateescape")
        return folder.name, _plan_lines(read_at_most(folder.path / PLAN)), _script_lines(script)
    except (OSError, ValueError, RecursionError) as error:
        message = f"cannot compare the recorded {folder.name}: {error}"
        raise UsageError(Diagnostic(code="E579", message=message)) from None


def _compiled(session: Session, file: str, folder: JobFolder) -> tuple[str, list[str], list[str]]:
    """Return the same of a job file compiled like a recorded job."""
    created, run = run_of(folder)
    source = replace(source_of(session, created), file=file, secrets=run.secrets_file or None)
    _, compiled = compile_source(session, source, partial(installed_version, session))
    return shown_name(file), _plan_lines(json.dumps(plain(compiled.plan))), _script_lines(compiled.script)


def _plan_lines(text: str | bytes) -> list[str]:
    def without_derived(value: dict[str, Any]) -> dict[str, Any]:
        return {key: inner for key, inner in value.items() if key not in DERIVED}

    return json.dumps(json.loads(text, object_hook=without_derived), indent=1, ensure_ascii=False).splitlines()


def _script_lines(script: str) -> list[str]:
    """Return the head of a script with the first line of its runtime."""
    seal = script.rfind(f"\n{SEAL}") + 1
    return script[: script.find("\n", seal)].splitlines() if seal else script.splitlines()
