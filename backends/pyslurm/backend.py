"""Run scripts with Slurm, and ask pyslurm in the place of Slurm's programs for what it can answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..slurm.commands import is_federated
from ..slurm.observation import observed
from .errors import UnusableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from ..base import JobId, Observation, Options, RunFolder, Submission
    from ..slurm.backend import SlurmBackend
    from .api import PyslurmApi

T = TypeVar("T")


class PyslurmBackend:
    """Observe and cancel by pyslurm; submit, find and change by Slurm's programs.

    Where pyslurm cannot be used, `say` reports that once, and the programs answer: a job that was submitted with it
    stays readable.
    """

    name = "pyslurm"

    def __init__(
        self,
        programs: SlurmBackend,
        api: PyslurmApi,
        components: Callable[[JobId], int] = lambda _: 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._programs = programs
        self._api = api
        self._components = components
        self._say = say
        self._is_gone = False

    def version(self) -> str:
        """Return what sbatch says of its version."""
        return self._programs.version()

    def check(self) -> None:
        """Raise an error unless the API can be asked."""
        self._api.check()

    def submit(self, submission: Submission) -> JobId:
        """Hand a script to sbatch."""
        return self._programs.submit(submission)

    def find(self, tags: Collection[str]) -> Mapping[str, JobId]:
        """Return the jobs of these tags, by squeue and sacct."""
        return self._programs.find(tags)

    def fetch(self, run_folders: Collection[RunFolder]) -> bool:
        """Bring nothing: the nodes and this machine share the folders of jobs."""
        return self._programs.fetch(run_folders)

    def folder(self, run_folder: RunFolder) -> Path:
        """Return the folder: the nodes have it under the same path."""
        return self._programs.folder(run_folder)

    def forget(self, run_folder: RunFolder) -> None:
        """Remove nothing; see SlurmBackend."""
        self._programs.forget(run_folder)

    def attach(self, argv: list[str], job_id: JobId, *, terminal: bool) -> int:
        """Become the program, in the caller's environment without what Slurm left in it."""
        return self._programs.attach(argv, job_id, terminal=terminal)

    def observe(self, ids: Collection[JobId]) -> Mapping[JobId, Observation]:
        """Return what is known of jobs; of other clusters of a federation only the programs know."""
        if not ids:
            return {}
        if any(is_federated(job_id) for job_id in ids):
            return self._programs.observe(ids)
        return self._either(
            lambda: observed(ids, self._api.queue, self._api.accounts, self._components, self._programs.unaccounted),
            lambda: self._programs.observe(ids),
        )

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return those of a host list that are down, drained or failing now, or do not respond, and Slurm's reason."""
        return self._either(lambda: self._api.unavailable_nodes(nodes), lambda: self._programs.unavailable_nodes(nodes))

    def cancel(self, *job_ids: JobId) -> None:
        """Cancel jobs with all their components, of another cluster by the programs; one that has ended is no error."""
        far = [job_id for job_id in job_ids if is_federated(job_id)]
        if far:
            self._programs.cancel(*far)
        for job_id in job_ids:
            if job_id not in far:
                self._either(partial(self._api.cancel, job_id), partial(self._programs.cancel, job_id))

    def options(self, ids: Collection[JobId]) -> Mapping[JobId, Options]:
        """Return what jobs have of options that can be changed, by squeue."""
        return self._programs.options(ids)

    def change(self, job_id: JobId, values: Mapping[str, str], before: Options = ()) -> None:
        """Change a job, by scontrol."""
        self._programs.change(job_id, values, before)

    def close(self) -> None:
        """Leave nothing open."""
        self._api.close()

    def _either(self, ask: Callable[[], T], instead: Callable[[], T]) -> T:
        """Return what the API says, or where it cannot be asked, the programs."""
        if not self._is_gone:
            try:
                return ask()
            except UnusableError as error:
                self._is_gone = True
                self._api.close()
                self._say(f"{error.diagnostics[0].message}; Slurm's programs are asked instead")
        return instead()
