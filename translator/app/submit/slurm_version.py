"""Which version of Slurm this machine submits to: asked once a day, and kept beside the job folders."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import BackendError
from ...site.slurm_version import slurm_version
from ...state.publish import write_durably
from ..input.sites import this_host

if TYPE_CHECKING:
    from pathlib import Path

    from ..session import Session

DAY = 24 * 3600


def installed_version(session: Session, backend_name: str) -> str:
    """Return the version, "" where it cannot be found out: then nothing is known of its faults."""
    file = session.home / "slurm-version" / f"{backend_name}@{this_host()}"
    kept = _kept(session, file)
    if kept:
        return kept
    try:
        found = slurm_version(session.backend(backend_name).version())
    except BackendError:
        # Whatever keeps it from answering, submitting says it better.
        return ""
    if found:
        _keep(file, str(found))
    return str(found or "")


def _kept(session: Session, file: Path) -> str:
    """Return what was kept in the last day, "" where there is nothing, or nothing that can be read."""
    if not is_of_today(session, file):
        return ""
    try:
        found = slurm_version(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ""
    return str(found or "")


def is_of_today(session: Session, file: Path) -> bool:
    """Tell whether a file is there that was written in the last day."""
    try:
        return abs(session.now() - file.stat().st_mtime) < DAY
    except OSError:
        return False


def _keep(file: Path, version: str) -> None:
    """Keep the answer where the first job has made a home; what cannot be kept is asked again."""
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, exist_ok=True)
        write_durably(file, f"{version}\n".encode())
