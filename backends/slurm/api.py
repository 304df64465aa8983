"""Run scripts with Slurm, which an API of it is asked about in the place of its programs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from paislurm.translator.errors import Diagnostic, UnreachableError

from .commands import is_federated
from .observation import observed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from ..base import JobId, Observation, Options, RunFolder, Submission
    from .backend import SlurmBackend
    from .output import Row

T = TypeVar("T")


class UnusableError(UnreachableError):
    """Report that an API cannot be asked here, now or later: Slurm's programs can."""


def unusable(name: str, message: str, hint: str = "") -> UnusableError:
    """Return the error for an API that cannot be asked."""
    hint = hint or "`--backend slurm` asks Slurm's programs"
    return UnusableError(Diagnostic(code="E509", message=f"{name} cannot be used: {message}", hint=hint))


class SlurmApi(Protocol):
    """Tell of jobs and nodes, and cancel; each method raises BackendError, UnusableError where it cannot be asked."""

    def check(self) -> None:
        """Raise an error unless this can be asked; it is called before a job is submitted."""
        ...

    def queue(self, ids: Sequence[JobId]) -> Iterable[Row]:
        """Return what the controller knows of jobs, a row for each component; of a job that it does not know, none."""
        ...

    def accounts(self, ids: Sequence[JobId], must: bool) -> Iterable[Row] | None:
        """Return the accounts of jobs; see `SlurmBackend.accounts`."""
        ...

    def unavailable_nodes(self, nodes: str) -> Mapping[str, str]:
        """Return those of a host list that are out of order; see Backend."""
        ...

    def cancel(self, job_id: JobId) -> None:
        """Cancel a job with all its components; one that has ended is no error."""
        ...

    def close(self) -> None:
        """Leave nothing open."""
        ...


class ApiBackend:
    """Observe and cancel by an API; submit, find and change by Slurm's programs.

    Where the API cannot be asked, because it is gone or does not fit, `say` is told so once, and the programs
    answer: a job that was submitted with it stays readable.
    """

    def __init__(
        self,
        name: str,
        programs: SlurmBackend,
        api: SlurmApi,
        components: Callable[[JobId], int] = lambda _: 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._name = name
        self._programs = programs
        self._api = api
        self._components = components
        self._say = say
        self._is_gone = False

    @property
    def name(self) -> str:
        """The word after `--backend`."""
        return self._name

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
