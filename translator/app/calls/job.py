"""Calls that submit jobs, watch them and end them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..sources import source_of
from .base import Calls

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from ...pipeline import Compiled
    from ...state.job_folder import JobFolder
    from ..job_run import JobRun
    from ..jobs.folders.remove import Removal
    from ..jobs.logs.selection import Stream
    from ..sources import JobFile, Parameter
    from ..views.job import JobLine, JobView


class JobCalls(Calls):
    """Submit jobs, watch them and end them."""

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
        from ..submit.after import jobs_before
        from ..submit.submit import submit

        with self._call():
            source = source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            words = [each if isinstance(each, str) else self._folder(each).name for each in after]
            submitted = submit(self, source, dry_run=False, after=jobs_before(self, words) if words else ())
            return self._run(submitted.folder, submitted.compiled)

    def again(
        self,
        job: JobRun | str,
        *,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
        backend: str | None = None,
        host: str | None = None,
    ) -> JobRun:
        """Submit a job once more as it was submitted, and return the new one; arguments go before those of then.

        Raises NotFoundError, FolderError where too little is kept of the job, UsageError where secrets must be given
        once more, and the errors of `submit`.
        """
        from ..runs.again import source_again
        from ..submit.submit import submit

        with self._call():
            given = source_of("", parameters, suffix, secrets, slurm)
            source = source_again(self, self._folder(job), given, backend=backend, host=host)
            submitted = submit(self, source, dry_run=False)
            return self._run(submitted.folder, submitted.compiled)

    def sweep(
        self,
        file: JobFile,
        *values: str,
        parameters: Mapping[str, Parameter] | None = None,
        suffix: str = "",
        secrets: str | os.PathLike[str] | None = None,
        slurm: Mapping[str, str] | None = None,
        backend: str = "slurm",
        host: str | None = None,
    ) -> list[JobRun]:
        """Submit a job for each combination of values, and return all jobs of the sweep; those that are there stay.

        `values` are "lr=0.1,0.01", "seed=1..5" or "lr=0..1..0.25"; the other arguments and errors are those of
        `submit`. Raises UsageError for values that cannot be meant. What keeps one job from being submitted says how
        many were; the same call submits the others.
        """
        from ..submit.sweep.submit import submit_sweep

        with self._call():
            source = source_of(file, parameters, suffix, secrets, slurm, backend=backend, host=host)
            done = submit_sweep(self, source, values, dry_run=False, yes=True)
            present = [self._run(self.store.find(name, user=self.user)) for name in done.present]
            return [*present, *(self._run(each.folder, each.compiled) for each in done.submitted)]

    def find(self, job: str) -> JobRun:
        """Return a job by its name, `user~name` or Slurm id; NotFoundError where there is none."""
        with self._call():
            return self._run(self.store.find(job, user=self.user))

    def jobs(self, *words: str, everything: bool = False) -> list[JobLine]:
        """Return a line for each job, the newest first; one query for all tells how they stand.

        `words` are names, ids, patterns such as "train-*" and sweeps; without one it is every job, with `everything`
        also those whose names later jobs have taken. Raises NotFoundError for a word that means no job.
        """
        from ..jobs.listing import lines
        from ..jobs.selecting import select

        with self._call():
            names = {folder.name for folder in select(self.store, words, user=self.user)} if words else None
            found = lines(self, self.store, everything=everything or bool(words), names=names)
            for problem in found.problems:
                self.say(f"states are those that were known last: {problem}")
            return found.lines

    def status(self, *jobs: JobRun | str) -> list[JobView]:
        """Return how jobs stand now, in their order; one query for all. Words are those of `jobs`.

        Slurm is asked if its last answer is older than 15 seconds. One that does not answer is no error: see
        `JobView.backend_error`. Raises NotFoundError.
        """
        from ...monitor.poll import open_job
        from ..jobs.refresh import refresh_all
        from ..waiting import statuses

        with self._call():
            return statuses(self, refresh_all(self, [open_job(folder) for folder in self._folders(jobs)]))

    def wait(self, *jobs: JobRun | str, first: bool = False, timeout: float | None = None) -> list[JobView]:
        """Return how jobs ended, in their order; with `first` those alone that have when the first has.

        After `timeout` seconds it is how all stand then: `ended` is false for those that go on. A backend that does not
        answer is waited for. Ctrl-C raises InterruptedWaitError, and the jobs go on; NotFoundError is for a job
        of which nobody knows anything any more.
        """
        from ..waiting import wait

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
        from ..jobs.logs.selection import LogSelection
        from ..jobs.logs.targets import task_texts

        with self._call():
            wanted = LogSelection(tasks=tasks, streams=(stream,), attempt=attempt, task_attempt=task_attempt, tail=tail)
            return task_texts(self, self._folder(job), wanted)

    def cancel(self, *jobs: JobRun | str) -> list[JobView]:
        """End jobs, and return how they stand: they may go on until their tasks have ended.

        A job that has ended already is no error. Raises FolderError for another user's job, and BackendError, when all
        others have been cancelled.
        """
        from ..jobs.cancelling import cancel_jobs, joined
        from ..waiting import statuses

        with self._call():
            done, errors = cancel_jobs(self, self._folders(jobs))
            if errors:
                raise joined(errors)
            return statuses(self, [each.view for each in done])

    def update(
        self,
        *jobs: JobRun | str,
        slurm: Mapping[str, str] | None = None,
        nice: int | None = None,
        held: bool | None = None,
        retries: int | None = None,
    ) -> list[JobView]:
        """Change jobs that wait or run, and return how they stand; what Slurm takes holds for later attempts, too.

        `slurm` are time, partition, account and qos; `held` keeps a job from beginning, or lets it begin; `retries` is
        how often it is retried in all. Raises UsageError for values that cannot be meant, and RejectedError,
        FolderError for another user's job or BackendError, when all others have been changed.
        """
        from ..jobs.cancelling import joined
        from ..update.possible import values_of
        from ..update.updating import update_jobs
        from ..waiting import statuses

        with self._call():
            values = values_of(slurm or {}, nice=nice, held=held, retries=retries)
            folders = self._folders(jobs)
            done, errors = update_jobs(self, folders, values, several=len(folders) > 1)
            if errors:
                raise joined(errors)
            return statuses(self, [each.view for each in done])

    def remove(
        self,
        *jobs: JobRun | str,
        older_than: int | None = None,
        states: Collection[str] = (),
        keep_logs: bool = False,
        dry_run: bool = False,
    ) -> Removal:
        """Remove jobs that have ended, with all that they left in their folders; there is no way back.

        Only those that ended `older_than` seconds ago and in one of these `states`. With `keep_logs` records and logs
        stay; with `dry_run` nothing is removed. Raises NotFoundError, FolderError for another user's job or one that
        has not ended, and UsageError if nothing says which jobs; others are removed all the same.
        """
        from ..jobs.cancelling import joined
        from ..jobs.folders.remove import jobs_to_remove, remove_jobs

        with self._call():
            found = jobs_to_remove(self, self._words(jobs), older_than=older_than, states=states)
            done, errors = remove_jobs(self, found.jobs, keep_logs=keep_logs, dry_run=dry_run)
            if errors:
                raise joined(errors)
            return done

    def folder_of(self, job: JobRun | str) -> Path:
        """Return the folder of a job, whose files docs/reference/run-folder.md lists; NotFoundError if it is gone."""
        with self._call():
            return self._folder(job).path

    def _run(self, folder: JobFolder, compiled: Compiled | None = None) -> JobRun:
        from ..client import Client
        from ..job_run import JobRun

        assert isinstance(self, Client)
        created = folder.created()
        return JobRun(
            client=self, name=folder.name, created_at=created.happened_at if created else 0, compiled=compiled
        )
