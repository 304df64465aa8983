"""The base of all use cases: resolution of jobs, and uniform errors."""

from __future__ import annotations

from functools import wraps
from inspect import isfunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import Diagnostic, FolderError, NotFoundError
from ...state.job_folder import JobFolder as JobFolder  # noqa: PLC0414 - the command line names it too

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..session import Session
    from ..submit.submission import Submitted
    from .run import JobRun

AnyJob: TypeAlias = "JobRun | JobFolder | str"
"""A job: its run, or a word for it: its name, `user~name`, its Slurm id, a pattern such as "train-*", or a group."""


class UseCases:
    """The use cases of a thing. An OSError about a file becomes a FolderError."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __init_subclass__(cls) -> None:
        """Make each method raise a FolderError for a file that it cannot use."""
        for name, method in list(vars(cls).items()):
            if isfunction(method) and name[0] != "_" and not isgeneratorfunction(method):
                setattr(cls, name, _with_folder_errors(method))

    def _folder(self, job: AnyJob) -> JobFolder:
        """Return the folder of one job. A `JobRun` is found although version 0.2.0 has renamed its folder."""
        from ...monitor.after import find_job

        store = self._session.store
        if isinstance(job, JobFolder):
            return job
        if isinstance(job, str):
            return store.find(job, user=self._session.user)
        found = find_job(store.jobs, job.name, job.created_at)
        if found is None:
            raise NotFoundError(Diagnostic(code="E520", message=f"{job.name} was removed from {store.jobs}"))
        return found[0]

    def _word(self, job: AnyJob) -> str:
        """Return the word for a job."""
        return job if isinstance(job, str) else self._folder(job).name

    def _folders(self, jobs: Sequence[AnyJob], *, last: bool = False) -> list[JobFolder]:
        """Return the folders of jobs, each once; with `last`, the user's last job too."""
        from ..jobs.selecting import select

        store, user = self._session.store, self._session.user
        if all(isinstance(job, str) for job in jobs):
            words = [job for job in jobs if isinstance(job, str)]
            return select(store, words, user=user, last=last) if words or last else []
        found: dict[str, JobFolder] = {}
        for job in jobs:
            each = select(store, [job], user=user) if isinstance(job, str) else [self._folder(job)]
            found |= {folder.name: folder for folder in each}
        return list(found.values())

    def _run(self, folder: JobFolder, submitted: Submitted | None = None) -> JobRun:
        from .run import JobRun

        is_dry_run = submitted is not None and submitted.job_id is None
        created = None if is_dry_run else folder.created()
        return JobRun(
            session=self._session,
            name=folder.name,
            created_at=created.happened_at if created else 0,
            submitted=submitted,
        )


def _with_folder_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except OSError as error:
            if error.filename is None:
                raise
            message = f"{error.filename}: {error.strerror}"
            raise FolderError(Diagnostic(code="E500", message=message)) from error

    return call
