"""Use cases that find, show and watch jobs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .job_change_uses import JobChangeUses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from ...state.job_folder import JobFolder
    from ...view.failure import JobFailure
    from ...view.jobs import JobView
    from ...view.line import JobLine
    from ..jobs.listing import Found, JobFilter
    from ..jobs.refresh import PolledJobs
    from ..jobs.selecting import Selected
    from ..jobs.waiting import Progress
    from ..reports.gather import WrittenReport
    from .run import JobRun
    from .use_cases import AnyJob


class JobUses(JobChangeUses):
    """Submit, watch, change and cancel jobs."""

    def find(self, job: str) -> JobRun:
        """Return a job by its name, `user~name` or Slurm id. Raises NotFoundError.

        >>> session.jobs.find("hello-world").status().state
        'SUCCEEDED'
        """
        return self._run(self._folder(job))

    def select(self, *jobs: AnyJob, last: bool = False) -> Selected:
        """Return the folders of these jobs, with `last` of your last job, and the names of the jobs of each group.

        >>> session.jobs.select(run, "sweep").names
        ['...~hello-world', '...~sweep-lr0_01', '...~sweep-lr0_1']
        """
        from ..jobs.selecting import Selected, named_groups

        words = [job for job in jobs if isinstance(job, str)]
        groups = named_groups(self._session.store, words, user=self._session.user)
        return Selected(folders=self._folders(jobs, last=last), groups=groups)

    def folder_of(self, job: AnyJob) -> Path:
        """Return the folder of a job; docs/reference/run-folder.md lists its files. Raises NotFoundError.

        >>> (session.jobs.folder_of(run) / "journal.jsonl").exists()
        True
        """
        return self._folder(job).path

    def names(self) -> list[str]:
        """Return the names of all folders of jobs, without order.

        >>> run.name in session.jobs.names()
        True
        """
        return self._session.store.names()

    def groups(self) -> list[str]:
        """Return the names of the user's groups, sorted.

        >>> session.jobs.groups()
        ['sweep']
        """
        from ..jobs.selecting import groups

        return groups(self._session.store, user=self._session.user)

    def of_group(self, group: str) -> list[JobFolder]:
        """Return the user's jobs of a group, by name. Raises NotFoundError.

        >>> [folder.name for folder in session.jobs.of_group("sweep")]
        ['...~sweep-lr0_01', '...~sweep-lr0_1']
        """
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

        >>> for job in session.jobs.list("checkpoint-*", states=["RUNNING"]):
        ...     print(job.job, job.state)
        checkpoint-long RUNNING
        """
        from ..jobs.listing import JobFilter

        wanted = JobFilter(words=words, group=group, states=tuple(states), since=since, everything=everything)
        found = self.listed(wanted)
        for problem in found.problems:
            self._session.say(f"these are the last known states: {problem}")
        return found.lines

    def listed(self, wanted: JobFilter) -> Found:
        """Return the same, and why states may be doubtful.

        >>> from paislurm.translator.app.jobs.listing import JobFilter
        >>> session.jobs.listed(JobFilter(words=("sweep",))).problems
        []
        """
        from ..jobs.listing import find_lines

        return find_lines(self._session, wanted)

    def say_doubts(self, found: Found) -> None:
        """Send events about unknown states of listed jobs and read errors.

        >>> from paislurm.translator.app.jobs.listing import JobFilter
        >>> session.jobs.say_doubts(session.jobs.listed(JobFilter()))
        """
        from ..jobs.listing import say_doubts

        say_doubts(self._session, found)

    def with_run(self, lines: Sequence[JobLine]) -> Sequence[JobLine]:
        """Add parameters, sweep values and results to lines; this reads journals and logs.

        >>> [job] = session.jobs.with_run(session.jobs.list("checkpoint-long"))
        >>> job.parameters["steps"]
        '3000'
        """
        from ..jobs.listing import with_run

        return with_run(lines)

    def with_sizes(self, lines: Iterable[JobLine]) -> Sequence[JobLine]:
        """Add the disk usage of each job's folder to lines; this reads all folders below it.

        >>> [job] = session.jobs.with_sizes(session.jobs.list("hello-world"))
        >>> job.size_bytes > 0
        True
        """
        from ..jobs.listing import with_sizes

        return with_sizes(lines)

    def with_typed_names(self, lines: Iterable[JobLine]) -> Sequence[JobLine]:
        """Return lines with names that mean their jobs for a user: the first of several is `demo@1`.

        >>> [job] = session.jobs.with_typed_names(session.jobs.list("hello-world"))
        >>> job.name
        '...~hello-world'
        """
        from ..jobs.listing import with_typed_names

        return with_typed_names(self._session.store, lines)

    def watch(self, *jobs: AnyJob, once: bool = False) -> Iterator[JobLine]:
        """Yield the state of each job, then each change until all jobs have ended; with `once`, yield no changes.

        Default: all jobs that have not ended. Raises NotFoundError.

        >>> for job in session.jobs.watch(run):
        ...     print(job.job, job.state)
        hello-world SUCCEEDED
        """
        from ..jobs.live import watch

        yield from watch(self._session, [folder.name for folder in self._folders(jobs)], once=once)

    def status(self, *jobs: AnyJob, cost: bool = False, usage: bool = False) -> Sequence[JobView]:
        """Return the states of jobs, in their order, with one query to the backend.

        Slurm is polled if the last poll result is older than 15 seconds. If Slurm does not answer,
        `JobView.backend_error` says why. `cost` adds `JobView.cost`, with one query to Slurm's accounting; `usage` adds
        `JobView.usages`, with one sstat for each running job. Raises NotFoundError.

        >>> [job.state for job in session.jobs.status(run, running)]
        ['SUCCEEDED', 'RUNNING']
        """
        return self.poll(*jobs, cost=cost, usage=usage).jobs()

    def poll(self, *jobs: AnyJob, last: bool = False, cost: bool = False, usage: bool = False) -> PolledJobs:
        """Return the same for printing, with `last` of your last job: logs are read only for jobs that are shown.

        >>> [job.state for job in session.jobs.poll("sweep").jobs()]
        ['WAITING', 'WAITING']
        """
        from ..jobs.refresh import PolledJobs, views_of
        from ..reports.gather import uses_of_jobs
        from ..task_facts import usages_of_jobs

        session, selected = self._session, self.select(*jobs, last=last)
        views = views_of(session, selected.folders)
        uses = uses_of_jobs(session, views) if cost else ()
        return PolledJobs(session, views, selected.groups, uses, usages_of_jobs(session, views) if usage else ())

    def failure_of(self, job: AnyJob) -> JobFailure | None:
        """Return why a job failed, without the failed command; None if it has not failed.

        >>> failure = session.jobs.failure_of(run)
        >>> print(failure.meaning if failure else "it has not failed")
        it has not failed
        """
        from ..failed_task import failure_of
        from ..jobs.refresh import refresh

        return failure_of(self._session, refresh(self._session, self._folder(job)), locates=False)

    def wait(self, *jobs: AnyJob, first: bool = False, timeout: float | None = None) -> Sequence[JobView]:
        """Wait for jobs and return how they ended, in their order; with `first`, return after the first end.

        After `timeout` seconds, return all states; `ended` is false for unfinished jobs. If the backend does
        not answer, the wait continues. Ctrl-C raises InterruptedWaitError, and the jobs continue. Raises NotFoundError
        for a job that the backend has forgotten.

        >>> for job in session.jobs.wait(run, timeout=3600):
        ...     print(job.job, job.state, job.exit_code)
        hello-world SUCCEEDED 0
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

        >>> ends = session.jobs.show_ends(run, reported=lambda job: print(job.reason))
        all 2 tasks have succeeded
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

        >>> session.jobs.report(run, output="hello.html").file
        'hello.html'
        """
        from ..reports.gather import write_report

        folders = self._folders(jobs, last=last) if group is None else self.of_group(group)
        return write_report(self._session, folders, output, group=group)
