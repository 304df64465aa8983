"""Print the output of tasks: existing output once, or new output until the jobs have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ....state.task_reports import read_peers
from ....times import aware
from ....view.task import TaskView
from ...task_facts import FEW_PAGES, may_have_pages, web_pages
from .job_logs import JobLogs
from .targets import bring_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....state.job_folder import JobFolder
    from ...session import Session
    from .selection import LogSelection, Stream
    from .targets import Target
    from .task_log import Piece


def open_logs(
    session: Session, jobs: Sequence[Target], selection: LogSelection, printer: Printer, *, follows: bool
) -> list[JobLogs]:
    """Fetch the selected logs of jobs, and return them; `follows` as in JobLogs."""
    for job in jobs:
        bring_logs(session, job, selection)
    total = sum(len(job.tasks) for job in jobs)
    names = [job.folder.name.removeprefix(f"{session.user}~") if len(jobs) > 1 else "" for job in jobs]
    return [
        JobLogs(session, job.folder, job.known, selection, printer, follows=follows, name=name, total=total)
        for job, name in zip(jobs, names, strict=True)
    ]


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
