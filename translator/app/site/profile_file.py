"""Write the profile of `site detect --output` without loss of manual changes."""

from __future__ import annotations

import difflib
import shutil
from typing import TYPE_CHECKING

from msgspec import Struct

from ...errors import ProtocolError
from ..input.sites import read_at_most
from ..output_file import write_output

if TYPE_CHECKING:
    from pathlib import Path

MODE = 0o644
OLD = ".old"


class Written(Struct, frozen=True, kw_only=True):
    """The result of writing: `difference` compares the existing file with the new text in the format of `diff -u`."""

    written: bool
    difference: str = ""
    kept_as: str = ""


def write_profile(path: Path, text: str, *, force: bool) -> Written:
    """Write a profile unless the existing file differs; with `force`, keep that as FILE.old."""
    old = read_at_most(path) if path.is_file() else b""
    difference = "" if not old or _has_all_settings(old, text) else _difference(path, old, text)
    if old and not (difference and force):
        return Written(written=False, difference=difference)
    kept = path.with_name(f"{path.name}{OLD}") if old else None
    if kept:
        shutil.copy(path, kept)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(path, text.encode(), mode=MODE)
    return Written(written=True, difference=difference, kept_as=str(kept or ""))


def _has_all_settings(old: bytes, text: str) -> bool:
    """Return whether a file has every key of the new text with the same value; comments and other keys are ignored."""
    from ...reading.read import read

    try:
        settings = read(old, file="").root
    except ProtocolError:
        return False
    wanted = read(text, file="").mapping(())
    return isinstance(settings, dict) and all(settings.get(key) == value for key, value in wanted.items())


def _difference(path: Path, old: bytes, text: str) -> str:
    before = old.decode(errors="replace").splitlines()
    lines = difflib.unified_diff(before, text.splitlines(), str(path), "detected profile", lineterm="")
    return "".join(f"{line}\n" for line in lines)
