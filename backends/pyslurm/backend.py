"""Run scripts with Slurm: pyslurm is asked how they are, and Slurm's programs do what it cannot."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from paislurm.translator.errors import BackendError

from ..slurm.commands import is_federated
from ..slurm.observation import observed
from ..slurm_emulator.hostlist import expand
from .answers import is_doubtful, rows, unavailable
from .process import PYTHON, UnusableError, unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..base import JobId, Observation, Submission
    from ..slurm.backend import SlurmBackend
    from ..slurm.output import Row
    from .process import Process

    T = TypeVar("T")

UNSUPPORTED = "PAISLURM_PYSLURM_UNSUPPORTED"
"""Set to 1, a pyslurm is asked that was made for another Slurm, at the risk of who sets it."""


class PyslurmBackend:
    """Observe and cancel by pyslurm; submit, find and ask for exit codes by Slurm's programs.

    pyslurm submits a heterogeneous job as one of its components, and loses 128 of exit codes from 128 on. Where it
    cannot be asked, because it is gone or is another Slurm's, `say` is told so once, and the programs answer.
    """

    name = "pyslurm"

    def __init__(
        self,
        programs: SlurmBackend,
        process: Process,
        components: Callable[[JobId], int] = lambda _: 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._programs = programs
        self._process = process
        self._components = components
        self._say = say
        self._is_checked = self._is_gone = False

    def version(self) -> str:
        """Return what sbatch says of its version."""
        return self._programs.version()

    def check(self) -> None:
        """Raise UnusableError unless pyslurm is installed, is for this Slurm, and finds a configuration."""
        if self._is_checked:
            return
        found = self._process.call("begin")
        if not found["configuration"]:
            named = os.environ.get("SLURM_CONF")
            where = f"$SLURM_CONF is {named}, which is not there" if named else "there is no slurm.conf"
            raise unusable(where, "set SLURM_CONF to the slurm.conf of the cluster, or run this on a login node")
        version = self.version().strip()
        slurm = _release(version)
        if not found["pyslurm"]:
            message = f"it is not installed for {self._process.python}"
            raise unusable(message, f"install {_wanted(slurm)}, or set {PYTHON}: docs/pyslurm.md has how")
        own = _release(found["pyslurm"])
        if own != slurm and os.environ.get(UNSUPPORTED) != "1":
            message = f"it is {found['pyslurm']}, and {version} needs one of its own version"
            raise unusable(message, f"install {_wanted(slurm)}: docs/pyslurm.md has how")
        self._is_checked = True

    def submit(self, submission: Submission) -> JobId:
        """Hand a script to sbatch."""
        return self._programs.submit(submission)

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs of these tags, by squeue and sacct: pyslurm has no comments of jobs that have ended."""
        return self._programs.find(tags)

    def environment(self, job_id: JobId) -> Mapping[str, str]:
        """Return the caller's environment, without what Slurm left in it."""
        return self._programs.environment(job_id)

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return what is known of jobs; of other clusters of a federation only the programs know."""
        if not ids:
            return {}
        if any(is_federated(job_id) for job_id in ids):
            return self._programs.observe(ids)
        return self._either(
            lambda: observed(ids, self._queue, self._accounts, self._components),
            lambda: self._programs.observe(ids),
        )

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return those of a host list that are down, drained or failing now, or do not respond, and Slurm's reason."""
        return self._either(
            lambda: unavailable(self._process.call("nodes", names=expand(nodes))),
            lambda: self._programs.unavailable_nodes(nodes),
        )

    def cancel(self, job_id: JobId) -> None:
        """Cancel a job with all its components; one that has ended is no error."""
        self._either(lambda: self._process.call("cancel", job_id=int(job_id)), lambda: self._programs.cancel(job_id))

    def _either(self, ask: Callable[[], T], instead: Callable[[], T]) -> T:
        """Return what pyslurm answers, or where it cannot be asked, the programs."""
        if not self._is_gone:
            try:
                self.check()
                return ask()
            except UnusableError as error:
                self._is_gone = True
                self._process.close()
                self._say(f"{error.diagnostics[0].message}; Slurm's programs are asked instead")
        return instead()

    def _queue(self, ids: Sequence[JobId]) -> list[Row]:
        return rows(self._process.call("queue", ids=[int(job_id) for job_id in ids]))

    def _accounts(self, ids: Sequence[JobId], must: bool) -> list[Row] | None:
        """Return the accounts of jobs. Where they do not answer, sacct tells whether the site keeps any."""
        try:
            found = rows(self._process.call("accounts", ids=[int(job_id) for job_id in ids]))
        except UnusableError:
            raise
        except BackendError:
            return self._programs.accounts(ids, must)
        return [self._right(row) for row in found]

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
