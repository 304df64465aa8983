"""The two sides of `diff`: a recorded job, and a job file compiled with that job's options."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Diagnostic, NotFoundError, PaislurmError, UsageError
from ...state.safe_read import CorruptDataError, read_end, read_json
from ...state.tidying.kept_script import read_script
from ..document import plain
from ..input.job_input import compile_source, shown_name
from ..input.slurm_version import installed_version
from ..input.source import STDIN
from .again import run_of, source_of
from .differences import Compared, differences
from .recording import parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...state.job_folder import JobFolder
    from ..session import Session
    from .differences import Differences

MAX_BYTES = 64 << 20
"""The largest plan or script; paislurm does not write a larger one."""


def compare(session: Session, old: str, new: str) -> Differences:
    """Return the differences between two jobs, or between a job and a job file compiled with the job's options.

    `old` is a job, `new` a job or a job file. Raises UsageError if they cannot be compared.
    """
    try:
        folder = session.store.find(old, user=session.user)
        first = compared_job(folder)
        second = (
            compared_file(session, new, folder, partial(installed_version, session))
            if is_job_file(session, new)
            else compared_job(session.store.find(new, user=session.user))
        )
    except PaislurmError as error:
        raise UsageError(error.diagnostics) from None
    if first.parameters is None or second.parameters is None:
        session.say("parameters are not compared: an earlier version of paislurm did not record them")
    return differences(first, second)


def compared_job(folder: JobFolder) -> Compared:
    """Return the recorded first attempt of a job. Raises UsageError if it cannot be read."""
    try:
        created = folder.created()
        return Compared(
            name=folder.name,
            parameters=created.run.parameters if created and created.run else None,
            plan=read_json(_read(folder.path / "plan.json"), dict),
            script=read_script(folder, 0).decode(errors="surrogateescape"),
        )
    except (OSError, CorruptDataError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or str(error)
        message = f"cannot compare the recorded {folder.name}: {why}"
        raise UsageError(Diagnostic(code="E579", message=message)) from None


def compared_file(session: Session, file: str, folder: JobFolder, version: Callable[[str], str]) -> Compared:
    """Return a job file compiled like a recorded job."""
    created, run = run_of(folder)
    source = replace(source_of(session, created), file=file, secrets=run.secrets_file or None)
    _, compiled = compile_source(session, source, version)
    return Compared(
        name=shown_name(file),
        parameters=parameters_of(compiled.document, dict(source.parameters)),
        plan=json.loads(json.dumps(plain(compiled.plan))),
        script=compiled.script,
    )


def is_job_file(session: Session, word: str) -> bool:
    """Return whether a word is a job file: the file exists, and no job has that name."""
    try:
        session.store.find(word, user=session.user)
    except NotFoundError:
        return word == STDIN or Path(word).is_file()
    return False


def _read(path: Path) -> bytes:
    data, whole = read_end(path, MAX_BYTES)
    if not whole:
        raise CorruptDataError(f"{path.name} is too long")
    return data
