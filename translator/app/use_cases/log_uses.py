"""Use cases about the output of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .use_cases import UseCases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from ...state.job_folder import JobFolder
    from ...view.jobs import JobView
    from ..jobs.logs.following import Printer
    from ..jobs.logs.selection import LogSelection, Stream
    from ..jobs.logs.targets import LogFiles, Target
    from ..jobs.waiting import Progress
    from .use_cases import AnyJob


class LogUses(UseCases):
    """Read, follow and list the output of tasks."""

    def read(
        self,
        job: AnyJob,
        *tasks: str,
        stream: Stream = "stdout",
        attempt: int | None = None,
        task_attempt: int | None = None,
        tail: int | None = None,
    ) -> dict[str, str]:
        r"""Return the output of a job's tasks so far, by task: `{"worker-0": "hello\n"}`.

        `tasks` are roles, tasks `ROLE-INDEX` and patterns; default: all. Default for `attempt` (of the job, from 0) and
        `task_attempt`: the last one. `tail` limits the output to the last lines. A task without output has "". The text
        is untrusted: escape it before printing it on a terminal. Raises NotFoundError.
        """
        from ..jobs.logs.selection import LogSelection
        from ..jobs.logs.targets import task_texts

        wanted = LogSelection(tasks=tasks, streams=(stream,), attempt=attempt, task_attempt=task_attempt, tail=tail)
        return task_texts(self._session, self._folder(job), wanted)

    def follow(
        self,
        job: AnyJob,
        *tasks: str,
        each: Callable[[str, str], object],
        streams: Sequence[Stream] = ("stdout", "stderr"),
    ) -> JobView:
        """Call `each` with the task's name and each line of its output, and return the state of the ended job.

        Existing output comes first. `tasks` are tasks, roles or patterns; default: all. Raises NotFoundError. Ctrl-C
        raises InterruptedWaitError, and the job continues.
        """
        from ..jobs.logs.following import LineTeller
        from ..jobs.logs.selection import LogSelection

        def tell(label: str, _: Stream, lines: Sequence[bytes]) -> None:
            for line in lines:
                each(label, line.decode("utf-8", errors="backslashreplace"))

        wanted = LogSelection(tasks=tasks, streams=tuple(streams))
        return next(self.print_new(self.targets([job], wanted), wanted, LineTeller(tell, lambda: None)))

    def jobs_and_tasks(
        self, words: Sequence[str], *, last: bool = False
    ) -> tuple[Sequence[JobFolder], tuple[str, ...]]:
        """Return the jobs of the first word and the words for tasks; with `last`, your last job and all words.

        Raises NotFoundError, with a hint if the first word is a task of the last job.
        """
        from ..jobs.logs.selection import jobs_and_tasks

        return jobs_and_tasks(self._session.store, words, user=self._session.user, last=last)

    def targets(self, jobs: Sequence[AnyJob], selection: LogSelection) -> list[Target]:
        """Return the jobs with selected tasks. Raises NotFoundError if none has."""
        from ..jobs.logs.targets import targets

        return targets(self._folders(jobs), selection)

    def files(self, jobs: Sequence[Target], selection: LogSelection) -> LogFiles:
        """Return the selected logs of jobs; with `since`, only existing files."""
        from ..jobs.logs.targets import log_files

        return log_files(self._session, jobs, selection)

    def print_once(self, jobs: Sequence[Target], selection: LogSelection, printer: Printer) -> list[JobFolder]:
        """Print existing output, and return the jobs without any."""
        from ..jobs.logs.following import show_once

        return show_once(self._session, jobs, selection, printer)

    def print_new(
        self,
        jobs: Sequence[Target],
        selection: LogSelection,
        printer: Printer,
        *,
        progress: Callable[[JobFolder], Progress | None] = lambda _: None,
        max_age: float | None = None,
    ) -> Iterator[JobView]:
        """Print new output until the jobs have ended, and yield the end of each.

        `progress` returns a display of a job's progress; `max_age` as in `show_ends` of jobs.
        """
        from ..jobs.logs.following import follow_jobs

        yield from follow_jobs(self._session, jobs, selection, printer, progress=progress, max_age=max_age)

    def batch_output(self, job: Target, selection: LogSelection) -> AbstractContextManager[Iterator[bytes] | None]:
        """Return the output of a batch script in pieces, in a context that closes its file; None without one."""
        from ..jobs.logs.targets import batch_output

        return batch_output(self._session, job, selection)

    def silence_text(self, job: AnyJob) -> str:
        """Return why a job has no output."""
        from ..jobs.logs.following import silence_text

        return silence_text(self._session, self._folder(job))
