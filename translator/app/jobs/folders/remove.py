"""Remove jobs that have ended: the use case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from ....errors import Diagnostic, PaislurmError, UsageError
from ....state.publish import writing
from ....state.tidying.removal import finish_removals
from ..selecting import is_pattern, named_groups
from .disk_use import JobRoom, room_of
from .removing import matching, named, remove_job

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ....monitor.poll import Opened
    from ...session import Session


class Removed(JobRoom, frozen=True, kw_only=True):
    """A removed job (or with a dry run, one to remove), and its disk usage."""

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

    jobs: Sequence[Opened]
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
    jobs: Sequence[Opened],
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
        room = room_of(job.folder, keep_logs=keep_logs)
        left = ""
        try:
            if not dry_run:
                with writing(job.folder.path):
                    left = remove_job(session, job, keep_logs=keep_logs)
        except PaislurmError as error:
            errors.append(error)
            continue
        removed.append(Removed(**asdict(room), left_behind=left or None))
        each(removed[-1])
    diagnostics = tuple(diagnostic for error in errors for diagnostic in error.diagnostics)
    return Removal(removed=tuple(removed), dry_run=dry_run, diagnostics=diagnostics), errors
