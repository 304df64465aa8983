"""Tell of any script whether paislurm made it: its runtime byte for byte, and the form of its head. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..lazy import dataclass, regex
from ..site.container_runtimes import BASH_PARTS
from .head_grammar import read_head
from .runtime_bundle import ALL_USES, SEAL, digest, runtime

if TYPE_CHECKING:
    from .head_reading import Passage, Reading

_SEAL = regex(
    rf"{re.escape(SEAL)}(\S+), sha256 ([0-9a-f]{{64}}): the same in every job(?: that uses: ([a-z0-9, -]+))? ----\n"
    r"# ---- head as compiled, sha256 ([0-9a-f]{64}) ----\n"
)
_JOB_FILE = regex(r"""^[ \t{]*["']?(?:protocolVersion|taskRoles|jobName)["']?[ \t]*:""", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Say what a script is made of.

    `diagnostics` are lines (from 1) and what is wrong there; without any, the runtime is the one of `version` and the
    head has the form that the compiler writes. `edited` tells whether somebody has changed the head since. `to_read` is
    what is left for a person.
    """

    version: str
    uses: tuple[str, ...]
    edited: bool
    diagnostics: tuple[tuple[int, str], ...]
    to_read: tuple[Passage, ...]

    @property
    def is_genuine(self) -> bool:
        """Tell whether all but the passages for a person is as paislurm makes it."""
        return not self.diagnostics


def verify(script: str, version: str) -> Verdict:
    """Return the verdict of this version's compiler on a script."""
    # A text of the job file may hold a line like the seal: the runtime never does.
    start = script.rfind(f"\n{SEAL}") + 1
    seal = _SEAL.match(script, start) if start else None
    if seal is None:
        return _refused(script, start)
    head, body = script[:start], script[seal.end() :]
    uses = tuple(seal[3].split(", ")) if seal[3] else ()
    line, reading = head.count("\n") + 1, read_head(head)
    diagnostics = [
        *_unreadable(script),
        *reading.diagnostics,
        *_runtime_faults(body, seal, uses, version, line),
        *((line, fault) for fault in _use_faults(uses, reading)),
    ]
    return Verdict(
        version=seal[1],
        uses=uses,
        edited=digest(head) != seal[4],
        diagnostics=tuple(diagnostics),
        to_read=tuple(reading.to_read),
    )


def _refused(script: str, start: int) -> Verdict:
    what = "the seal is not of the form that paislurm writes" if start else _other_file(script)
    diagnostic = (script.count("\n", 0, start) + 1, what)
    return Verdict(version="", uses=(), edited=True, diagnostics=(diagnostic,), to_read=())


def _other_file(text: str) -> str:
    """Return what is said of a file without a seal."""
    seal = "there is no seal of a paislurm runtime"
    if text.startswith("#!"):
        return seal
    if _JOB_FILE.search(text):
        return "this is a job file, no script: `paislurm check` looks at it, `paislurm script` makes the script of it"
    return f"{seal}, and no `#!` at the beginning of a script: `paislurm script` makes one of a job file"


def _unreadable(script: str) -> list[tuple[int, str]]:
    """Return the lines that bash reads otherwise than they stand there: it passes over NUL."""
    odd = re.compile("[\0\ud800-\udfff]")
    lines = enumerate(script.split("\n"), start=1) if odd.search(script) else ()
    return [(number, "a NUL, or bytes that are no UTF-8") for number, text in lines if odd.search(text)]


def _use_faults(uses: tuple[str, ...], reading: Reading) -> list[str]:
    """Return what is wrong with the selection of the runtime: what a job calls must be there, and only once."""
    containers = {use for use in uses if use in BASH_PARTS}
    faults = []
    if uses != tuple(sorted(set(uses))):
        faults.append("the seal names the parts of the runtime in another order than paislurm, or twice")
    if missing := sorted(reading.needed_uses() - set(uses)):
        faults.append(f"the settings need parts that the runtime does not have: {', '.join(missing)}")
    if extra := sorted(containers - reading.needed_uses()):
        faults.append(f"the settings name no container runtime that needs: {', '.join(extra)}")
    if "registry" in uses and not containers:
        faults.append("images are fetched for no container runtime")
    return faults


def _runtime_faults(
    body: str, seal: re.Match[str], uses: tuple[str, ...], version: str, line: int
) -> list[tuple[int, str]]:
    """Return what is wrong behind the head, whose seal stands in this line."""
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
