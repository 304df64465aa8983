"""The GPUs of a site: how many there are of each type, how many are free, and who waits for some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.registry import SSH

from ...errors import Diagnostic, NotFoundError
from ..estimate.ask import ask_gpus
from ..input.sites import find_site

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..estimate.gpus import Pool
    from ..session import Session


def site_gpus(session: Session, partitions: Sequence[str] = (), host: str | None = None) -> tuple[Pool, ...]:
    """Return the GPUs of partitions, of all without a name, by what sinfo and squeue say.

    `host` is a login node, else that of the site profile. Raises NotFoundError for a partition without nodes and
    BackendError if Slurm does not answer.
    """
    site = find_site(session, None)
    runner = session.slurm_runner(f"{SSH}{host or site.host}" if host or site.host else "slurm")
    found = ask_gpus(runner, partitions, site.cluster, site.gpus.gres)
    missing = [name for name in partitions if name not in [pool.partition for pool in found]]
    if missing:
        message = f"Slurm shows no partition '{missing[0]}', or no node of it"
        raise NotFoundError(Diagnostic(code="E630", message=message, hint="`paislurm site gpus` shows all of them"))
    return found
