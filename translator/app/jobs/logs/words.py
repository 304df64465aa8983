"""Say which jobs and tasks the words of a command line mean: `[JOB] [TASK]...`; without a word it is the last job."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ....errors import NotFoundError
from ..selecting import last_job, select
from .selection import chosen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....state.job_folder import JobFolder, Store


def jobs_and_tasks(
    store: Store, words: Sequence[str], *, user: str, last: bool
) -> tuple[list[JobFolder], tuple[str, ...]]:
    """Return the jobs that the first word means, and the words for tasks; with `last` all words are for tasks.

    Raises `NotFoundError`, with a hint where the first word is a task of the last job.
    """
    if last or not words:
        return select(store, (), user=user), tuple(words)
    try:
        return select(store, words[:1], user=user), tuple(words[1:])
    except NotFoundError as error:
        if (hint := _task_of_last_job(store, words, user=user)) is None:
            raise
        raise NotFoundError([replace(each, hint=hint) for each in error.diagnostics]) from None


def _task_of_last_job(store: Store, words: Sequence[str], *, user: str) -> str | None:
    """Return what would be a hint, if the words mean tasks of the job that was submitted last."""
    try:
        job = last_job(store, user=user)
        chosen(job.history().roles, words)
    except (NotFoundError, OSError):
        return None
    return f"it is a task of your last job, {job.name}: `paislurm logs --last {join(words)}`"
