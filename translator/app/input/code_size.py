"""Check the size of codeDir if this machine can see it; the batch script stops a job with a larger one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import BackendError, Diagnostic

if TYPE_CHECKING:
    from ...pipeline import Compiled
    from ..session import Session

MAX_CODE_BYTES = 200_000_000
"""The same as PSL_MAX_CODE_BYTES of the runtime. Source: PAI rest-server, protocol v1."""
MAX_SECONDS = 5.0
"""Seconds for the measurement; after that, only the batch script checks the folder."""


def code_size_errors(compiled: Compiled, session: Session) -> list[Diagnostic]:
    """Return the diagnostic for a too large codeDir; none if it cannot be measured here."""
    parts = dict(compiled.plan.environment.paths).get("PAI_CODE_DIR", ())
    path = session.user.join(parts).removeprefix("file://")
    size = _bytes_in(path, session) if path.startswith("/") and path.strip("/") else None
    if size is None or size <= MAX_CODE_BYTES:
        return []
    where = (*compiled.job.paths.directories.split(".")[1:], "codeDir")
    return [
        Diagnostic(
            code="E337",
            message=f"codeDir {path} has {size} bytes; the limit is {MAX_CODE_BYTES}, because each task gets a copy",
            location=compiled.document.location(where),
            path=".".join(("$", *where)),
            hint="move data and results to another folder, and set `dataDir` to it",
        )
    ]


def _bytes_in(path: str, session: Session) -> int | None:
    """Return the bytes of a folder as the batch script counts them, None if that fails."""
    if not Path(path).exists():
        return None
    try:
        done = session.runner.run(["du", "-sbD", "--", path], timeout=MAX_SECONDS)
    except BackendError:
        return None
    number = done.stdout.partition("\t")[0]
    return int(number) if done.status == 0 and number.isdecimal() else None
