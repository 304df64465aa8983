"""Explain a script line by line, verify it, and return the runtime that scripts share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from paislurm import __version__

from ...errors import Diagnostic, UsageError
from ...plural import counted
from ...rendering.provenance import Origin
from ..input.job_input import compile_source, shown_name, text_of
from ..input.source import STDIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..input.source import Source
    from ..session import Session


class ScriptFile(Struct, frozen=True, kw_only=True):
    """The batch script of a job file."""

    job: str
    """The name of the job."""
    file: str | None
    """The file that was written; None where the script is printed."""
    text: str
    """The script."""


class ExplainedScript(Struct, frozen=True, kw_only=True):
    """Where the lines of a script come from."""

    lines: tuple[Origin, ...]
    """The lines of the script."""


class Remark(Struct, frozen=True, kw_only=True):
    """What is wrong with one line of a script."""

    line: int
    """The line, from 1."""
    message: str
    """What is wrong there."""


class Verified(Struct, frozen=True, kw_only=True):
    """The result of comparing a script with what paislurm makes."""

    genuine: bool
    """Whether the runtime is the released one."""
    paislurm_version: str | None
    """The version that made the script; None where no seal tells."""
    uses: tuple[str, ...]
    """The parts of the runtime that the script has."""
    edited: bool
    """Whether the head differs from the head that was compiled."""
    diagnostics: tuple[Remark, ...]
    """What is wrong with the runtime."""
    difference: str | None
    """How the head differs from what the job file compiles to, as `diff -u` prints it; None without a job file."""


class Runtime(Struct, frozen=True, kw_only=True):
    """The runtime of this version's scripts."""

    paislurm_version: str
    """The version of paislurm."""
    uses: tuple[str, ...]
    """The parts that only some jobs use."""
    sha256: str
    """The digest of `text`."""
    text: str
    """The runtime."""


def explain(session: Session, source: Source, line: int | None = None) -> list[Origin]:
    """Return which lines of a job file, and which rules, the lines of its script come from.

    With `line` (from 1) only what comes from that line of the job file. Raises UsageError for a line that the file
    does not have.
    """
    from ...rendering.provenance import origins

    text = text_of(source)
    if line is not None:
        _check_line(shown_name(source.file), line, text)
    _, compiled = compile_source(session, replace(source, text=text))
    found = origins(compiled.plan, compiled.document)
    return found if line is None else [origin for origin in found if line in origin.job_lines]


def _check_line(name: str, line: int, text: bytes) -> None:
    from ...reading.decode import lines_of

    lines = lines_of(text.decode("utf-8", "replace"))
    count = len(lines) - (not lines[-1])
    if not 1 <= line <= count:
        message = f"{line} is no line of {name}, which has {counted(count, 'line')}"
        raise UsageError(Diagnostic(code="E547", message=message))


def verify_script(session: Session, script: str | bytes, source: Source | None = None) -> Verified:
    """Compare a script with the runtime of this version, and with what a job file compiles to.

    `script` is a file, "-" for standard input, a job, of which it is the last script, or as bytes the script itself.
    """
    from ...rendering.verify import head_difference, verify

    data = script if isinstance(script, bytes) else _script(session, script)
    text = data.decode(errors="surrogateescape")
    verdict, difference = verify(text, __version__), None
    if source is not None:
        _, compiled = compile_source(session, source)
        names = (script if isinstance(script, str) else "<bytes>", f"compiled from {source.file}")
        difference = head_difference(text, compiled.script, names)
    return Verified(
        genuine=verdict.is_genuine,
        paislurm_version=verdict.version or None,
        uses=verdict.uses,
        edited=verdict.is_edited,
        diagnostics=tuple(Remark(line=line, message=message) for line, message in verdict.faults),
        difference=difference,
    )


def _script(session: Session, script: str) -> bytes:
    """Return a script by the file or the job that has it, byte for byte."""
    from ...state.tidying.kept_script import read_script

    if script == STDIN:
        return sys.stdin.buffer.read()
    path = Path(script)
    if path.is_file():
        return path.read_bytes()
    folder = session.store.find(script, user=session.user)
    return read_script(folder, folder.history().attempt)


def runtime_of(uses: Iterable[str] = ()) -> Runtime:
    """Return the runtime that scripts of this version have behind their seal; UsageError for an unknown part."""
    from ...rendering.runtime_bundle import ALL_USES, digest, runtime

    wanted = tuple(sorted(set(uses)))
    if unknown := [use for use in wanted if use not in ALL_USES]:
        message = f"no part of the runtime is called {', '.join(unknown)}"
        raise UsageError(Diagnostic(code="E547", message=message, hint=f"there are: {', '.join(ALL_USES)}"))
    text = runtime(wanted)
    return Runtime(paislurm_version=__version__, uses=wanted, sha256=digest(text), text=str(text))
