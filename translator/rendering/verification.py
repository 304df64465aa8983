"""Compare a script with this version's: the runtime by bytes, the head by its digest. Pure."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from .runtime_bundle import ALL_USES, SEAL, digest, runtime

if TYPE_CHECKING:
    from collections.abc import Sequence

_SEAL = re.compile(
    rf"{re.escape(SEAL)}(\S+), sha256 ([0-9a-f]{{64}}): the same in every job(?: that uses: ([a-z0-9, -]+))? ----\n"
    r"# ---- head as compiled, sha256 ([0-9a-f]{64}) ----\n"
)
_NO_SEAL = "the file has no seal of a paislurm runtime: compile a job file with `paislurm script`"


class Remark(Struct, frozen=True, kw_only=True):
    """An error in one line of a script."""

    line: int
    """The line, from 1."""
    message: str
    """The error message."""


class Verified(Struct, frozen=True, kw_only=True):
    """The result of comparing a script with paislurm's output."""

    genuine: bool
    """Whether the runtime is the released one."""
    paislurm_version: str | None
    """The version that compiled the script; None without a seal."""
    uses: tuple[str, ...]
    """The parts of the runtime in the script."""
    edited: bool
    """Whether the head was edited after the compilation."""
    diagnostics: tuple[Remark, ...]
    """Errors in the runtime."""
    difference: str | None = None
    """The difference of the head to the compiled job file, in the format of `diff -u`; None without a job file."""


def verify(script: str, version: str) -> Verified:
    """Compare a script with this version's runtime and with its own seal.

    The seal itself proves nothing: whoever edits a head can seal it again.
    """
    # A text of the job file may contain a line like the seal: the runtime never does.
    start = script.rfind(f"\n{SEAL}") + 1
    seal = _SEAL.match(script, start) if start else None
    line = script.count("\n", 0, start) + 1
    if seal is None:
        message = "the seal does not have paislurm's format" if start else _NO_SEAL
        remark = Remark(line=line, message=message)
        return Verified(genuine=False, paislurm_version=None, uses=(), edited=True, diagnostics=(remark,))
    uses = tuple(seal[3].split(", ")) if seal[3] else ()
    found = _runtime_fault(script[seal.end() :], seal, uses, version, line)
    return Verified(
        genuine=found is None,
        paislurm_version=seal[1],
        uses=uses,
        edited=digest(script[:start]) != seal[4],
        diagnostics=() if found is None else (found,),
    )


def head_difference(script: str, compiled: str, names: tuple[str, str]) -> str:
    """Return the difference of two heads as `diff -u` prints it, "" for equal ones."""
    before, after = _head(compiled).splitlines(), _head(script).splitlines()
    lines = difflib.unified_diff(before, after, names[1], names[0], lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _head(script: str) -> str:
    start = script.rfind(f"\n{SEAL}") + 1
    return script[:start] if start else script


def _runtime_fault(body: str, seal: re.Match[str], uses: Sequence[str], version: str, line: int) -> Remark | None:
    """Return the error after the head, whose seal is this line."""
    if seal[1] != version:
        message = f"the runtime is that of paislurm {seal[1]}, and this is {version}: use that one to verify it"
    elif unknown := sorted(set(uses) - set(ALL_USES)):
        message = f"the runtime of {version} has no part for: {', '.join(unknown)}"
    elif body != (own := runtime(uses)):
        line += 2 + _first_difference(body, own)
        message = "the runtime is not that of the release from this line on"
    elif digest(body) != seal[2]:
        message = "the seal has another sha256 than the runtime"
    else:
        return None
    return Remark(line=line, message=message)


def _first_difference(text: str, other: str) -> int:
    """Return the number of the first line (from 0) that differs."""
    lines, others = text.split("\n"), other.split("\n")
    pairs = enumerate(zip(lines, others, strict=False))
    return next((number for number, (line, ours) in pairs if line != ours), min(len(lines), len(others)))
