"""Measure codeDir where this machine sees it: the batch script ends a job whose codeDir is too large."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from paislurm.backends.runner import LocalRunner

from ...errors import BackendError, Diagnostic

if TYPE_CHECKING:
    from ...pipeline import Compiled

MAX_CODE_BYTES = 200_000_000
"""The same as PSL_MAX_CODE_BYTES of the runtime. Source: PAI rest-server, protocol v1."""
MAX_SECONDS = 5.0
"""A folder that takes longer to measure is left to the batch script."""


def code_size_errors(compiled: Compiled, user: str) -> list[Diagnostic]:
    """Return the diagnostic for a codeDir that is too large; none for one that cannot be seen or measured here."""
    parts = dict(compiled.plan.environment.paths).get("PAI_CODE_DIR", ())
    path = user.join(parts).removeprefix("file://")
    size = _bytes_in(path) if path.startswith("/") and path.strip("/") else None
    if size is None or size <= MAX_CODE_BYTES:
        return []
    where = (*compiled.job.paths.directories.split(".")[1:], "codeDir")
    return [
        Diagnostic(
            code="E337",
            message=f"codeDir {path} has {size} bytes, and {MAX_CODE_BYTES} is the most: each task gets a copy of it",
            location=compiled.document.location(where),
            path=".".join(("$", *where)),
            hint="move data and results out of it, and name their folder as `dataDir`",
        )
    ]


def _bytes_in(path: str) -> int | None:
    """Return the bytes of a folder as the batch script counts them, None where they cannot be counted."""
    if not Path(path).exists():
        return None
    try:
        done = LocalRunner().run(["du", "-sbD", "--", path], timeout=MAX_SECONDS)
    except BackendError:
        return None
    number = done.stdout.partition("\t")[0]
    return int(number) if done.status == 0 and number.isdecimal() else None
