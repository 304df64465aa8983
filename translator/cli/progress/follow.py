"""Show what the tasks of jobs print: once, or as it comes until the jobs have ended."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...app.jobs.fetching import Fetcher
from ...app.jobs.logs.selection import ALL_LOGS
from ...app.jobs.logs.tail import open_log, start_of_last_lines, written
from ...app.jobs.logs.targets import Target, bring_logs, targets
from ...app.jobs.waiting import MAX_INTERVAL, wait_for_end
from ...app.where.task_places import TaskPlace
from ...app.where.web_pages import FEW, may_have_pages, page_line, web_pages
from ...state.task_reports import read_peers
from ..output.console import raw_output
from .job_logs import JobLogs
from .log_printer import printer
from .shown import ShownProgress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ...app.jobs.logs.selection import LogSelection
    from ...app.session import Session
    from ...monitor.poll import View
    from ...state.job_folder import JobFolder


def _open(session: Session, jobs: Sequence[Target], selection: LogSelection, *, follows: bool) -> list[JobLogs]:
    for job in jobs:
        bring_logs(session, job, selection)
    total = sum(len(job.tasks) for job in jobs)
    shown = printer(selection, several=total > 1)
    names = [job.folder.name.removeprefix(f"{session.user}~") if len(jobs) > 1 else "" for job in jobs]
    return [
        JobLogs(session, job.folder, job.known, selection, shown, follows=follows, name=name, total=total)
        for job, name in zip(jobs, names, strict=True)
    ]


def show_once(session: Session, jobs: Sequence[Target], selection: LogSelection) -> list[JobFolder]:
    """Print what is there, and return the jobs that have printed nothing."""
    opened = _open(session, jobs, selection, follows=False)
    return [job.folder for job, logs in zip(jobs, opened, strict=True) if not logs.print_last()]


def follow_jobs(
    session: Session, folders: Sequence[JobFolder], selection: LogSelection, *, max_age: float | None = None
) -> Iterator[View]:
    """Print what comes until the jobs have ended, and yield how each did; `max_age` as in `wait_for_end`."""
    jobs = targets(folders, selection)
    opened = _open(session, jobs, selection, follows=True)
    fetchers = [Fetcher(session, job.folder, job.tasks) for job in jobs]
    # Of several jobs `status` tells the pages.
    pages = [PageLines(session, job.folder) for job in jobs] if len(jobs) == 1 else []
    for number, job in enumerate(jobs):

        def print_new(first: int = number) -> None:
            # The job that is waited for is fetched by who waits.
            for fetcher in fetchers[first + 1 :]:
                fetcher()
            for logs in opened[first:]:
                logs.print_new()
            for lines in pages:
                lines.print_new()

        view = wait_for_end(
            session,
            job.folder,
            max_age=max_age,
            shortest=MAX_INTERVAL,
            between=print_new,
            tasks=job.tasks,
            progress=ShownProgress([job.folder], prints=True),
        )
        opened[number].print_last()
        yield view


def follow_job(session: Session, folder: JobFolder, *, max_age: float) -> View:
    """Print all that comes until the job has ended, and return how it did; `max_age` as in `wait_for_end`."""
    return next(follow_jobs(session, [folder], ALL_LOGS, max_age=max_age))


def show_file(path: Path, tail: int | None, owner: int) -> bool:
    """Print one file of a job that belongs to `owner`, and tell whether it is there."""
    try:
        descriptor = open_log(path, owner)
    except FileNotFoundError:
        return False
    output = raw_output()
    try:
        for piece, _ in written(descriptor, 0 if tail is None else start_of_last_lines(path, tail, owner)):
            output.write(piece)
    finally:
        os.close(descriptor)
    output.flush()
    return True


class PageLines:
    """Look at the files of an attempt until they name addresses; of a job without pages at nothing."""

    def __init__(self, session: Session, folder: JobFolder) -> None:
        self._session, self._folder = session, folder
        known = folder.history()
        self._roles = known.roles
        self._attempt = known.attempt
        self._is_due = known.ended is None and may_have_pages(folder)

    def print_new(self) -> None:
        """Tell what is new."""
        while self._folder.attempt(self._attempt + 1).is_dir():
            self._attempt += 1
            self._is_due = may_have_pages(self._folder)
        peers = read_peers(self._folder.reports(self._attempt)) if self._is_due else {}
        if not peers:
            return
        self._is_due = False
        places = [
            TaskPlace(
                role=self._roles[role].name, index=index, node="", address=peer.address, ports=peer.ports,
                is_running=True,
            )
            for (role, index), peer in sorted(peers.items())
            if role < len(self._roles)
        ]  # fmt: skip
        for page in web_pages(self._folder, places)[:FEW]:
            self._session.say(page_line(page))
