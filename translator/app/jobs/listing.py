"""Collect a line for every job: ended ones from their journals, unfinished ones with one query for all."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ...folded_names import by_numbers
from ...monitor.job_status import JobStatus
from ...monitor.poll import open_job
from ...state.address import newest
from ...state.folder_removal import room_taken
from ...state.history import History
from ...times import aware
from ...view.line import JobLine
from ...view.reasons import reason
from ..job_view import job_line, line_of_status
from .job_sites import warn_of_overdue_monitor
from .polling import BY_A_PERSON
from .refresh import refresh_remaining
from .selecting import folders_of_group, select

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ...monitor.facts import View
    from ...state.job_folder import JobFolder, Store
    from ..session import Session


class Found(NamedTuple):
    """The jobs, the newest first, and why backends did not answer."""

    lines: list[JobLine]
    problems: list[str]


class JobFilter(Struct, frozen=True, kw_only=True):
    """A filter of jobs by words or group, by state, and by time of submission.

    Default: the newest job of each name; `everything` includes the earlier ones.
    `since` is in seconds since 1970, or None.
    """

    words: tuple[str, ...] = ()
    group: str | None = None
    states: tuple[str, ...] = ()
    since: int | None = None
    everything: bool = False


def find_lines(session: Session, wanted: JobFilter) -> Found:
    """Return the matching jobs, the newest first. Raises NotFoundError for an unknown job or group."""
    folders = None
    if wanted.group is not None:
        folders = folders_of_group(session, wanted.group)
    elif wanted.words:
        folders = select(session.store, wanted.words, user=session.user)
    names = None if folders is None else {folder.name for folder in folders}
    found = lines(session, session.store, everything=wanted.everything or names is not None, names=names)
    kept = [
        line
        for line in found.lines
        if (not wanted.states or line.state in wanted.states)
        and (wanted.since is None or line.begun_at >= wanted.since)
    ]
    return found._replace(lines=kept)


def say_doubts(session: Session, found: Found) -> None:
    """Send events about unknown states of jobs and read errors."""
    if any(not line.ended for line in found.lines):
        warn_of_overdue_monitor(session)
    for line in found.lines:
        if not line.readable:
            session.say(f"warning: {line.name}: {line.reason}")
    for problem in found.problems:
        session.say(f"these are the last known states: {problem}")


def lines(
    session: Session,
    store: Store,
    *,
    everything: bool,
    max_age: float = BY_A_PERSON,
    names: Collection[str] | None = None,
) -> Found:
    """Return a line for each job, or for these folders; poll results are at most `max_age` seconds old."""
    found: list[JobLine] = []
    living: list[View] = []
    latest = newest(store.names())
    for name, job in store.entries():
        if names is not None and name not in names:
            continue
        if isinstance(job, History):
            if everything or not job.job or name == latest.get(job.full_name):
                found.append(_ended(name, job, f"{store.jobs}/{name}"))
            continue
        folder = job.folder
        try:
            known = job.read()
            if not everything and known.job and name != latest.get(known.full_name):
                continue
            if known.ended is not None:
                found.append(_ended(name, known, str(folder.path)))
                continue
            opened = open_job(folder)
        except NotADirectoryError:
            continue
        except OSError as error:
            if is_gone(folder):
                continue
            found.append(_unreadable(folder, error.strerror or str(error)))
            continue
        if opened.history.job:
            living.append(opened)
        else:
            found.append(_unreadable(folder, next(iter(opened.read_errors), "it is empty")))
    views = refresh_remaining(session, living, max_age=max_age)
    found += map(job_line, views)
    found.sort(key=lambda line: (line.begun_at, by_numbers(line.name)), reverse=True)
    return Found(lines=found, problems=sorted({view.backend_error for view in views} - {""}))


def with_run(found: Sequence[JobLine]) -> list[JobLine]:
    """Add parameters, sweep values and results to lines; this reads journals and logs."""
    from pathlib import Path

    from ...state.job_folder import JobFolder
    from ..log_reading import Question, numbers, question

    def one(line: JobLine) -> tuple[JobLine, Question | None]:
        with suppress(OSError):
            folder = JobFolder(path=Path(line.folder))
            created = folder.created() if line.readable else None
            if created is not None and created.run is not None:
                line = replace(line, parameters=created.run.parameters, sweep=created.sweep)
                return line, question(folder, line.attempt, created.roles, created.run)
        return line, None

    rows = [one(line) for line in found]
    results = numbers([asked for _, asked in rows])
    return [replace(line, result=result) for (line, _), result in zip(rows, results, strict=True)]


def with_sizes(found: Iterable[JobLine]) -> list[JobLine]:
    """Add the disk usage of each job's folder to lines; this reads all folders below it."""
    return [replace(line, size_bytes=room_taken(line.folder).size) for line in found]


def with_typed_names(store: Store, found: Iterable[JobLine]) -> list[JobLine]:
    """Return lines with names that mean their jobs for a user: the first of several is `demo@1`."""
    last = newest(store.names())
    return [
        replace(line, name=f"{line.name}@1" if last.get(line.name, line.name) != line.name else line.name)
        for line in found
    ]


def is_gone(folder: JobFolder) -> bool:
    """Return whether a job's folder was removed."""
    return not folder.path.exists()


def _unreadable(folder: JobFolder, why: str) -> JobLine:
    status = JobStatus.so_far("UNKNOWN", reason("its journal cannot be read", error=why, journal=folder.journal))
    return replace(line_of_status(folder.name, str(folder.path), History(), status), readable=False)


def _ended(name: str, known: History, folder: str) -> JobLine:
    """Return the line of a recorded end; it may be all that is cached of the job."""
    end = known.ended
    assert end is not None
    return replace(
        line_of_status(name, folder, known, JobStatus.recorded(end)),
        retries=None,
        started_at=aware(end.started_at),
        ended_at=aware(end.ended_at),
        node_list=end.node_list or None,
        completed=end.completed,
        sweep={},
    )
