"""Compare what comes out now with what was kept, and say what to do where they differ."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

REMEDY = "`make golden` makes it again; read the difference before you commit it"
MAX_LINES = 60
"""Of a difference; git shows the rest once the file is made again."""


def difference(file: Path, now: bytes) -> str:
    """Return "" where a kept file holds what comes out now, else how the two differ and what makes the file again."""
    kept = file.read_bytes() if file.exists() else None
    if kept == now:
        return ""
    name = f"{file.parent.name}/{file.name}"
    found = difflib.unified_diff(_lines(kept or b""), _lines(now), f"{name}, kept", f"{name}, now", lineterm="", n=2)
    lines = list(found)
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"... and {len(lines) - MAX_LINES} lines more"]
    what = "is not there" if kept is None else "is not what comes out now"
    return "\n".join([f"{name} {what}", *lines, REMEDY])


def _lines(text: bytes) -> list[str]:
    """Return the lines of a text; a carriage return, and a byte that is no UTF-8, can be seen."""
    return text.decode(errors="backslashreplace").replace("\r", "\\r").split("\n")
