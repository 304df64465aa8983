"""Say which logs are wanted: of which tasks, streams and attempts, and from where on."""

from __future__ import annotations

from fnmatch import fnmatchcase
from shlex import join
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ....errors import Diagnostic, NotFoundError
from ..selecting import is_pattern, last_job, select
from .task_log import LogFolder, TaskLog

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from ....state.history import History
    from ....state.job_folder import JobFolder, Store
    from ....state.records import JobRole

BOTH = ("stdout", "stderr")


class LogSelection(Struct, frozen=True, kw_only=True):
    """Say which output is wanted: if nothing is said, all of both streams, of all tasks, of the newest attempts.

    `tasks` are roles, tasks and patterns. `since` is in seconds since 1970.
    """

    tasks: tuple[str, ...] = ()
    streams: tuple[str, ...] = BOTH
    attempt: int | None = None
    all_attempts: bool = False
    task_attempt: int | None = None
    tail: int | None = None
    since: float | None = None
    grep: re.Pattern[str] | None = None
    timestamps: bool = False

    def first_attempt(self, known: History) -> int:
        """Return the attempt of a job whose logs come first."""
        if self.all_attempts:
            return 0
        return known.attempt if self.attempt is None else self.attempt


ALL_LOGS = LogSelection()


class AttemptLogs(Struct, frozen=True, kw_only=True):
    """Hold the logs of tasks of an attempt, and the folders that they are in."""

    logs: Sequence[TaskLog]
    folders: Mapping[str, LogFolder]
    """By role."""


def attempt_logs(
    folder: JobFolder, known: History, selection: LogSelection, attempt: int, *, may_come: bool = False
) -> AttemptLogs:
    """Return the logs that are wanted of an attempt; NotFoundError if there is no such attempt, role or task (attempt).

    A task attempt `may_come` where an attempt of the job has only just begun, or no task has; there all lines are new.
    """
    if not folder.attempt(attempt).is_dir():
        message = f"{folder.name} has no attempt {attempt}; the last one is {known.attempt}"
        raise NotFoundError(Diagnostic(code="E522", message=message))
    owner = folder.path.stat().st_uid
    chosen_tasks = chosen(known.roles, selection.tasks)
    roles = {role.name: role for role, _ in chosen_tasks}
    folders = {name: LogFolder(folder.logs(attempt, role)) for name, role in roles.items()}
    logs = [
        TaskLog(
            folder, attempt, role, index, streams=selection.streams, task_attempt=selection.task_attempt,
            logs=folders[role.name], owner=owner,
        )
        for role, index in chosen_tasks
    ]  # fmt: skip
    if not may_come:
        _begin(folder, logs, selection)
    return AttemptLogs(logs=logs, folders=folders)


def _begin(folder: JobFolder, logs: Sequence[TaskLog], selection: LogSelection) -> None:
    """Let logs begin where what is wanted of them begins."""
    if selection.task_attempt is not None:
        _check_task_attempt(folder, logs, selection, selection.task_attempt)
    for each in logs:
        # Of lines that are searched the last ones are not those of the file.
        if selection.tail is not None and selection.grep is None:
            each.skip_to_last_lines(selection.tail)
        if selection.since is not None:
            each.skip_older(selection.since)


def _check_task_attempt(folder: JobFolder, logs: Sequence[TaskLog], selection: LogSelection, wanted: int) -> None:
    there = {number for each in logs for number in each.attempts()}
    if there and wanted not in there:
        which, numbers = " ".join(selection.tasks) or folder.name, ", ".join(map(str, sorted(there)))
        message = f"{which} has no task attempt {wanted}; there is {numbers}"
        raise NotFoundError(Diagnostic(code="E522", message=message))


def chosen(roles: Sequence[JobRole], words: Sequence[str]) -> list[tuple[JobRole, int]]:
    """Return the tasks that words mean, each once, in the order of the job; without a word all.

    A word is a role, a task `role-index`, or a pattern of either. NotFoundError names a word that means nothing.
    """
    everything = [(role, index) for role in roles for index in range(role.instances)]
    if not words:
        return everything
    # A role and its index are what a task is known by: roles may have thousands of tasks.
    wanted = {(role.name, index) for word in words for role, index in _meant(roles, word)}
    return [(role, index) for role, index in everything if (role.name, index) in wanted]


def _meant(roles: Sequence[JobRole], word: str) -> list[tuple[JobRole, int]]:
    found: list[tuple[JobRole, int]] = []
    if is_pattern(word):
        for role in roles:
            whole = fnmatchcase(role.name, word)
            found += [(role, i) for i in range(role.instances) if whole or fnmatchcase(f"{role.name}-{i}", word)]
    for role in roles:
        if role.name == word:
            return [(role, index) for index in range(role.instances)]
    name, _, number = word.rpartition("-")
    for role in roles:
        if role.name == name and number.isdecimal() and len(number) < 10 and int(number) < role.instances:
            return [(role, int(number))]
    if found:
        return found
    raise NotFoundError(
        Diagnostic(code="E521", message=f"the job has no task or role `{word}`", hint=f"it has {task_names(roles)}")
    )


def task_names(roles: Sequence[JobRole]) -> str:
    """Return what users call the tasks of a job: `ps, worker-0 to worker-3`."""
    return ", ".join(
        role.name if role.instances == 1 else f"{role.name}-0 to {role.name}-{role.instances - 1}" for role in roles
    )


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
