"""At which login node a job is submitted: the one that is named, the profile's, or this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.registry import SSH, is_elsewhere

from ..input.job_input import site_of

if TYPE_CHECKING:
    from ...site.profile import Site
    from ..input.job_input import Source
    from ..session import Session


def at_host(session: Session, source: Source) -> tuple[Source, Site]:
    """Return the source with the backend and the host that it means, and the site profile."""
    if is_elsewhere(source.backend):
        source = replace(source, backend="slurm", host=source.backend.removeprefix(SSH))
    site = site_of(session, source)
    host = source.host or site.host
    if source.backend != "slurm" or not host:
        return source, site
    return replace(source, backend=f"{SSH}{host}", host=host), site
