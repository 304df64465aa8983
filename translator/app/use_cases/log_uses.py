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

        >>> print(session.logs.read(run, "hello-1", tail=1)["hello-1"])
        hello from task 1 at ...
        """
        from ..jobs.logs.selection import LogSelection, attempt_logs
        from ..jobs.logs.targets import bring_logs

        wanted = LogSelection(tasks=tasks, streams=(stream,), attempt=attempt, task_attempt=task_attempt, tail=tail)
        [target] = self.targets([job], wanted)
        bring_logs(self._session, target, wanted)
        folder, known, _ = target
        logs = attempt_logs(self._session, folder, known, wanted, wanted.first_attempt(known)).logs
        pieces = {log.label: b"".join(piece.data for piece in log.read()) for log in logs}
        return {label: data.decode("utf-8", errors="backslashreplace") for label, data in pieces.items()}

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

        >>> session.logs.follow(run, "hello-1", each=lambda task, line: print(f"{task}: {line}")).state
        hello-1: hello from task 1 at ...
        'SUCCEEDED'
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

        >>> folders, tasks = session.logs.jobs_and_tasks(["hello-world", "hello-0"])
        >>> tasks
        ('hello-0',)
        """
        from ..jobs.logs.selection import jobs_and_tasks

        return jobs_and_tasks(self._session.store, words, user=self._session.user, last=last)

    def targets(self, jobs: Sequence[AnyJob], selection: LogSelection) -> list[Target]:
        """Return the jobs with selected tasks. Raises NotFoundError if none has.

        >>> from paislurm.translator.app.jobs.logs.selection import LogSelection
        >>> [target] = session.logs.targets([run], LogSelection(tasks=("hello-0",)))
        >>> [(role.name, index) for role, index in target.tasks]
        [('hello', 0)]
        """
        from ..jobs.logs.targets import targets

        return targets(self._folders(jobs), selection)

    def files(self, jobs: Sequence[Target], selection: LogSelection) -> LogFiles:
        """Return the selected logs of jobs; with `since`, only existing files.

        >>> from paislurm.translator.app.jobs.logs.selection import LogSelection
        >>> wanted = LogSelection(tasks=("hello-0",), streams=("stdout",))
        >>> [file.task for file in session.logs.files(session.logs.targets([run], wanted), wanted).files]
        ['hello-0']
        """
        from ..jobs.logs.targets import LogFiles, files_of

        return LogFiles(files=tuple(file for job in jobs for file in files_of(self._session, job, selection)))

    def print_once(self, jobs: Sequence[Target], selection: LogSelection, printer: Printer) -> list[JobFolder]:
        """Print existing output, and return the jobs without any.

        >>> from paislurm.translator.app.jobs.logs.following import LineTeller
        >>> from paislurm.translator.app.jobs.logs.selection import ALL_LOGS
        >>> printer = LineTeller(lambda task, stream, lines: [print(task, line) for line in lines], lambda: None)
        >>> session.logs.print_once(session.logs.targets([run], ALL_LOGS), ALL_LOGS, printer)
        hello-0 b'hello from task 0 at ...'
        hello-1 b'hello from task 1 at ...'
        []
        """
        from ..jobs.logs.following import open_logs

        opened = open_logs(self._session, jobs, selection, printer, follows=False)
        return [job.folder for job, logs in zip(jobs, opened, strict=True) if not logs.print_last()]

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

        >>> from paislurm.translator.app.jobs.logs.following import LineTeller
        >>> from paislurm.translator.app.jobs.logs.selection import ALL_LOGS
        >>> printer = LineTeller(lambda task, stream, lines: [print(task, line) for line in lines], lambda: None)
        >>> ends = list(session.logs.print_new(session.logs.targets([run], ALL_LOGS), ALL_LOGS, printer))
        hello-0 b'hello from task 0 at ...'
        hello-1 b'hello from task 1 at ...'
        """
        from ..jobs.logs.following import PageLines, open_logs
        from ..jobs.waiting import MAX_INTERVAL, known_ends, wait_for_ends
        from ..log_reading import Fetcher

        session = self._session
        opened = open_logs(session, jobs, selection, printer, follows=True)
        fetchers = [Fetcher(session, job.folder, job.tasks) for job in jobs]
        # For several jobs, only `status` shows the pages.
        pages = [PageLines(session, job.folder) for job in jobs] if len(jobs) == 1 else []
        for number, job in enumerate(jobs):

            def print_news(first: int = number) -> bool:
                # The wait itself fetches the logs of its job.
                for fetcher in fetchers[first + 1 :]:
                    fetcher()
                anything = [logs.print_new() for logs in opened[first:]]
                for lines in pages:
                    lines.print_new()
                return any(anything)

            ends = wait_for_ends(
                session,
                [job.folder],
                max_age=max_age,
                shortest=MAX_INTERVAL,
                between=print_news,
                tasks=job.tasks,
                progress=progress(job.folder),
            )
            [ended] = known_ends(ends)
            opened[number].print_last()
            yield ended

    def batch_output(self, job: Target, selection: LogSelection) -> AbstractContextManager[Iterator[bytes] | None]:
        """Return the output of a batch script in pieces, in a context that closes its file; None without one.

        >>> from paislurm.translator.app.jobs.logs.selection import ALL_LOGS
        >>> [target] = session.logs.targets([run], ALL_LOGS)
        >>> with session.logs.batch_output(target, ALL_LOGS) as pieces:
        ...     text = b"".join(pieces or ())
        """
        from ..jobs.logs.targets import batch_output

        return batch_output(self._session, job, selection)

    def silence_text(self, job: AnyJob) -> str:
        """Return why a job has no output.

        >>> session.logs.silence_text(run)
        'no output; ...~hello-world SUCCEEDED: all 2 tasks have succeeded'
        """
        from ..jobs.refresh import refresh

        folder = self._folder(job)
        status = refresh(self._session, folder).job_status
        if status.ended:
            return f"no output; {folder.name} {status.state}: {status.reason}"
        reason = f" ({status.reason})" if status.reason else ""
        return f"no output yet: {folder.name} is {status.state}{reason}"
