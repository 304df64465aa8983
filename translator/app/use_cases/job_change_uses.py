"""Use cases that submit, change, cancel, remove and monitor jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..input.source import source_of
from .use_cases import UseCases

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from typing_extensions import Unpack

    from ...errors import PaislurmError
    from ...state.journal_records import Dependency
    from ..input.source import JobFile, JobFileOptions, Source
    from ..jobs.cancelling import CancelledJob
    from ..jobs.removing import Removal, Removed, ToRemove
    from ..jobs.updating import UpdatedJob
    from ..monitor_run import Worked
    from ..rehearsal.provoking import Fault
    from ..rehearsal.resuming import Rehearsals
    from ..submit.forecast import LayoutStarts, StartEstimate
    from .run import JobRun
    from .use_cases import AnyJob


class JobChangeUses(UseCases):
    """Submit, change, cancel, remove and monitor jobs."""

    def submit(
        self, file: JobFile, *, after: Sequence[AnyJob] = (), dry_run: bool = False, **options: Unpack[JobFileOptions]
    ) -> JobRun:
        """Submit a job and return it without waiting. On an error, nothing is submitted.

        The job starts `after` other jobs have succeeded, or with "NAME:ended" after any end. The second job of a name
        is `user~job@2`. With `dry_run`, return the job that would be submitted. Raises ProtocolError, SiteError,
        PlanError, FolderError for a name in use, and BackendError: RejectedError if Slurm rejects the job,
        UnreachableError if it does not answer.

        >>> job = session.jobs.submit("sweep.yaml", backend="local", parameters={"lr": 0.2}, suffix="-a")
        >>> job.wait().succeeded
        True
        """
        from ..submit.submitting import submit

        before = self._before(after)
        submitted = submit(self._session, source_of(file, options), dry_run=dry_run, after=before)
        return self._run(submitted.folder, submitted)

    def _before(self, after: Sequence[AnyJob]) -> tuple[Dependency, ...]:
        from ..submit.submission import jobs_before

        return jobs_before(self._session, [self._word(each) for each in after])

    def again(self, job: AnyJob, **options: Unpack[JobFileOptions]) -> JobRun:
        """Submit a job again with the same options, and return the new job; options given here override them.

        Raises NotFoundError, FolderError if the job's files are incomplete, UsageError if secrets must be given again,
        and the errors of `submit`.

        >>> session.jobs.again(run, suffix="-again").wait().state
        'SUCCEEDED'
        """
        return self.submit(self.file_of(job, **options))

    def file_of(self, job: AnyJob, given: Source | None = None, **options: Unpack[JobFileOptions]) -> Source:
        """Return the recorded job file of a job and its options; options given here, or in `given`, override them.

        Events report what has changed since. Raises the errors of `again`.

        >>> session.jobs.file_of(run).backend
        'local'
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

        >>> start = session.jobs.estimate("hello-world.yaml")
        >>> start.expected_start_at, start.expected_nodes
        (datetime.datetime(...), 'n[...]')
        """
        from ..submit.forecast import estimate

        return estimate(self._session, source_of(file, options), self._before(after))

    def estimate_layouts(self, file: JobFile, **options: Unpack[JobFileOptions]) -> LayoutStarts:
        """Return the plan of a job and when it would start, in each layout that it can have. Nothing is submitted.

        The errors are those of `submit`.

        >>> for layout in session.jobs.estimate_layouts("hello-world.yaml").layouts:
        ...     print(layout.layout_kind, layout.estimate.expected_nodes)
        plain n[...]
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

        >>> [kill] = session.jobs.rehearse("checkpoint.yaml", "kill", parameters=steps).rehearsals
        >>> kill.resuming.verdict
        'continued'
        """
        from msgspec.structs import replace

        from ..rehearsal.rehearsing import rehearse

        source = source_of(file, {"backend": "local", **options})
        return rehearse(self._session, replace(source, most_tasks=tasks), faults, patience)

    def tidy(self, *jobs: AnyJob) -> None:
        """Tidy the folders of jobs that have just ended.

        >>> session.jobs.tidy(run)
        """
        from ..jobs.removing import tidy_what_has_just_ended

        tidy_what_has_just_ended(self._session, self._folders(jobs))

    def cancel(self, *jobs: AnyJob, last: bool = False) -> Sequence[CancelledJob]:
        """Cancel jobs, and return their states. A job is still unfinished until its tasks have ended.

        A job that has already ended is no error. Raises FolderError for another user's job, and BackendError, after
        all other jobs have been cancelled and an event has reported them.

        >>> job = session.jobs.submit("hello-world.yaml", suffix="-c")
        >>> for cancelled in session.jobs.cancel(job):
        ...     print(cancelled.job, cancelled.state)
        hello-world-c STOPPING
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

        >>> for job in session.jobs.update("sweep", slurm={"time": "2:00:00"}):
        ...     print(job.job, job.time_limit)
        sweep-lr0_01 7200
        sweep-lr0_1 7200
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

        >>> removal = session.jobs.remove(run, dry_run=True)
        >>> removal.removed[0].size_bytes > 0
        True
        """
        from ..jobs.cancelling import joined

        found = self.to_remove(*jobs, older_than=older_than, states=states)
        done, errors = self.remove_found(found, keep_logs=keep_logs, dry_run=dry_run)
        if errors:
            raise joined(errors)
        return done

    def to_remove(self, *jobs: AnyJob, older_than: int | None = None, states: Collection[str] = ()) -> ToRemove:
        """Return the jobs that `remove` would remove. Raises its errors.

        >>> found = session.jobs.to_remove("hello-world")
        >>> [job.folder.name for job in found.jobs]
        ['...~hello-world']
        """
        from ..jobs.removing import jobs_to_remove

        words = [self._word(job) for job in jobs]
        return jobs_to_remove(self._session, words, older_than=older_than, states=states)

    def remove_found(
        self,
        found: ToRemove,
        *,
        keep_logs: bool = False,
        dry_run: bool = False,
        each: Callable[[Removed], object] = lambda _: None,
    ) -> tuple[Removal, Sequence[PaislurmError]]:
        """Remove these jobs, call `each` after each removal, and return all removals and the errors.

        >>> found = session.jobs.to_remove("hello-world")
        >>> removal, errors = session.jobs.remove_found(found, dry_run=True)
        >>> errors
        []
        """
        from ..jobs.removing import remove_jobs

        return remove_jobs(self._session, found.jobs, keep_logs=keep_logs, dry_run=dry_run, each=each)

    def monitor(self, job: AnyJob | None = None) -> Worked:
        """Poll all jobs once: record how they end, and submit the retries that are due.

        With `job`, handle only that job, whose attempt has just ended.

        >>> session.jobs.monitor().worked
        True
        """
        from ..monitor_run import Worked

        return self.run_monitor(None if job is None else self._folder(job).name, once=True) or Worked(worked=True)

    def run_monitor(self, job: str | None = None, site: str | None = None, *, once: bool = False) -> Worked | None:
        """Monitor all jobs until none is left, with `once` a single time, or handle one job whose attempt has ended.

        `site` is a site profile for all jobs; default: each job's own. Return None when the CPU time of this process is
        nearly used up and `continue_monitor` must continue.

        >>> session.jobs.run_monitor(once=True).worked
        True
        """
        from ..monitor_run import monitor_job, run_monitor

        if job:
            return monitor_job(self._session, job, site, once=once)
        return run_monitor(self._session, site, once=once)

    def continue_monitor(self, *words: str) -> int:
        """Continue the monitor in a new process with these arguments, and return its exit status."""
        from ..monitor_run import go_on_in_another

        return go_on_in_another(self._session, words)
