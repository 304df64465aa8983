"""Calls that watch, change and cancel jobs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .base import Calls

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from ...view.job import JobView
    from ...view.line import JobLine
    from ..client import JobRun
    from ..jobs.logs.selection import Stream
    from ..jobs.removal import Removal
    from ..nodes import NodeList
    from ..tasks.port_forward import PortForward


class JobCalls(Calls):
    """Watch, change and cancel jobs."""

    def find(self, job: str) -> JobRun:
        """Return a job by its name, `user~name` or Slurm id. Raises NotFoundError."""
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
        """Return a line for each job, the newest first, with one query to the backend for all.

        `words` are names, ids, patterns such as "train-*" and sweeps; `group` is a sweep. Default: all jobs;
        `everything` includes earlier jobs whose names were used again. `states` and `since` (seconds since 1970) select
        jobs by state and time of submission. Raises NotFoundError for a word without a job.
        """
        from ..jobs.listing import JobFilter, find_lines

        with self._call():
            wanted = JobFilter(words=words, group=group, states=tuple(states), since=since, everything=everything)
            found = find_lines(self, wanted)
            for problem in found.problems:
                self.say(f"these are the last known states: {problem}")
            return found.lines

    def watch(self, *words: str, once: bool = False) -> Iterator[JobLine]:
        """Yield the state of each job, then each change until all jobs have ended; with `once`, yield no changes.

        Words are those of `jobs`. Default: all jobs that have not ended. Raises NotFoundError.
        """
        from ..jobs.changes import watch

        with self._call():
            yield from watch(self, [folder.name for folder in self._folders(words)], once=once)

    def status(self, *jobs: JobRun | str, cost: bool = False, usage: bool = False) -> list[JobView]:
        """Return the states of jobs, in their order, with one query to the backend. Words are those of `jobs`.

        Slurm is polled if the last poll result is older than 15 seconds. If Slurm does not answer,
        `JobView.backend_error` says why. `cost` adds `JobView.cost`, with one query to Slurm's accounting; `usage` adds
        `JobView.usages`, with one sstat for each running job. Raises NotFoundError.
        """
        from ..job_view import job_views
        from ..jobs.refresh import views_of
        from ..report.gather import uses_of_jobs
        from ..usage import usages_of_jobs

        with self._call():
            views = views_of(self, self._folders(jobs))
            uses = uses_of_jobs(self, views) if cost else ()
            return job_views(self, views, uses, usages_of_jobs(self, views) if usage else ())

    def wait(self, *jobs: JobRun | str, first: bool = False, timeout: float | None = None) -> list[JobView]:
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

        with self._call():
            folders = self._folders(jobs)
            try:
                ends = wait_for_ends(self, folders, first=first, between=lambda: False, timeout=timeout)
            except WaitTimeoutError:
                opened = [open_job(folder) for folder in folders]
                return job_views(self, refresh_all(self, opened, max_age=JobSites(self).interval()))
            return known_ends(ends)

    def logs(
        self,
        job: JobRun | str,
        *tasks: str,
        stream: Stream = "stdout",
        attempt: int | None = None,
        task_attempt: int | None = None,
        tail: int | None = None,
    ) -> dict[str, str]:
        """Return the output of a job's tasks so far, by task; see `JobRun.logs`."""
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
        """Call `each` with the task's name and each line of its output, and return the state of the ended job.

        Existing output comes first. `tasks` are tasks, roles or patterns; default: all. Raises NotFoundError. Ctrl-C
        raises InterruptedWaitError, and the job continues.
        """
        from ..jobs.logs.following import follow
        from ..jobs.logs.lines import LineTeller
        from ..jobs.logs.selection import LogSelection

        with self._call():
            wanted = LogSelection(tasks=tasks, streams=tuple(streams))
            return follow(self, self._folder(job), wanted, LineTeller(each))

    def cancel(self, *jobs: JobRun | str) -> list[JobView]:
        """Cancel jobs, and return their states. A job is still unfinished until its tasks have ended.

        A job that has already ended is no error. Raises FolderError for another user's job, and BackendError, after
        all other jobs have been cancelled.
        """
        from ..job_view import job_views
        from ..jobs.cancelling import cancel_jobs, joined

        with self._call():
            done, errors = cancel_jobs(self, self._folders(jobs))
            if errors:
                raise joined(errors)
            return job_views(self, [each.view for each in done])

    def update(
        self,
        *jobs: JobRun | str,
        slurm: Mapping[str, str] | None = None,
        nice: int | None = None,
        held: bool | None = None,
        retries: int | None = None,
    ) -> list[JobView]:
        """Change waiting or running jobs, and return their states. Accepted changes also apply to later attempts.

        `slurm` contains time, partition, account and qos; `held` holds a job or releases it; `retries` is the total
        number of retries. Raises UsageError for invalid values. Raises RejectedError, FolderError for another user's
        job, or BackendError, after all other jobs have been changed.
        """
        from ..job_view import job_views
        from ..jobs.cancelling import joined
        from ..update import update_jobs, values_of

        with self._call():
            values = values_of(slurm or {}, nice=nice, held=held, retries=retries)
            folders = self._folders(jobs)
            done, errors = update_jobs(self, folders, values, several=len(folders) > 1)
            if errors:
                raise joined(errors)
            return job_views(self, [each.view for each in done])

    def remove(
        self,
        *jobs: JobRun | str,
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
        from ..jobs.removal import jobs_to_remove, remove_jobs

        with self._call():
            found = jobs_to_remove(self, self._words(jobs), older_than=older_than, states=states)
            done, errors = remove_jobs(self, found.jobs, keep_logs=keep_logs, dry_run=dry_run)
            if errors:
                raise joined(errors)
            return done

    def nodes(self) -> NodeList:
        """Return the user's bad nodes, the latest first."""
        from ..nodes import list_nodes

        with self._call():
            return list_nodes(self)

    def add_node(self, node: str, *, reason: str = "") -> NodeList:
        """Add a bad node, and return all. Raises UsageError for an unknown name, and BackendError without Slurm."""
        from ..nodes import add_node

        with self._call():
            return add_node(self, node, reason)

    def remove_node(self, node: str) -> NodeList:
        """Remove a bad node, and return the others. Raises UsageError if it is not among them."""
        from ..nodes import remove_node

        with self._call():
            return remove_node(self, node)

    def report(
        self, *jobs: JobRun | str, output: str | os.PathLike[str] | None = None, group: str | None = None
    ) -> Path:
        """Write an HTML page about a job, or a comparison of several jobs or a sweep, and return its path.

        Default for `output`: JOB.report.html in the current folder. Raises NotFoundError, and UsageError if `output` is
        not a file.
        """
        from pathlib import Path

        from ..jobs.selecting import folders_of_group
        from ..report.gather import write_report

        with self._call():
            folders = self._folders(jobs) if group is None else folders_of_group(self, group)
            return Path(write_report(self, folders, output, group=group).file)

    def folder_of(self, job: JobRun | str) -> Path:
        """Return the folder of a job; docs/reference/run-folder.md lists its files. Raises NotFoundError."""
        with self._call():
            return self._folder(job).path


class TaskCalls(Calls):
    """Run commands in tasks, and forward their ports."""

    def exec(self, job: JobRun | str, task: str, *command: str) -> int:
        """Run a command beside a running task (default: a shell), and return its exit status.

        The command uses this process's standard input and output. `task` is `worker-0`, a role of one task, or "" in a
        job of one task. Raises NotFoundError for a task that does not run, UsageError if several tasks match, and
        FolderError for another user's job.
        """
        from ..tasks.attaching import run_in_task

        with self._call():
            return run_in_task(self, self._folder(job).name, task, command)

    def port_forward(
        self,
        job: JobRun | str,
        task: str = "",
        port: str = "",
        *,
        local_port: int | None = None,
        login: str | None = None,
    ) -> PortForward:
        """Return the ssh command that connects the user's own machine to a port of a running task.

        `port` is a label or a number; "" means the only port. `task` is as for `exec`. `login` is the name of the login
        node on the user's machine. Raises NotFoundError for a task that does not run or an unknown port, and UsageError
        if several match.
        """
        from ..tasks.port_forward import port_forward

        with self._call():
            return port_forward(self, self._folder(job).name, task, port, local_port=local_port, login=login)
