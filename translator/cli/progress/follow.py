"""Print the output of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.jobs.logs.selection import ALL_LOGS
from ..output.console import log, raw_output
from ..output.several import log_ending
from .log_printer import printer
from .shown import ShownProgress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...app.jobs.logs.selection import LogSelection
    from ...app.jobs.logs.targets import Target
    from ...app.session import Session
    from ...app.use_cases.use_cases import JobFolder
    from ...view.jobs import JobView


def print_once(session: Session, jobs: Sequence[Target], selection: LogSelection) -> list[JobFolder]:
    """Print existing output, and return the jobs without any."""
    return session.logs.print_once(jobs, selection, printer(selection, several=_has_several(jobs)))


def print_as_it_comes(
    session: Session, folders: Sequence[JobFolder], selection: LogSelection = ALL_LOGS, *, max_age: float | None = None
) -> Iterator[JobView]:
    """Print new output until the jobs have ended, and yield the end of each; `max_age` as in `wait_for_ends`."""
    jobs = session.logs.targets(folders, selection)
    return session.logs.print_new(
        jobs,
        selection,
        printer(selection, several=_has_several(jobs)),
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
        with session.logs.batch_output(job, selection) as pieces:
            if len(jobs) > 1:
                log(f"{job.folder.name}:")
            if pieces is None:
                silent.append(job.folder)
                continue
            output = raw_output()
            for piece in pieces:
                output.write(piece)
            output.flush()
    return silent


def _has_several(jobs: Sequence[Target]) -> bool:
    return sum(len(job.tasks) for job in jobs) > 1
