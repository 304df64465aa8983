"""Calls that watch jobs, change them and end them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .base import Calls

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from ..job_run import JobRun
    from ..jobs.folders.disk_use import DiskUse
    from ..jobs.folders.remove import Removal
    from ..jobs.logs.selection import Stream
    from ..views.job import JobView
    from ..views.line import JobLine


class JobCalls(Calls):
    """Watch jobs, change them and end them."""

    def find(self, job: str) -> JobRun:
        """Return a job by its name, `user~name` or Slurm id; NotFoundError where there is none."""
        with self._call():
            return self._run(self.store.find(job, user=self.user))

    def jobs(
        self,
        *words: str,
        group: str | None = None,
        states: Sequence[str] = (),
        since: int | None = None,
        everything: bool = False,
    ) -> list[JobLine]:
        """Return a line for each job, the newest first; one query for all tells how they stand.

        `words` are names, ids, patterns such as "train-*" and sweeps, `group` is a sweep; without one it is every job,
        with `everything` also those whose names later jobs have taken. Only jobs in one of these `states`, submitted
        `since` then, in seconds since 1970. Raises NotFoundError for a word that means no job.
        """
        from ..jobs.listing import JobFilter, find_lines

        with self._call():
            wanted = JobFilter(words=words, group=group, states=tuple(states), since=since, everything=everything)
            found = find_lines(self, wanted)
            for problem in found.problems:
                self.say(f"states are those that were known last: {problem}")
            return found.lines

    def watch(self, *words: str, once: bool = False) -> Iterator[JobLine]:
        """Yield how each job stands whenever that has changed, until all have ended, or `once`.

        Words are those of `jobs`; without one it is all that have not ended. Raises NotFoundError.
        """
        from ..jobs.changes import watch

        with self._call():
            yield from watch(self, [folder.name for folder in self._folders(words)], once=once)

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

    def follow(
        self,
        job: JobRun | str,
        *tasks: str,
        each: Callable[[str, str], object],
        streams: Sequence[Stream] = ("stdout", "stderr"),
    ) -> JobView:
        """Call `each` with `worker-0` and each line that this task prints until the job has ended; return how it did.

        What tasks have printed before comes first. `tasks` are tasks, roles or patterns, all without one. Raises
        NotFoundError; Ctrl-C raises InterruptedWaitError, and the job goes on.
        """
        from ..jobs.logs.following import follow
        from ..jobs.logs.lines import LineTeller
        from ..jobs.logs.selection import LogSelection
        from ..waiting import statuses

        with self._call():
            wanted = LogSelection(tasks=tasks, streams=tuple(streams))
            return statuses(self, [follow(self, self._folder(job), wanted, LineTeller(each))])[0]

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

    def disk_use(self, *words: str) -> DiskUse:
        """Return what jobs take on the disk, the largest first; words are those of `jobs`. Raises NotFoundError."""
        from ..jobs.folders.disk_use import disk_use

        with self._call():
            return disk_use(self, words)

    def report(
        self, *jobs: JobRun | str, output: str | os.PathLike[str] | None = None, group: str | None = None
    ) -> Path:
        """Write a page of HTML about a job, or one that compares several or those of a sweep, and return its file.

        Without `output` that is JOB.report.html in the current folder. Raises NotFoundError, and UsageError for a place
        that is no file.
        """
        from pathlib import Path

        from ..jobs.selecting import folders_of_group
        from ..report.write import write_report

        with self._call():
            folders = self._folders(jobs) if group is None else folders_of_group(self, group)
            return Path(write_report(self, folders, output, group=group).file)

    def folder_of(self, job: JobRun | str) -> Path:
        """Return the folder of a job, whose files docs/reference/run-folder.md lists; NotFoundError if it is gone."""
        with self._call():
            return self._folder(job).path
