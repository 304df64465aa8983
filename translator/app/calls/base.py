"""The base of all calls of a client: resolution of jobs, and uniform errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...errors import Diagnostic, FolderError, NotFoundError
from ..session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...pipeline import Compiled
    from ...state.job_folder import JobFolder
    from ..client import JobRun


class Calls(Session):
    """A session whose calls take and return jobs."""

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Turn an OSError in the context into a FolderError."""
        try:
            yield
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            raise FolderError(Diagnostic(code="E500", message=message)) from error

    def _folder(self, job: JobRun | str) -> JobFolder:
        """Return the folder of a job. A `JobRun` is found although version 0.2.0 has renamed its folder."""
        from ...monitor.after import find_job

        if isinstance(job, str):
            return self.store.find(job, user=self.user)
        found = find_job(self.store.jobs, job.name, job.created_at)
        if found is None:
            raise NotFoundError(Diagnostic(code="E520", message=f"{job.name} was removed from {self.store.jobs}"))
        return found[0]

    def _folders(self, jobs: Sequence[JobRun | str]) -> list[JobFolder]:
        from ..jobs.selecting import select

        found: dict[str, JobFolder] = {}
        for job in jobs:
            each = select(self.store, [job], user=self.user) if isinstance(job, str) else [self._folder(job)]
            found |= {folder.name: folder for folder in each}
        return list(found.values())

    def _words(self, jobs: Sequence[JobRun | str]) -> list[str]:
        """Return the names of these jobs."""
        return [job if isinstance(job, str) else self._folder(job).name for job in jobs]

    def _run(self, folder: JobFolder, compiled: Compiled | None = None) -> JobRun:
        from ..client import Client, JobRun

        assert isinstance(self, Client)
        created = folder.created()
        return JobRun(
            client=self, name=folder.name, created_at=created.happened_at if created else 0, compiled=compiled
        )
