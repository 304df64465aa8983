"""The two sides of `diff`: a job by what is kept of it, a job file as a job's own submit would compile it today."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...errors import Diagnostic, NotFoundError, UsageError
from ...planning.plan_text import plan_dict
from ...state.safe_read import CorruptDataError, read_end, read_json
from ...state.tidying.kept_script import read_script
from ..input.job_input import compile_source, shown_name
from ..input.source import STDIN
from .again import run_of, source_of
from .differences import Compared
from .recording import parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...state.job_folder import JobFolder
    from ..session import Session

MAX_BYTES = 64 << 20
"""Of a plan or a script: what is longer has been written by something else."""


def compared_job(folder: JobFolder) -> Compared:
    """Return a job as it was submitted, for its first attempt; UsageError where that cannot be read."""
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
        message = f"what is kept of {folder.name} cannot be compared: {why}"
        raise UsageError(Diagnostic(code="E579", message=message)) from None


def compared_file(session: Session, file: str, folder: JobFolder, version: Callable[[str], str]) -> Compared:
    """Return a job file as it would be submitted by the command that submitted a job."""
    created, run = run_of(folder)
    source = replace(source_of(session, created), file=file, secrets=run.secrets_file or None)
    _, compiled = compile_source(session, source, version)
    return Compared(
        name=shown_name(file),
        parameters=parameters_of(compiled.document, dict(source.parameters)),
        plan=json.loads(json.dumps(plan_dict(compiled.plan))),
        script=compiled.script,
    )


def is_job_file(session: Session, word: str) -> bool:
    """Tell whether a word means a job file: there is one of the name, and no job."""
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
