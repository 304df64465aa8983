"""A profile for a submit where nobody has written one: what Slurm says, asked once a day and kept in the home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.registry import OF_THIS_SLURM, is_elsewhere

from ...errors import PaislurmError, UnreachableError
from ..input.sites import detected_path, find_site, is_named, site_path, user_path
from .slurm_version import is_of_today

if TYPE_CHECKING:
    from pathlib import Path

    from ...site.profile import Site
    from ..input.job_input import Source
    from ..session import Session


def detect_site(session: Session, source: Source, *, keep: bool, again: bool = False) -> Site | None:
    """Return what Slurm says of the site, None where there is a profile, or Slurm was asked in the last day.

    With `again` it is asked once more: a job is refused by what it said before. Where Slurm does not answer there is
    nothing: submitting says better what keeps it from answering. A login node that cannot be reached is not tried
    again: UnreachableError.
    """
    path = detected_path(session, source.host if is_elsewhere(source.backend) else None)
    if _has_profile(session, source, path) or (is_of_today(session, path) and not again):
        return None
    try:
        return _ask(session, source, path, keep=keep)
    except PaislurmError as error:
        if is_elsewhere(source.backend) and isinstance(error, UnreachableError) and error.is_refusal:
            raise
    except OSError:
        pass
    return None


def _has_profile(session: Session, source: Source, detected: Path) -> bool:
    """Tell whether there is a profile that somebody wrote, or none is of use."""
    if is_elsewhere(source.backend):
        return is_named(session, source.site) or find_site(session, None).host == source.host
    return source.backend not in OF_THIS_SLURM or site_path(session, source.site) not in (None, detected)


def _ask(session: Session, source: Source, path: Path, *, keep: bool) -> Site:
    from ...site.detection.profile_text import profile_text
    from ...site.load import load_site
    from ...state.publish import write_durably
    from ..site.ask import detect_at, detect_from_here

    host = source.host if is_elsewhere(source.backend) else None
    detection = detect_at(session, host) if host else detect_from_here(session)
    text = profile_text(detection).encode()
    found = load_site(text, file=str(path))
    if keep:
        for folder in (session.store.home, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_durably(path, text)
    kept = f", which is {path} for a day" if keep else ""
    option = f" --host {host}" if host else ""
    session.say(
        f"there is no site profile: Slurm was asked for one{kept}; "
        f"`paislurm site detect{option} --output {user_path()}` makes it yours"
    )
    return found
