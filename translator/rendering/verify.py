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
_JOB_FILE = re.compile(r"""^[ \t{]*["']?(?:protocolVersion|taskRoles|jobName)["']?[ \t]*:""", re.MULTILINE)


class Verdict(Struct, frozen=True, kw_only=True):
    """Hold the result of a comparison.

    `faults` are lines (from 1) and what is wrong there; without any, the runtime is that of `version` with the parts
    `uses`. `is_edited`: the head is not the one that was sealed. The seal itself proves nothing: whoever edits a head
    can seal it again.
    """

    version: str
    uses: tuple[str, ...]
    is_edited: bool
    faults: tuple[tuple[int, str], ...]

    @property
    def is_genuine(self) -> bool:
        """Whether the runtime is the released one."""
        return not self.faults


def verify(script: str, version: str) -> Verdict:
    """Compare a script with this version's runtime and with its own seal."""
    # A text of the job file may contain a line like the seal: the runtime never does.
    start = script.rfind(f"\n{SEAL}") + 1
    seal = _SEAL.match(script, start) if start else None
    if seal is None:
        what = "the seal does not have paislurm's format" if start else _without_seal(script)
        fault = (script.count("\n", 0, start) + 1, what)
        return Verdict(version="", uses=(), is_edited=True, faults=(fault,))
    head, body = script[:start], script[seal.end() :]
    uses = tuple(seal[3].split(", ")) if seal[3] else ()
    return Verdict(
        version=seal[1],
        uses=uses,
        is_edited=digest(head) != seal[4],
        faults=tuple(_runtime_faults(body, seal, uses, version, head.count("\n") + 1)),
    )


def head_difference(script: str, compiled: str, names: tuple[str, str]) -> str:
    """Return the difference of two heads as `diff -u` prints it, "" for equal ones."""
    before, after = _head(compiled).splitlines(), _head(script).splitlines()
    lines = difflib.unified_diff(before, after, names[1], names[0], lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _head(script: str) -> str:
    start = script.rfind(f"\n{SEAL}") + 1
    return script[:start] if start else script


def _without_seal(text: str) -> str:
    """Describe a file without a seal."""
    seal = "the file has no seal of a paislurm runtime"
    if text.startswith("#!"):
        return seal
    if _JOB_FILE.search(text):
        return "this is a job file, not a script: `paislurm check` reads it, `paislurm script` compiles it"
    return f"{seal}, and no `#!` at its beginning: compile a job file with `paislurm script`"


def _runtime_faults(
    body: str, seal: re.Match[str], uses: Sequence[str], version: str, line: int
) -> list[tuple[int, str]]:
    """Return the fault after the head, whose seal is this line."""
    if seal[1] != version:
        return [(line, f"the runtime is that of paislurm {seal[1]}, and this is {version}: use that one to verify it")]
    if unknown := sorted(set(uses) - set(ALL_USES)):
        return [(line, f"the runtime of {version} has no part for: {', '.join(unknown)}")]
    own = runtime(uses)
    if body != own:
        return [(line + 2 + _first_difference(body, own), "the runtime is not that of the release from this line on")]
    if digest(body) != seal[2]:
        return [(line, "the seal has another sha256 than the runtime")]
    return []


def _first_difference(text: str, other: str) -> int:
    """Return the number of the first line (from 0) that differs."""
    lines, others = text.split("\n"), other.split("\n")
    pairs = enumerate(zip(lines, others, strict=False))
    return next((number for number, (line, ours) in pairs if line != ours), min(len(lines), len(others)))
