"""Print the output of tasks: existing output once, or new output until the jobs have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ....state.task_reports import read_peers
from ....times import aware
from ....view.task import TaskView
from ...log_reading import Fetcher
from ...task_facts import FEW_PAGES, may_have_pages, web_pages
from ..refresh import refresh
from ..waiting import MAX_INTERVAL, known_ends, wait_for_ends
from .job_logs import JobLogs
from .targets import bring_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ....state.job_folder import JobFolder
    from ....view.jobs import JobView
    from ...session import Session
    from ..waiting import Progress
    from .selection import LogSelection, Stream
    from .targets import Target
    from .task_log import Piece


def _open(
    session: Session, jobs: Sequence[Target], selection: LogSelection, printer: Printer, *, follows: bool
) -> list[JobLogs]:
    for job in jobs:
        bring_logs(session, job, selection)
    total = count_tasks(jobs)
    names = [job.folder.name.removeprefix(f"{session.user}~") if len(jobs) > 1 else "" for job in jobs]
    return [
        JobLogs(session, job.folder, job.known, selection, printer, follows=follows, name=name, total=total)
        for job, name in zip(jobs, names, strict=True)
    ]


def count_tasks(jobs: Iterable[Target]) -> int:
    """Return the number of selected tasks."""
    return sum(len(job.tasks) for job in jobs)


def show_once(session: Session, jobs: Sequence[Target], selection: LogSelection, printer: Printer) -> list[JobFolder]:
    """Print existing output, and return the jobs without any."""
    opened = _open(session, jobs, selection, printer, follows=False)
    return [job.folder for job, logs in zip(jobs, opened, strict=True) if not logs.print_last()]


def follow_jobs(
    session: Session,
    jobs: Sequence[Target],
    selection: LogSelection,
    printer: Printer,
    *,
    progress: Callable[[JobFolder], Progress | None] = lambda _: None,
    max_age: float | None = None,
) -> Iterator[JobView]:
    """Print new output until the jobs have ended, and yield the end of each; `max_age` as in `wait_for_ends`.

    `progress` returns a display of the progress.
    """
    opened = _open(session, jobs, selection, printer, follows=True)
    fetchers = [Fetcher(session, job.folder, job.tasks) for job in jobs]
    # For several jobs, only `status` shows the pages.
    pages = [PageLines(session, job.folder) for job in jobs] if len(jobs) == 1 else []
    for number, job in enumerate(jobs):

        def print_new(first: int = number) -> bool:
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
            between=print_new,
            tasks=job.tasks,
            progress=progress(job.folder),
        )
        [ended] = known_ends(ends)
        opened[number].print_last()
        yield ended


def silence_text(session: Session, folder: JobFolder) -> str:
    """Return why a job has no output."""
    job_status = refresh(session, folder).job_status
    if job_status.ended:
        return f"no output; {folder.name} {job_status.state}: {job_status.reason}"
    reason = f" ({job_status.reason})" if job_status.reason else ""
    return f"no output yet: {folder.name} is {job_status.state}{reason}"


class PageLines:
    """Report the web pages of an attempt once its files contain the addresses; nothing for a job without pages."""

    def __init__(self, session: Session, folder: JobFolder) -> None:
        self._session, self._folder = session, folder
        known = folder.history()
        self._roles = known.roles
        self._attempt = known.attempt
        self._is_due = known.ended is None and may_have_pages(folder)

    def print_new(self) -> None:
        """Report new pages."""
        while self._folder.attempt(self._attempt + 1).is_dir():
            self._attempt += 1
            self._is_due = may_have_pages(self._folder)
        peers = read_peers(self._folder.reports(self._attempt)) if self._is_due else {}
        if not peers:
            return
        self._is_due = False
        places = [
            TaskView(
                role=self._roles[role].name, index=index, task_attempt=0, state="RUNNING", started_at=aware(0),
                node_address=peer.address or None, ports_by_label=peer.ports,
            )
            for (role, index), peer in sorted(peers.items())
            if role < len(self._roles)
        ]  # fmt: skip
        for page in web_pages(self._folder, places)[:FEW_PAGES]:
            self._session.say(page.text)


class Printer(Protocol):
    """A printer of pieces of the tasks' streams; a label names the task."""

    def write(self, label: str, piece: Piece) -> None:
        """Print a piece."""
        ...

    def rest(self, label: str, stream: Stream) -> None:
        """Print the incomplete last line of a stream."""
        ...

    @property
    def flush(self) -> Callable[[], object]:
        """Flush the output."""
        ...


class LineTeller:
    """Call a function with a task's name, a stream and its new lines; an incomplete last line follows at the end."""

    def __init__(self, each: Callable[[str, Stream, Sequence[bytes]], object], flush: Callable[[], object]) -> None:
        self._each, self.flush = each, flush
        self._lines: dict[tuple[str, Stream], Lines] = {}

    def write(self, label: str, piece: Piece) -> None:
        """Pass on the complete lines."""
        lines = self._lines.setdefault((label, piece.stream), Lines())
        self._each(label, piece.stream, lines.add(piece.data))

    def rest(self, label: str, stream: Stream) -> None:
        """Pass on the incomplete last line of a stream."""
        if lines := self._lines.get((label, stream)):
            self._each(label, stream, lines.rest())


MAX_LINE = 1 << 20
"""Bytes after which an incomplete line is printed in parts."""


class Lines:
    """Join pieces of a stream into lines; an incomplete line is kept until its end arrives."""

    def __init__(self) -> None:
        self._kept = b""

    def add(self, data: bytes) -> list[bytes]:
        """Return the complete lines without their line breaks; a very long one is returned in parts."""
        *complete, self._kept = (self._kept + data).split(b"\n")
        if len(self._kept) > MAX_LINE:
            complete.append(self._kept)
            self._kept = b""
        return complete

    def rest(self) -> list[bytes]:
        """Return the incomplete last line, if any."""
        kept, self._kept = self._kept, b""
        return [kept] if kept else []
