"""Ask Slurm by pyslurm, and by its programs where pyslurm is wrong."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from paislurm.translator.errors import BackendError

from ..hostlist import expand
from .answers import is_doubtful, rows, unavailable
from .errors import UnusableError, unusable
from .process import PYTHON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..base import JobId
    from ..slurm.backend import SlurmBackend
    from ..slurm.output import Row
    from .process import Process

UNSUPPORTED = "PAISLURM_PYSLURM_UNSUPPORTED"
"""Set to 1, a pyslurm is asked that was made for another Slurm, at the risk of who sets it."""


class PyslurmApi:
    """Ask a process that imports pyslurm; `programs` know the exit codes of which it loses 128."""

    def __init__(self, programs: SlurmBackend, process: Process) -> None:
        self._programs = programs
        self._process = process
        self._is_checked = False

    def check(self) -> None:
        """Raise UnusableError unless pyslurm is installed, is for this Slurm, and finds a configuration."""
        if self._is_checked:
            return
        found = self._process.call("begin")
        if not found["configuration"]:
            named = os.environ.get("SLURM_CONF")
            where = f"$SLURM_CONF is {named}, which is not there" if named else "there is no slurm.conf"
            hint = "set SLURM_CONF to the slurm.conf of the cluster, or run this on a login node"
            raise unusable(where, hint)
        version = self._programs.version().strip()
        slurm = _release(version)
        if not found["pyslurm"]:
            message = f"it is not installed for {self._process.python}"
            hint = f"install {_wanted(slurm)}, or set {PYTHON}: docs/administrator/pyslurm.md has how"
            raise unusable(message, hint)
        if _release(found["pyslurm"]) != slurm and os.environ.get(UNSUPPORTED) != "1":
            message = f"it is {found['pyslurm']}, and {version} needs one of its own version"
            raise unusable(message, f"install {_wanted(slurm)}: docs/administrator/pyslurm.md has how")
        self._is_checked = True

    def queue(self, ids: Sequence[JobId]) -> list[Row]:
        """Return what the controller knows of jobs."""
        return rows(self._call("queue", ids=[int(job_id) for job_id in ids]))

    def accounts(self, ids: Sequence[JobId], must: bool) -> list[Row] | None:
        """Return the accounts of jobs. Where they do not answer, sacct tells whether the site keeps any."""
        try:
            found = rows(self._call("accounts", ids=[int(job_id) for job_id in ids]))
        except UnusableError:
            raise
        except BackendError:
            return self._programs.accounts(ids, must)
        return [self._right(row) for row in found]

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return those of a host list that are out of order."""
        try:
            names = expand(nodes)
        except ValueError:
            return {}
        return unavailable(self._call("nodes", names=names))

    def cancel(self, job_id: JobId) -> None:
        """Cancel a job with all its components."""
        self._call("cancel", job_id=int(job_id))

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _call(self, name: str, **arguments: Any) -> Any:
        """Return the answer to a call; one of another Slurm is never asked."""
        self.check()
        return self._process.call(name, **arguments)

    def _right(self, row: Row) -> Row:
        """Return a row with the exit status that the controller has; none where that does not know it any more."""
        if row.offset or not is_doubtful(row):
            return row
        status, signal = self._programs.exit_of(row.leader)
        return replace(row, status=status, signal=signal)


def _release(text: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version, by which pyslurm and Slurm belong together."""
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def _wanted(release: tuple[int, int] | None) -> str:
    return f"'pyslurm=={release[0]}.{release[1]}.*'" if release else "the pyslurm of Slurm's version"
