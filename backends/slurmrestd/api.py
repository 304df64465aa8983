"""Ask Slurm by slurmrestd."""

from __future__ import annotations

import pwd
from contextlib import contextmanager
from typing import TYPE_CHECKING

from paislurm.translator.errors import BackendError

from ..slurm.api import UnusableError, unusable
from ..slurm_emulator.hostlist import expand
from .answers import accounting_rows, queue_rows, unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..base import JobId
    from ..slurm.backend import SlurmBackend
    from ..slurm.output import Row
    from .client import RestClient

FEW = 20
"""Of so many jobs the accounts are asked one by one; of more, sacct asks once."""


class RestApi:
    """Ask slurmrestd; `programs` ask the accounts of many jobs, and why they do not answer."""

    def __init__(self, programs: SlurmBackend, client: RestClient) -> None:
        self._programs = programs
        self._client = client

    def check(self) -> None:
        """Raise UnusableError unless it listens, and knows the version and the user."""
        self._client.get("slurm", "ping/")

    def queue(self, ids: Sequence[JobId]) -> list[Row]:
        """Return what the controller knows of jobs: of one by its number, of several among all jobs."""
        found = self._client.get("slurm", f"job/{ids[0]}" if len(ids) == 1 else "jobs/")
        wanted = set(ids)
        with understood():
            return [row for row in queue_rows(found.get("jobs", ())) if row.leader in wanted]

    def accounts(self, ids: Sequence[JobId], must: bool) -> list[Row] | None:
        """Return the accounts of jobs. Where they do not answer, sacct tells whether the site keeps any."""
        if len(ids) <= FEW:
            try:
                answers = [self._client.get("slurmdb", f"job/{job_id}") for job_id in ids]
                with understood():
                    return accounting_rows([job for found in answers for job in found.get("jobs", ())], _user_number)
            except UnusableError:
                raise
            except BackendError:
                pass
        return self._programs.accounts(ids, must)

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return those of a host list that are out of order."""
        found = self._client.get("slurm", "nodes/")
        with understood():
            return unavailable(found.get("nodes", ()), set(expand(nodes)))

    def cancel(self, job_id: JobId) -> None:
        """Cancel a job with all its components."""
        self._client.delete("slurm", f"job/{job_id}")

    def close(self) -> None:
        """Leave nothing open: each call has a connection of its own."""


def _user_number(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return None


@contextmanager
def understood() -> Iterator[None]:
    """Turn what an answer lacks into UnusableError: it is another version's, or that of something in between."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise unusable("slurmrestd", f"its answer is not one of v0.0.42: {error!r}") from None
