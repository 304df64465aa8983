"""The version of Slurm: queried once a day, and cached beside the job folders."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import BackendError
from ...files.private import make_private, write_durably
from ...site.slurm_version import slurm_version
from .sites import this_host

if TYPE_CHECKING:
    from pathlib import Path

    from ..session import Session

DAY = 24 * 3600


def installed_version(session: Session, backend_name: str) -> str:
    """Return the version, "" if unknown; bugs of a version are not considered then."""
    file = session.home / "slurm-version" / f"{backend_name}@{this_host()}"
    kept = _kept(session, file)
    if kept:
        return kept
    try:
        found = slurm_version(session.backend(backend_name).version())
    except BackendError:
        # The submission reports this error better.
        return ""
    if found:
        _keep(file, str(found))
    return str(found or "")


def _kept(session: Session, file: Path) -> str:
    """Return the version cached in the last day, "" without a readable one."""
    if not is_of_today(session, file):
        return ""
    try:
        found = slurm_version(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return ""
    return str(found or "")


def is_of_today(session: Session, file: Path) -> bool:
    """Return whether a file was written in the last day."""
    try:
        return abs(session.now() - file.stat().st_mtime) < DAY
    except OSError:
        return False


def _keep(file: Path, version: str) -> None:
    """Cache the version if the home exists; ignore errors of writing."""
    if not file.parent.parent.is_dir():
        return
    with suppress(OSError):
        make_private(file.parent)
        write_durably(file, f"{version}\n".encode())
