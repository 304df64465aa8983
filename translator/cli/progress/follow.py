"""Print the output of tasks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...app.jobs.logs.following import count_tasks, follow_jobs, show_once
from ...app.jobs.logs.selection import ALL_LOGS
from ...app.jobs.logs.targets import bring_logs, targets
from ...app.results.tail import open_log, start_of_last_lines, written
from ..output.console import log, raw_output
from ..output.several import log_ending
from .log_printer import printer
from .shown import ShownProgress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ...app.jobs.logs.selection import LogSelection
    from ...app.jobs.logs.targets import Target
    from ...app.session import Session
    from ...state.job_folder import JobFolder
    from ...view.job import JobView


def print_once(session: Session, jobs: Sequence[Target], selection: LogSelection) -> list[JobFolder]:
    """Print existing output, and return the jobs without any."""
    return show_once(session, jobs, selection, printer(selection, several=count_tasks(jobs) > 1))


def print_as_it_comes(
    session: Session, folders: Sequence[JobFolder], selection: LogSelection = ALL_LOGS, *, max_age: float | None = None
) -> Iterator[JobView]:
    """Print new output until the jobs have ended, and yield the end of each; `max_age` as in `wait_for_ends`."""
    jobs = targets(folders, selection)
    return follow_jobs(
        session,
        jobs,
        selection,
        printer(selection, several=count_tasks(jobs) > 1),
        progress=lambda folder: ShownProgress([folder], prints=True),
        max_age=max_age,
    )


def print_to_the_end(session: Session, folders: Sequence[JobFolder], selection: LogSelection) -> None:
    """Print new output until the jobs have ended, and log the end of each."""
    for job in print_as_it_comes(session, folders, selection):
        log_ending(job)


def print_batch_logs(session: Session, jobs: Sequence[Target], selection: LogSelection) -> list[JobFolder]:
    """Print the output of batch scripts, and return the jobs without any."""
    silent: list[JobFolder] = []
    for job in jobs:
        bring_logs(session, job, selection)
        if len(jobs) > 1:
            log(f"{job.folder.name}:")
        path = job.folder.batch_log(selection.first_attempt(job.known))
        if not show_file(path, selection.tail, job.folder.path.stat().st_uid):
            silent.append(job.folder)
    return silent


def show_file(path: Path, tail: int | None, owner: int) -> bool:
    """Print one file of a job of `owner`, and return whether it exists."""
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
