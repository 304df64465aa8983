"""A client: job folders in one home, for one site; several can be in one process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import Diagnostic, FolderError, PlanError, ProtocolError
from .session import Session
from .sources import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ..job import Job
    from ..monitor.status import Status
    from ..pipeline import Compiled
    from ..state.job_folder import JobFolder
    from .job_run import JobRun, Stream
    from .jobs.listing import Line as JobLine
    from .sources import JobFile, Parameter


class Client(Session):
    """Compile, submit and watch jobs. Nothing is printed, and no handler of a signal is set.

    The arguments are those of `Session`.

    All that goes wrong is a PaislurmError with `diagnostics`. Calls are made from one thread at a time.
    """

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Do something for this client; a file that cannot be read or written is a FolderError."""
        try:
            yield
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            raise FolderError(Diagnostic(code="E500", message=message)) from error

    def load(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
    ) -> Job:
        """Return what a job file means, whichever protocol it is of, with every default filled in.

        `file` is a path, or the text as bytes. `parameters` go before those of the file, `suffix` is appended to the
        job's name, `secrets` is a file of mode 0600 or 0400, `slurm` are keys of `extras.slurm`: time, partition,
        account, qos. Raises ProtocolError for a wrong file, with all that is wrong.
        """
        from .input.job_input import load_source

        with self._call():
            return load_source(self, source_of(file, parameters, suffix, secrets, slurm))

    def check(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
    ) -> list[Diagnostic]:
        """Return what is wrong with a job file for the site, and warnings; bash reads the commands. [] if all is well.

        The arguments are those of `load`. Raises SiteError for a wrong site profile.
        """
        from .input.job_input import check_source

        with self._call():
            try:
                return check_source(self, source_of(file, parameters, suffix, secrets, slurm), quiet=True)[1]
            except (ProtocolError, PlanError) as error:
                return list(error.diagnostics)

    def compile(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
    ) -> Compiled:
        """Return what is made of a job file for the site: `job`, `plan`, `script` and `warnings`.

        The arguments are those of `load`. Raises ProtocolError, SiteError, and PlanError for a job that the site cannot
        run. The same file, arguments and profile give the same script, byte for byte.
        """
        from .input.job_input import compile_source

        with self._call():
            return compile_source(self, source_of(file, parameters, suffix, secrets, slurm), quiet=True)[1]

    def submit(
        self,
        file: JobFile,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
        backend: str = "slurm",
        host: str | None = None,
        after: Sequence[JobRun | str] = (),
    ) -> JobRun:
        """Submit a job and return it: all of it or nothing, and nothing is waited for.

        The arguments are those of `load`. `backend` is slurm, pyslurm, auto or local; `host` is a login
        node that is reached by SSH, for the backend slurm. The job begins `after` others have succeeded, or for
        "NAME:ended" have ended. A finished job of the same name is kept under another one. Raises ProtocolError,
        SiteError, PlanError, FolderError for a name that is taken, and BackendError: RejectedError where Slurm refuses,
        UnreachableError where it does not answer.
        """
        from .submit.after import jobs_before
        from .submit.submit import submit

        with self._call():
            source = source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            words = [each if isinstance(each, str) else self._folder(each).name for each in after]
            submitted = submit(self, source, dry_run=False, after=jobs_before(self, words) if words else ())
            return self._run(submitted.folder, submitted.compiled)

    def find(self, job: str) -> JobRun:
        """Return a job by its name, `user~name` or Slurm id; NotFoundError where there is none."""
        with self._call():
            return self._run(self.store.find(job, user=self.user))

    def jobs(self, *words: str, everything: bool = False) -> list[JobLine]:
        """Return a line for each job, the newest first; one query for all tells how they stand.

        `words` are names, ids, patterns such as "train-*" and sweeps; without one it is every job, with `everything`
        also those whose names later jobs have taken. Raises NotFoundError for a word that means no job.
        """
        from .jobs.listing import lines
        from .jobs.selecting import select

        with self._call():
            names = {folder.name for folder in select(self.store, words, user=self.user)} if words else None
            found, problems = lines(self, self.store, everything=everything or bool(words), names=names)
            for problem in problems:
                self.say(f"states are those that were known last: {problem}")
            return found

    def status(self, *jobs: JobRun | str) -> list[Status]:
        """Return how jobs stand now, in their order; one query for all. Words are those of `jobs`.

        Slurm is asked if its last answer is older than 15 seconds. One that does not answer is no error: see
        `Status.backend_error`. Raises NotFoundError.
        """
        from ..monitor.poll import open_job
        from .jobs.refresh import refresh_all
        from .waiting import statuses

        with self._call():
            return statuses(self, refresh_all(self, [open_job(folder) for folder in self._folders(jobs)]))

    def wait(self, *jobs: JobRun | str, first: bool = False, timeout: float | None = None) -> list[Status]:
        """Return how jobs ended, in their order; with `first` those alone that have when the first has.

        After `timeout` seconds it is how all stand then: `ended` is false for those that go on. A backend that does not
        answer is waited for. Ctrl-C raises InterruptedWaitError, and the jobs go on; NotFoundError is for a job
        of which nobody knows anything any more.
        """
        from .waiting import wait

        with self._call():
            return wait(self, self._folders(jobs), first=first, timeout=timeout)

    def logs(
        self,
        job: JobRun | str,
        *tasks: str,
        stream: Stream = "stdout",
        attempt: int | None = None,
        task_attempt: int | None = None,
        tail: int | None = None,
    ) -> dict[str, str]:
        """Return what tasks of a job have printed until now, by task; see `JobRun.logs`."""
        from ..app.jobs.logs.targets import task_texts
        from .jobs.logs.selection import LogSelection

        with self._call():
            wanted = LogSelection(tasks=tasks, streams=(stream,), attempt=attempt, task_attempt=task_attempt, tail=tail)
            return task_texts(self, self._folder(job), wanted)

    def cancel(self, *jobs: JobRun | str) -> list[Status]:
        """End jobs, and return how they stand: they may go on until their tasks have ended.

        A job that has ended already is no error. Raises FolderError for another user's job, and BackendError, when all
        others have been cancelled.
        """
        from .jobs.cancelling import cancel_jobs, joined
        from .waiting import statuses

        with self._call():
            done, errors = cancel_jobs(self, self._folders(jobs))
            if errors:
                raise joined(errors)
            return statuses(self, [each.view for each in done])

    def folder_of(self, job: JobRun | str) -> Path:
        """Return the folder of a job, whose files docs/reference/run-folder.md lists; NotFoundError if it is gone."""
        with self._call():
            return self._folder(job).path

    def _run(self, folder: JobFolder, compiled: Compiled | None = None) -> JobRun:
        from .job_run import JobRun

        created = folder.created()
        return JobRun(
            client=self, name=folder.name, created_at=created.happened_at if created else 0, compiled=compiled
        )

    def _folder(self, job: JobRun | str) -> JobFolder:
        """Return the folder of a job: of one that is held, also when a later one has its name."""
        from ..errors import NotFoundError
        from ..monitor.after import find_job

        if isinstance(job, str):
            return self.store.find(job, user=self.user)
        found = find_job(self.store.jobs, job.name, job.created_at)
        if found is None:
            raise NotFoundError(Diagnostic(code="E520", message=f"{job.name} was removed from {self.store.jobs}"))
        return found[0]

    def _folders(self, jobs: Sequence[JobRun | str]) -> list[JobFolder]:
        from .jobs.selecting import select

        found: dict[str, JobFolder] = {}
        for job in jobs:
            each = select(self.store, [job], user=self.user) if isinstance(job, str) else [self._folder(job)]
            found |= {folder.name: folder for folder in each}
        return list(found.values())
