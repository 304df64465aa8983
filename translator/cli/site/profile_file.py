"""The profile that `site detect --output` writes: what a person has changed there is never lost."""

from __future__ import annotations

import difflib
import shutil
from typing import TYPE_CHECKING

from ...lazy import dataclass
from ..input.sites import read_at_most
from ..output.output_file import write_output

if TYPE_CHECKING:
    from pathlib import Path

MODE = 0o644
OLD = ".old"


@dataclass(frozen=True, kw_only=True)
class Written:
    """Say what became of the file: `difference` is what is there now against the new text, as `diff -u` has it."""

    written: bool
    difference: str = ""
    kept_as: str = ""


def write_profile(path: Path, text: str, *, force: bool) -> Written:
    """Write a profile. One that is there and differs stays; with `force` it is kept beside the new one."""
    old = read_at_most(path) if path.is_file() else b""
    difference = _difference(path, old, text) if old else ""
    if old and not (difference and force):
        return Written(written=False, difference=difference)
    kept = path.with_name(f"{path.name}{OLD}") if old else None
    if kept:
        shutil.copy(path, kept)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(path, text.encode(), mode=MODE)
    return Written(written=True, difference=difference, kept_as=str(kept or ""))


def _difference(path: Path, old: bytes, text: str) -> str:
    before = old.decode(errors="replace").splitlines()
    lines = difflib.unified_diff(before, text.splitlines(), str(path), "what Slurm says", lineterm="")
    return "".join(f"{line}\n" for line in lines)
