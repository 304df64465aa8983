"""A profile for a submit where nobody has written one: what Slurm says, asked once a day and kept in the home."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paislurm.backends.registry import OF_THIS_SLURM

from ...errors import PaislurmError
from ..context import store
from ..input.sites import detected_path, site_path, user_path
from ..output.console import log
from .slurm_version import is_of_today

if TYPE_CHECKING:
    from ...site.profile import Site
    from ..input.job_input import Source


def detect_site(source: Source, *, keep: bool, again: bool = False) -> Site | None:
    """Return what Slurm says of the site, None where there is a profile, or Slurm was asked in the last day.

    With `again` it is asked once more: a job is refused by what it said before. Where Slurm does not answer there is
    nothing: submitting says better what keeps it from answering.
    """
    path = detected_path()
    is_fresh = is_of_today(path) and not again
    if source.backend not in OF_THIS_SLURM or site_path(source.site) not in (None, path) or is_fresh:
        return None
    from ...site.detection.profile_text import profile_text
    from ...site.load import load_site
    from ...state.publish import write_durably
    from ..site.ask import detect_from_here

    with suppress(PaislurmError, OSError):
        text = profile_text(detect_from_here()).encode()
        found = load_site(text, file=str(path))
        if keep:
            for folder in (store().home, path.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_durably(path, text)
        kept = f", which is {path} for a day" if keep else ""
        log(
            f"there is no site profile: Slurm was asked for one{kept}; "
            f"`paislurm site detect --output {user_path()}` makes it yours"
        )
        return found
    return None
