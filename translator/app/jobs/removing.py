"""Remove jobs that have ended: selection, checks, disk usage, deletion; and the monitor's tidying of old jobs."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.registry import is_remote

from ...errors import Diagnostic, FolderError, NotFoundError, PaislurmError, UsageError
from ...files.private import make_private, touch
from ...files.shared_files import time_written
from ...folded_names import by_numbers
from ...monitor.facts import View
from ...monitor.poll import open_job
from ...state.address import writing
from ...state.folder_removal import (
    BULKY,
    bulk,
    check_removable,
    delete,
    finish_removals,
    hide,
    hide_bulk,
    room_taken,
)
from ...state.tidy import is_tidy, tidy
from ..paths import check_own
from .refresh import is_own, refresh_all
from .selecting import is_pattern, named_groups, select

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from ...monitor.facts import View
    from ...state.job_folder import JobFolder
    from ..session import Session


def ended_at(job: View) -> int | None:
    """Return when a job ended, by its journal; None without an end."""
    end = job.history.ended
    return None if end is None else end.ended_at or end.happened_at


def named(session: Session, words: Sequence[str]) -> list[View]:
    """Return the ended jobs of the words.

    Raises NotFoundError for an unknown job, and FolderError for another user's or an unfinished one, before any
    removal.
    """
    jobs = [_opened(folder) for folder in select(session.store, words, user=session.user)]
    for job in jobs:
        check_own(job.folder, "remove")
    views = refresh_all(session, jobs)
    living = [view for view in views if not view.job_status.ended]
    if living:
        several = len(jobs) > len(living)
        raise FolderError([_has_not_ended(view, several=several) for view in living])
    return [*views]


def matching(session: Session, words: Sequence[str], older_than: int | None, states: Collection[str]) -> list[View]:
    """Return the user's own jobs, or those of the words, that match `older_than` (seconds) and `states`."""
    folders = select(session.store, words, user=session.user) if words else session.store.all()
    found = []
    for folder in folders:
        # An unreadable job may not have ended.
        with suppress(OSError):
            job = open_job(folder)
            end = ended_at(job)
            old = end is not None and (older_than is None or session.now() - end >= older_than)
            if (
                old
                and is_own(session, job)
                and (not states or (job.history.ended and job.history.ended.state in states))
            ):
                found.append(job)
    return found if words else sorted(found, key=lambda job: by_numbers(job.folder.name))


def remove_job(session: Session, job: View, *, keep_logs: bool = False) -> str:
    """Remove an ended job, or with `keep_logs` its working directories; return a message about remaining files.

    Raises FolderError if another process removes the job, and OSError if its folder cannot be renamed.
    """
    check_removable(job.folder)
    # First, in case this process is killed: nobody else would remove those of a hidden folder for a day.
    job.folder.forget_secrets()
    left = _remove_remote(session, job, keep_logs=keep_logs) if is_remote(job.history.backend) else ""
    hidden = hide_bulk(job.folder) if keep_logs else hide(job.folder)
    if hidden is None:
        message = f"{job.folder.name} is being removed by another process"
        raise FolderError(Diagnostic(code="E593", message=message, hint="check with `paislurm list --all`"))
    behind = " ".join(str(path) for path in hidden if not delete(path))
    return "; ".join(filter(None, [left, behind and f"{behind} could not be deleted yet"]))


def _remove_remote(session: Session, job: View, *, keep_logs: bool) -> str:
    """Remove the folder of a job on its login node; return a message on failure."""
    from paislurm.backends.ssh.backend import SshBackend

    known = job.history
    there = session.backend(known.backend)
    assert isinstance(there, SshBackend)
    attempts = range(known.attempt + 1)
    below = [f"/attempts/{attempt}/{name}" for attempt in attempts for name in BULKY] if keep_logs else [""]
    if there.remove_folder(known.run_folder(job.folder.path), below):
        return ""
    return f"its folder at {known.backend_label} could not be removed yet; it will be when the login node answers"


def _opened(folder: JobFolder) -> View:
    try:
        return open_job(folder)
    except OSError as error:
        message = f"the journal of {folder.path} cannot be read: {error.strerror or error}"
        hint = "it is unknown whether the job has ended; if it has, remove the folder by hand"
        raise NotFoundError(Diagnostic(code="E594", message=message, hint=hint)) from None


def _has_not_ended(view: View, *, several: bool) -> Diagnostic:
    name = view.history.job or view.folder.name
    message = f"{view.folder.name} has not ended: {view.job_status.state}"
    ended = "; use `--older-than 1s` to remove only ended jobs" if several else ""
    hint = f"cancel it with `paislurm cancel {name}`; nothing was removed{ended}"
    return Diagnostic(code="E591", message=message, hint=hint)


class Removed(Struct, frozen=True, kw_only=True):
    """A removed job (or with a dry run, one to remove), and its disk usage."""

    size_bytes: int
    """The size of its removed files in bytes."""
    inodes: int
    """The number of its removed files and folders."""
    name: str
    """The name of the job's folder, `user~job`."""
    left_behind: str | None
    """The files that could not be removed yet, and when they will be."""


class Removal(Struct, frozen=True, kw_only=True):
    """The result of a removal."""

    removed: tuple[Removed, ...]
    """The removed jobs, or with a dry run, those to remove."""
    dry_run: bool
    """Whether nothing was removed."""
    diagnostics: tuple[Diagnostic, ...]
    """The errors for other jobs."""


class ToRemove(Struct, frozen=True, kw_only=True):
    """The jobs to remove.

    `by_name` is false if a group, a pattern or a condition selected them; `groups` contains the names of their jobs.
    """

    jobs: Sequence[View]
    by_name: bool
    groups: Mapping[str, Collection[str]]


def jobs_to_remove(
    session: Session, words: Sequence[str], *, older_than: int | None = None, states: Collection[str] = ()
) -> ToRemove:
    """Return the selected jobs that ended at least `older_than` seconds ago and in one of `states`.

    Raises UsageError without a word and a condition, NotFoundError for unknown jobs, and FolderError for another
    user's job or an unfinished one.
    """
    has_condition = older_than is not None or bool(states)
    if not words and not has_condition:
        message = "no job given: name a JOB, or use --older-than AGE or --state STATE"
        raise UsageError(Diagnostic(code="E547", message=message))
    groups = named_groups(session.store, words, user=session.user)
    found = matching(session, words, older_than, states) if has_condition else named(session, words)
    by_name = not has_condition and not any(map(is_pattern, words)) and all(len(each) < 2 for each in groups.values())
    return ToRemove(jobs=found, by_name=by_name, groups=groups)


def remove_jobs(
    session: Session,
    jobs: Sequence[View],
    *,
    keep_logs: bool = False,
    dry_run: bool = False,
    each: Callable[[Removed], object] = lambda _: None,
) -> tuple[Removal, list[PaislurmError]]:
    """Remove ended jobs, and return the removed ones and the errors; `each` is called after each removal.

    `keep_logs` keeps records and logs; `dry_run` removes nothing.
    """
    removed: list[Removed] = []
    errors: list[PaislurmError] = []
    if not dry_run:
        finish_removals(session.store.jobs)
    for job in jobs:
        room = room_taken(*map(str, bulk(job.folder) if keep_logs else [job.folder.path]))
        left = ""
        try:
            if not dry_run:
                with writing(job.folder.path):
                    left = remove_job(session, job, keep_logs=keep_logs)
        except PaislurmError as error:
            errors.append(error)
            continue
        removed.append(
            Removed(size_bytes=room.size, inodes=room.inodes, name=job.folder.name, left_behind=left or None)
        )
        each(removed[-1])
    diagnostics = tuple(diagnostic for error in errors for diagnostic in error.diagnostics)
    return Removal(removed=tuple(removed), dry_run=dry_run, diagnostics=diagnostics), errors


HOUR, DAY = 3600, 86400
CLEANING_SECONDS, CLEANING_TICK = 2.0, 0.05
TIDIED, REMOVED = "tidied", "removed"
"""Files in the monitor's folder; their times record the last run."""


def tidy_up(session: Session, remove_after: int | None, say: Callable[[str], None]) -> None:
    """Tidy ended jobs at most once an hour; remove jobs `remove_after` seconds after their end at most once a day."""
    with suppress(OSError, PaislurmError):
        if is_due(session, TIDIED, HOUR):
            finish_removals(session.store.jobs)
            for folder in session.store.all():
                tidy_own(session, folder)
    with suppress(OSError, PaislurmError):
        if remove_after is not None and is_due(session, REMOVED, DAY):
            for folder in session.store.all():
                if not _remove_old(session, folder, remove_after, say):
                    # Do not wait for an unreachable login node again; try on another day.
                    break


def tidy_own(session: Session, folder: JobFolder) -> bool:
    """Tidy the folder of the user's own job; return False if it must be tried again."""
    if is_tidy(folder):
        return True
    with suppress(OSError):
        job = open_job(folder)
        if is_own(session, job) and not is_remote(job.history.backend):
            return tidy(job.folder, job.history, session.now())
    return True


def tidy_what_has_just_ended(session: Session, folders: Iterable[JobFolder]) -> None:
    """Tidy the folders of jobs that have just ended, after a pause for the clean-up of their scripts."""
    deadline = time.monotonic() + CLEANING_SECONDS
    left = list(folders)
    while left := [folder for folder in left if not tidy_own(session, folder)]:
        if time.monotonic() > deadline:
            return
        time.sleep(CLEANING_TICK)


def _remove_old(session: Session, folder: JobFolder, remove_after: int, say: Callable[[str], None]) -> bool:
    """Remove a job `remove_after` seconds after its end; return False if files are left.

    The time of its journal is that of its end, or later.
    """
    with suppress(OSError):
        if session.now() - time_written(folder.journal) // 10**9 < remove_after:
            return True
        job = open_job(folder)
        end = ended_at(job)
        if end is not None and session.now() - end >= remove_after and is_own(session, job):
            try:
                left = remove_job(session, job)
            except PaislurmError as error:
                say(f"{folder.name}: not removed: {error.diagnostics[0].message}")
            else:
                say(f"{folder.name}: removed because of `jobs.removeAfter` of the site profile{left and f'; {left}'}")
                return not left
    return True


def is_due(session: Session, name: str, seconds: int) -> bool:
    """Return whether the last run was at least `seconds` ago; if so, record a run now."""
    file = session.monitor_folder / name
    if session.now() - time_written(file) // 10**9 < seconds:
        return False
    make_private(file.parent)
    touch(file)
    return True
