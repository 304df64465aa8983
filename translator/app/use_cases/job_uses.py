"""Use cases that submit, watch, change and cancel jobs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..input.source import source_of
from .use_cases import UseCases

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Unpack

    from ...errors import PaislurmError
    from ...state.job_folder import JobFolder
    from ...state.journal_records import Dependency
    from ...view.failure import JobFailure
    from ...view.jobs import JobView
    from ...view.line import JobLine
    from ..input.source import JobFile, JobFileOptions, Source
    from ..jobs.cancelling import CancelledJob
    from ..jobs.listing import Found, JobFilter
    from ..jobs.removing import Removal, Removed, ToRemove
    from ..jobs.selecting import Selected
    from ..jobs.several import PolledJobs
    from ..jobs.updating import UpdatedJob
    from ..jobs.waiting import Progress
    from ..monitor_run import Worked
    from ..rehearsal.faults import Fault
    from ..rehearsal.resuming import Rehearsals
    from ..reports.gather import WrittenReport
    from ..submit.forecast import LayoutStarts, StartEstimate
    from .run import JobRun
    from .use_cases import AnyJob


class JobUses(UseCases):
    """Submit, watch, change and cancel jobs."""

    def submit(
        self, file: JobFile, *, after: Sequence[AnyJob] = (), dry_run: bool = False, **options: Unpack[JobFileOptions]
    ) -> JobRun:
        """Submit a job and return it without waiting. On an error, nothing is submitted.

        The job starts `after` other jobs have succeeded, or with "NAME:ended" after any end. The second job of a name
        is `user~job@2`. With `dry_run`, return the job that would be submitted. Raises ProtocolError, SiteError,
        PlanError, FolderError for a name in use, and BackendError: RejectedError if Slurm rejects the job,
        UnreachableError if it does not answer.
        """
        from ..submit.submitting import submit

        before = self._before(after)
        submitted = submit(self._session, source_of(file, options), dry_run=dry_run, after=before)
        return self._run(submitted.folder, submitted)

    def _before(self, after: Sequence[AnyJob]) -> tuple[Dependency, ...]:
        from ..submit.submission import jobs_before

        words = [each if isinstance(each, str) else self._folder(each).name for each in after]
        return jobs_before(self._session, words)

    def again(self, job: AnyJob, **options: Unpack[JobFileOptions]) -> JobRun:
        """Submit a job again with the same options, and return the new job; options given here override them.

        Raises NotFoundError, FolderError if the job's files are incomplete, UsageError if secrets must be given again,
        and the errors of `submit`.
        """
        return self.submit(self.file_of(job, **options))

    def file_of(self, job: AnyJob, given: Source | None = None, **options: Unpack[JobFileOptions]) -> Source:
        """Return the recorded job file of a job and its options; options given here, or in `given`, override them.

        Events report what has changed since. Raises the errors of `again`.
        """
        from ..submit.recorded import source_again

        backend, host = options.get("backend"), options.get("host")
        given = given or source_of("", options)
        return source_again(self._session, self._folder(job), given, backend=backend, host=host)

    def estimate(
        self, file: JobFile, *, after: Sequence[AnyJob] = (), **options: Unpack[JobFileOptions]
    ) -> StartEstimate:
        """Return when a job would start if it were submitted now. Nothing is submitted.

        The errors are those of `submit`.
        """
        from ..submit.forecast import estimate

        return estimate(self._session, source_of(file, options), self._before(after))

    def estimate_layouts(self, file: JobFile, **options: Unpack[JobFileOptions]) -> LayoutStarts:
        """Return the plan of a job and when it would start, in each layout that it can have. Nothing is submitted.

        The errors are those of `submit`.
        """
        from ..submit.forecast import estimate_layouts

        return estimate_layouts(self._session, source_of(file, options))

    def rehearse(
        self,
        file: JobFile,
        *faults: Fault,
        tasks: int | None = None,
        patience: float | None = None,
        **options: Unpack[JobFileOptions],
    ) -> Rehearsals:
        """Run a job once for each fault (default: all), break it, and judge its second attempt.

        `backend` is local (the default) or slurm; `tasks` limits the tasks of each role (default: all). Each step may
        take `patience` seconds (default: 120, or 600 with Slurm). Raises UsageError if the job does not say how it
        resumes, and the errors of `submit`.
        """
        from msgspec.structs import replace

        from ..rehearsal.rehearsing import rehearse

        source = source_of(file, {"backend": "local", **options})
        return rehearse(self._session, replace(source, most_tasks=tasks), faults, patience)

    def find(self, job: str) -> JobRun:
        """Return a job by its name, `user~name` or Slurm id. Raises NotFoundError."""
        return self._run(self._folder(job))

    def select(self, *jobs: AnyJob, last: bool = False) -> Selected:
        """Return the folders of these jobs, with `last` of your last job, and the names of the jobs of each group."""
        from ..jobs.selecting import Selected, named_groups

        words = [job for job in jobs if isinstance(job, str)]
        groups = named_groups(self._session.store, words, user=self._session.user)
        return Selected(folders=self._folders(jobs, last=last), groups=groups)

    def folder_of(self, job: AnyJob) -> Path:
        """Return the folder of a job; docs/reference/run-folder.md lists its files. Raises NotFoundError."""
        return self._folder(job).path

    def names(self) -> list[str]:
        """Return the names of all folders of jobs, without order."""
        return self._session.store.names()

    def groups(self) -> list[str]:
        """Return the names of the user's groups, sorted."""
        from ..jobs.selecting import groups

        return groups(self._session.store, user=self._session.user)

    def of_group(self, group: str) -> list[JobFolder]:
        """Return the user's jobs of a group, by name. Raises NotFoundError."""
        from ..jobs.selecting import folders_of_group

        return folders_of_group(self._session, group)

    def list(
        self,
        *words: str,
        group: str | None = None,
        states: Sequence[str] = (),
        since: int | None = None,
        everything: bool = False,
    ) -> list[JobLine]:
        """Return a line for each job, the newest first, with one query to the backend for all.

        `words` are names, ids, patterns such as "train-*" and sweeps; `group` is a sweep. Default: all jobs;
        `everything` includes earlier jobs whose names were used again. `states` and `since` (seconds since 1970) select
        jobs by state and time of submission. Raises NotFoundError for a word without a job.
        """
        from ..jobs.listing import JobFilter

        wanted = JobFilter(words=words, group=group, states=tuple(states), since=since, everything=everything)
        found = self.listed(wanted)
        for problem in found.problems:
            self._session.say(f"these are the last known states: {problem}")
        return found.lines

    def listed(self, wanted: JobFilter) -> Found:
        """Return the same, and why states may be doubtful."""
        from ..jobs.listing import find_lines

        return find_lines(self._session, wanted)

    def say_doubts(self, found: Found) -> None:
        """Send events about unknown states of listed jobs and read errors."""
        from ..jobs.listing import say_doubts

        say_doubts(self._session, found)

    def with_run(self, lines: Sequence[JobLine]) -> Sequence[JobLine]:
        """Add parameters, sweep values and results to lines; this reads journals and logs."""
        from ..jobs.listing import with_run

        return with_run(lines)

    def with_sizes(self, lines: Iterable[JobLine]) -> Sequence[JobLine]:
        """Add the disk usage of each job's folder to lines; this reads all folders below it."""
        from ..jobs.listing import with_sizes

        return with_sizes(lines)

    def with_typed_names(self, lines: Iterable[JobLine]) -> Sequence[JobLine]:
        """Return lines with names that mean their jobs for a user: the first of several is `demo@1`."""
        from ..jobs.listing import with_typed_names

        return with_typed_names(self._session.store, lines)

    def watch(self, *jobs: AnyJob, once: bool = False) -> Iterator[JobLine]:
        """Yield the state of each job, then each change until all jobs have ended; with `once`, yield no changes.

        Default: all jobs that have not ended. Raises NotFoundError.
        """
        from ..jobs.live import watch

        yield from watch(self._session, [folder.name for folder in self._folders(jobs)], once=once)

    def status(self, *jobs: AnyJob, cost: bool = False, usage: bool = False) -> Sequence[JobView]:
        """Return the states of jobs, in their order, with one query to the backend.

        Slurm is polled if the last poll result is older than 15 seconds. If Slurm does not answer,
        `JobView.backend_error` says why. `cost` adds `JobView.cost`, with one query to Slurm's accounting; `usage` adds
        `JobView.usages`, with one sstat for each running job. Raises NotFoundError.
        """
        return self.poll(*jobs, cost=cost, usage=usage).jobs()

    def poll(self, *jobs: AnyJob, last: bool = False, cost: bool = False, usage: bool = False) -> PolledJobs:
        """Return the same for printing, with `last` of your last job: logs are read only for jobs that are shown."""
        from ..jobs.several import poll_jobs

        return poll_jobs(self._session, self.select(*jobs, last=last), cost=cost, usage=usage)

    def failure_of(self, job: AnyJob) -> JobFailure | None:
        """Return why a job failed, without the failed command; None if it has not failed."""
        from ..failed_task import failure_of
        from ..jobs.refresh import refresh

        return failure_of(self._session, refresh(self._session, self._folder(job)), locates=False)

    def wait(self, *jobs: AnyJob, first: bool = False, timeout: float | None = None) -> Sequence[JobView]:
        """Wait for jobs and return how they ended, in their order; with `first`, return after the first end.

        After `timeout` seconds, return all states; `ended` is false for unfinished jobs. If the backend does
        not answer, the wait continues. Ctrl-C raises InterruptedWaitError, and the jobs continue. Raises NotFoundError
        for a job that the backend has forgotten.
        """
        from ...errors import WaitTimeoutError
        from ...monitor.poll import open_job
        from ..job_view import job_views
        from ..jobs.job_sites import JobSites
        from ..jobs.refresh import refresh_all
        from ..jobs.waiting import known_ends, wait_for_ends

        session, folders = self._session, self._folders(jobs)
        try:
            return known_ends(wait_for_ends(session, folders, first=first, between=lambda: False, timeout=timeout))
        except WaitTimeoutError:
            opened = [open_job(folder) for folder in folders]
            return job_views(session, refresh_all(session, opened, max_age=JobSites(session).interval()))

    def show_ends(
        self,
        *jobs: AnyJob,
        first: bool = False,
        timeout: float | None = None,
        max_age: float | None = None,
        quiet: bool = False,
        explain: bool = True,
        reported: Callable[[JobView], object] = lambda _: None,
        progress: Progress | None = None,
    ) -> Sequence[JobView]:
        """Wait for jobs for somebody who watches, and return how they ended. Raises WaitTimeoutError after `timeout`.

        `reported` is called with each end. Events report earlier attempts, unless `quiet`; without `explain`, failures
        have no reasons. Poll results are at most `max_age` seconds old; default: the site's interval.
        """
        from ..jobs.waiting import known_ends, wait_for_ends

        ends = wait_for_ends(
            self._session,
            self._folders(jobs),
            first=first,
            timeout=timeout,
            max_age=max_age,
            quiet=quiet,
            explain=explain,
            reported=reported,
            progress=progress,
        )
        return known_ends(ends)

    def tidy(self, *jobs: AnyJob) -> None:
        """Tidy the folders of jobs that have just ended."""
        from ..jobs.housekeeping import tidy_what_has_just_ended

        tidy_what_has_just_ended(self._session, self._folders(jobs))

    def cancel(self, *jobs: AnyJob, last: bool = False) -> Sequence[CancelledJob]:
        """Cancel jobs, and return their states. A job is still unfinished until its tasks have ended.

        A job that has already ended is no error. Raises FolderError for another user's job, and BackendError, after
        all other jobs have been cancelled and an event has reported them.
        """
        from ..jobs.cancelling import cancel_jobs, results

        return results(self._session, *cancel_jobs(self._session, self._folders(jobs, last=last)))

    def update(
        self,
        *jobs: AnyJob,
        last: bool = False,
        slurm: Mapping[str, str] | None = None,
        nice: int | None = None,
        held: bool | None = None,
        retries: int | None = None,
    ) -> Sequence[UpdatedJob]:
        """Change waiting or running jobs, and return their states. Accepted changes also apply to later attempts.

        `slurm` contains time, partition, account and qos; `held` holds a job or releases it; `retries` is the total
        number of retries. Raises UsageError for invalid values. Raises RejectedError, FolderError for another user's
        job, or BackendError, after all other jobs have been changed and an event has reported them.
        """
        from ..jobs.cancelling import results
        from ..jobs.updating import update_jobs, values_of

        values = values_of(slurm or {}, nice=nice, held=held, retries=retries)
        return results(self._session, *update_jobs(self._session, self._folders(jobs, last=last), values))

    def remove(
        self,
        *jobs: AnyJob,
        older_than: int | None = None,
        states: Collection[str] = (),
        keep_logs: bool = False,
        dry_run: bool = False,
    ) -> Removal:
        """Remove jobs that have ended, with all files in their folders. This cannot be undone.

        `older_than` (seconds) and `states` select jobs by their end. `keep_logs` keeps records and logs; `dry_run`
        removes nothing. Raises NotFoundError, FolderError for another user's job or an unfinished one, and UsageError
        if nothing selects jobs; the other jobs are removed anyway.
        """
        from ..jobs.cancelling import joined

        found = self.to_remove(*jobs, older_than=older_than, states=states)
        done, errors = self.remove_found(found, keep_logs=keep_logs, dry_run=dry_run)
        if errors:
            raise joined(errors)
        return done

    def to_remove(self, *jobs: AnyJob, older_than: int | None = None, states: Collection[str] = ()) -> ToRemove:
        """Return the jobs that `remove` would remove. Raises its errors."""
        from ..jobs.removing import jobs_to_remove

        words = [job if isinstance(job, str) else self._folder(job).name for job in jobs]
        return jobs_to_remove(self._session, words, older_than=older_than, states=states)

    def remove_found(
        self,
        found: ToRemove,
        *,
        keep_logs: bool = False,
        dry_run: bool = False,
        each: Callable[[Removed], object] = lambda _: None,
    ) -> tuple[Removal, Sequence[PaislurmError]]:
        """Remove these jobs, call `each` after each removal, and return all removals and the errors."""
        from ..jobs.removing import remove_jobs

        return remove_jobs(self._session, found.jobs, keep_logs=keep_logs, dry_run=dry_run, each=each)

    def report(
        self,
        *jobs: AnyJob,
        output: str | os.PathLike[str] | None = None,
        group: str | None = None,
        last: bool = False,
    ) -> WrittenReport:
        """Write an HTML page about a job, or a comparison of several jobs or a sweep, and return its path.

        Default for `output`: JOB.report.html in the current folder. Raises NotFoundError, and UsageError if `output` is
        not a file.
        """
        from ..reports.gather import write_report

        folders = self._folders(jobs, last=last) if group is None else self.of_group(group)
        return write_report(self._session, folders, output, group=group)

    def monitor(self, job: AnyJob | None = None) -> Worked:
        """Poll all jobs once: record how they end, and submit the retries that are due.

        With `job`, handle only that job, whose attempt has just ended.
        """
        from ..monitor_run import Worked

        return self.run_monitor(None if job is None else self._folder(job).name, once=True) or Worked(worked=True)

    def run_monitor(self, job: str | None = None, site: str | None = None, *, once: bool = False) -> Worked | None:
        """Monitor all jobs until none is left, with `once` a single time, or handle one job whose attempt has ended.

        `site` is a site profile for all jobs; default: each job's own. Return None when the CPU time of this process is
        nearly used up and `continue_monitor` must continue.
        """
        from ..monitor_run import monitor_job, run_monitor

        if job:
            return monitor_job(self._session, job, site, once=once)
        return run_monitor(self._session, site, once=once)

    def continue_monitor(self, *words: str) -> int:
        """Continue the monitor in a new process with these arguments, and return its exit status."""
        from ..monitor_run import go_on_in_another

        return go_on_in_another(self._session, words)
