"""The differences between a recorded job and another one, or a job file compiled with that job's options."""

from __future__ import annotations

import difflib
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, NotFoundError, PaislurmError, UsageError
from ...files.names import PLAN
from ...rendering.runtime_bundle import SEAL
from ...state.kept_script import read_script
from ..document import plain
from ..input.job_input import compile_source, shown_name
from ..input.sites import read_at_most
from ..input.slurm_version import installed_version
from ..input.source import STDIN
from .again import run_of, source_of

if TYPE_CHECKING:
    from ...state.job_folder import JobFolder
    from ..session import Session

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
