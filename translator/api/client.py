"""A client: job folders in one home, for one site; several can be in one process."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..app.caller import Caller, calling
from ..errors import Diagnostic, FolderError, PlanError, ProtocolError
from .sources import source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ..app.jobs.listing import Line as JobLine
    from ..job import Job
    from ..monitor.status import Status
    from ..pipeline import Compiled
    from ..state.job_folder import JobFolder
    from .job_run import JobRun, Stream
    from .sources import JobFile, Parameter


class Client:
    """Compile, submit and watch jobs. Nothing is printed, and no handler of a signal is set.

    `home` is the folder of the job folders, `site` a site profile; without them those of the environment are used
    (PAISLURM_HOME, PAISLURM_SITE), as the commands do. `say` is called with each sentence that a command would write
    to standard error (why a job waits, warnings); without it the logger `paislurm` has them, at level INFO.

    All that goes wrong is a PaislurmError with `diagnostics`. Calls are made from one thread at a time.
    """

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        site: str | os.PathLike[str] | None = None,
        say: Callable[[str], object] | None = None,
    ) -> None:
        given = {"PAISLURM_HOME": home, "PAISLURM_SITE": site}
        # As the current folder is now. Links stay: where home folders are behind a link, all nodes have the link.
        self._variables = {
            name: os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111
            for name, path in given.items()
            if path is not None
        }
        self._say = say or _log

    def __repr__(self) -> str:
        return f"Client({', '.join(f'{name}={value!r}' for name, value in self._variables.items())})"

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Do something for this client; a file that cannot be read or written is a FolderError."""
        with calling(Caller(self._variables, self._say)):
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
        from ..app.input.job_input import load_source

        with self._call():
            return load_source(source_of(file, parameters, suffix, secrets, slurm))

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
        from ..app.input.job_input import check_source

        with self._call():
            try:
                return check_source(source_of(file, parameters, suffix, secrets, slurm), quiet=True)[1]
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
        from ..app.input.job_input import compile_source

        with self._call():
            return compile_source(source_of(file, parameters, suffix, secrets, slurm), quiet=True)[1]

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
        from ..app.submit.after import jobs_before
        from ..app.submit.submit import submit

        with self._call():
            source = source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            words = [each if isinstance(each, str) else self._folder(each).name for each in after]
            submitted = submit(source, dry_run=False, after=jobs_before(words) if words else ())
            return self._run(submitted.folder, submitted.compiled)

    def find(self, job: str) -> JobRun:
        """Return a job by its name, `user~name` or Slurm id; NotFoundError where there is none."""
        from ..app.session import store, user_name

        with self._call():
            return self._run(store().find(job, user=user_name()))

    def jobs(self, *words: str, everything: bool = False) -> list[JobLine]:
        """Return a line for each job, the newest first; one query for all tells how they stand.

        `words` are names, ids, patterns such as "train-*" and sweeps; without one it is every job, with `everything`
        also those whose names later jobs have taken. Raises NotFoundError for a word that means no job.
        """
        from ..app.jobs.listing import lines
        from ..app.jobs.selecting import select
        from ..app.session import store, user_name

        with self._call():
            names = {folder.name for folder in select(store(), words, user=user_name())} if words else None
            found, problems = lines(store(), everything=everything or bool(words), names=names)
            for problem in problems:
                self._say(f"states are those that were known last: {problem}")
            return found

    def status(self, *jobs: JobRun | str) -> list[Status]:
        """Return how jobs stand now, in their order; one query for all. Words are those of `jobs`.

        Slurm is asked if its last answer is older than 15 seconds. One that does not answer is no error: see
        `Status.backend_error`. Raises NotFoundError.
        """
        from ..app.jobs.refresh import refresh_all
        from ..monitor.poll import open_job
        from .waiting import statuses

        with self._call():
            return statuses(refresh_all([open_job(folder) for folder in self._folders(jobs)]))

    def wait(self, *jobs: JobRun | str, first: bool = False, timeout: float | None = None) -> list[Status]:
        """Return how jobs ended, in their order; with `first` those alone that have when the first has.

        After `timeout` seconds it is how all stand then: `ended` is false for those that go on. A backend that does not
        answer is waited for. Ctrl-C raises InterruptedWaitError, and the jobs go on; NotFoundError is for a job
        of which nobody knows anything any more.
        """
        from .waiting import wait

        with self._call():
            return wait(self._folders(jobs), first=first, timeout=timeout)

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
        from ..app.jobs.logs.selection import LogSelection
        from ..app.jobs.logs.task_texts import task_texts

        with self._call():
            wanted = LogSelection(tasks=tasks, streams=(stream,), attempt=attempt, task_attempt=task_attempt, tail=tail)
            return task_texts(self._folder(job), wanted)

    def cancel(self, *jobs: JobRun | str) -> list[Status]:
        """End jobs, and return how they stand: they may go on until their tasks have ended.

        A job that has ended already is no error. Raises FolderError for another user's job, and BackendError, when all
        others have been cancelled.
        """
        from ..app.jobs.cancelling import cancel_jobs, joined
        from .waiting import statuses

        with self._call():
            done, errors = cancel_jobs(self._folders(jobs))
            if errors:
                raise joined(errors)
            return statuses(each.view for each in done)

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
        from ..app.session import store, user_name
        from ..errors import NotFoundError
        from ..monitor.after import find_job

        if isinstance(job, str):
            return store().find(job, user=user_name())
        found = find_job(store().jobs, job.name, job.created_at)
        if found is None:
            raise NotFoundError(Diagnostic(code="E520", message=f"{job.name} was removed from {store().jobs}"))
        return found[0]

    def _folders(self, jobs: Sequence[JobRun | str]) -> list[JobFolder]:
        from ..app.jobs.selecting import select
        from ..app.session import store, user_name

        found: dict[str, JobFolder] = {}
        for job in jobs:
            each = select(store(), [job], user=user_name()) if isinstance(job, str) else [self._folder(job)]
            found |= {folder.name: folder for folder in each}
        return list(found.values())


def _log(text: str) -> None:
    import logging

    logging.getLogger("paislurm").info("%s", text)
