"""Explain a script line by line, verify it, and return the runtime that scripts share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm import __version__

from ..errors import Diagnostic, UsageError
from ..files.reading import MAX_SCRIPT, read_text
from ..rendering.provenance import Origin
from .input.job_input import compile_source
from .input.source import STDIN
from .paths import write_output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..rendering.verification import Verified
    from .input.source import Source
    from .session import Session


class ScriptFile(Struct, frozen=True, kw_only=True):
    """The batch script of a job file."""

    job: str
    """The name of the job."""
    file: str | None
    """The written file; None if the script is only returned."""
    text: str
    """The script."""


class ExplainedScript(Struct, frozen=True, kw_only=True):
    """The origins of the lines of a script."""

    lines: tuple[Origin, ...]
    """The lines of the script."""


class Runtime(Struct, frozen=True, kw_only=True):
    """The runtime of this version's scripts."""

    paislurm_version: str
    """The version of paislurm."""
    uses: tuple[str, ...]
    """The included parts that only some jobs need."""
    sha256: str
    """The digest of `text`."""
    text: str
    """The runtime."""


def script_of(
    session: Session, source: Source, output: str | os.PathLike[str] | None = None, *, head: bool = False
) -> ScriptFile:
    """Return the script of a job file, with `head` only the part before the runtime; write it to `output` if given.

    An event says where sbatch expects the job's secrets.
    """
    from ..rendering.runtime_bundle import SEAL

    _, compiled = compile_source(session, source)
    script = compiled.script.partition(SEAL)[0] if head else compiled.script
    if compiled.plan.secrets:
        where = f"{compiled.plan.job_name}.secrets in the submit folder"
        session.say(f"before sbatch, write each secret to a file in {where}: {' '.join(compiled.plan.secrets)}")
    if output is not None:
        write_output(Path(output), script.encode(errors="surrogateescape"), mode=0o644)
    return ScriptFile(job=compiled.job.name, file=None if output is None else os.fspath(output), text=script)


def explain(session: Session, source: Source) -> list[Origin]:
    """Return the origin of each line of the script: lines of the job file, and rules."""
    from ..rendering.provenance import origins

    _, compiled = compile_source(session, source)
    return origins(compiled.plan, compiled.document)


def verify_script(session: Session, script: str | bytes, source: Source | None = None) -> Verified:
    """Compare a script with the runtime of this version, and with a compiled job file.

    `script` is a file, "-" for standard input, a job (its last script), or the script as bytes.
    """
    from ..rendering.verification import head_difference, verify

    data = script if isinstance(script, bytes) else _script(session, script)
    text = data.decode(errors="surrogateescape")
    verdict = verify(text, __version__)
    if source is None:
        return verdict
    _, compiled = compile_source(session, source)
    names = (script if isinstance(script, str) else "<bytes>", f"compiled from {source.file}")
    return replace(verdict, difference=head_difference(text, compiled.script, names))


def _script(session: Session, script: str) -> bytes:
    """Return the script of a file or a job as bytes."""
    from ..state.kept_script import read_script

    if script == STDIN:
        return sys.stdin.buffer.read(MAX_SCRIPT)
    path = Path(script)
    if path.is_file():
        return read_text(path).encode(errors="surrogateescape")
    folder = session.store.find(script, user=session.user)
    return read_script(folder, folder.history().attempt)


def runtime_of(uses: Iterable[str] = ()) -> Runtime:
    """Return the runtime of this version's scripts. Raises UsageError for an unknown part."""
    from ..rendering.runtime_bundle import ALL_USES, digest, runtime

    wanted = tuple(sorted(set(uses)))
    if unknown := [use for use in wanted if use not in ALL_USES]:
        message = f"the runtime has no part {', '.join(unknown)}"
        raise UsageError(Diagnostic(code="E547", message=message, hint=f"use one of {', '.join(ALL_USES)}"))
    text = runtime(wanted)
    return Runtime(paislurm_version=__version__, uses=wanted, sha256=digest(text), text=str(text))
