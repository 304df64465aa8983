"""Selection of logs by task, stream, attempt and start."""

from __future__ import annotations

from fnmatch import fnmatchcase
from shlex import join
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ....errors import Diagnostic, NotFoundError
from ....plural import attempt_name
from ..selecting import is_pattern, last_job, select
from .task_log import LogFolder, TaskLog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....state.history import History
    from ....state.job_folder import JobFolder, Store
    from ....state.journal_records import JobRole
    from ...session import Session

Stream = Literal["stdout", "stderr", "runtime"]
"""A stream of the commands, or `runtime` for the output of prerequisites and plugins."""
STREAMS: tuple[Stream, ...] = ("stdout", "stderr", "runtime")
BOTH: tuple[Stream, ...] = ("stdout", "stderr")


class LogSelection(Struct, frozen=True, kw_only=True):
    """A selection of logs. Default: both streams of all tasks, of the newest attempts.

    `tasks` are roles, tasks and patterns. `since` is in seconds since 1970.
    """

    tasks: tuple[str, ...] = ()
    streams: tuple[Stream, ...] = BOTH
    attempt: int | None = None
    all_attempts: bool = False
    task_attempt: int | None = None
    tail: int | None = None
    since: float | None = None

    def first_attempt(self, known: History) -> int:
        """Return the first attempt of a job to show."""
        if self.all_attempts:
            return 0
        return known.attempt if self.attempt is None else self.attempt


ALL_LOGS = LogSelection()


class AttemptLogs(Struct, frozen=True, kw_only=True):
    """The logs of an attempt's tasks, and their folders."""

    logs: Sequence[TaskLog]
    folders: Mapping[str, LogFolder]
    """By role."""


def attempt_logs(
    session: Session,
    folder: JobFolder,
    known: History,
    selection: LogSelection,
    attempt: int,
    *,
    may_come: bool = False,
) -> AttemptLogs:
    """Return the selected logs of an attempt. Raises NotFoundError for an unknown attempt, role or task (attempt).

    With `may_come`, a missing task attempt is no error: the attempt or its tasks have just started.
    """
    if not folder.attempt(attempt).is_dir():
        message = f"{folder.name} has no {attempt_name(attempt)}; the last one is {known.attempt + 1}"
        raise NotFoundError(Diagnostic(code="E522", message=message))
    chosen_tasks = chosen(known.roles, selection.tasks)
    roles = {role.name: role for role, _ in chosen_tasks}
    folders = {name: LogFolder(folder, attempt, role, session.clock) for name, role in roles.items()}
    logs = [
        TaskLog(folders[role.name], index, streams=selection.streams, task_attempt=selection.task_attempt)
        for role, index in chosen_tasks
    ]
    if not may_come:
        _begin(folder, logs, selection)
    return AttemptLogs(logs=logs, folders=folders)


def _begin(folder: JobFolder, logs: Sequence[TaskLog], selection: LogSelection) -> None:
    """Set the start of logs by `tail` and `since`."""
    if selection.task_attempt is not None:
        _check_task_attempt(folder, logs, selection, selection.task_attempt)
    for each in logs:
        if selection.tail is not None:
            each.skip_to_last_lines(selection.tail)
        if selection.since is not None:
            each.skip_older(selection.since)


def _check_task_attempt(folder: JobFolder, logs: Sequence[TaskLog], selection: LogSelection, wanted: int) -> None:
    there = {number for each in logs for number in each.attempts()}
    if there and wanted not in there:
        which, numbers = (
            " ".join(selection.tasks) or folder.name,
            ", ".join(str(number + 1) for number in sorted(there)),
        )
        message = f"{which} has no {attempt_name(wanted, 'task')}; it has {numbers}"
        raise NotFoundError(Diagnostic(code="E522", message=message))


def chosen(roles: Sequence[JobRole], words: Sequence[str]) -> list[tuple[JobRole, int]]:
    """Return the tasks of the words, each once, in the order of the job; default: all.

    A word is a role, a task `role-index`, or a pattern of either. Raises NotFoundError for an unknown word.
    """
    everything = [(role, index) for role in roles for index in range(role.instances)]
    if not words:
        return everything
    # Compare roles and indexes, not names: roles may have thousands of tasks.
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
    """Return the names of a job's tasks: `ps, worker-0 to worker-3`."""
    return ", ".join(
        role.name if role.instances == 1 else f"{role.name}-0 to {role.name}-{role.instances - 1}" for role in roles
    )


def jobs_and_tasks(
    store: Store, words: Sequence[str], *, user: str, last: bool
) -> tuple[list[JobFolder], tuple[str, ...]]:
    """Return the jobs of the first word, and the words for tasks; with `last`, all words are for tasks.

    Raises NotFoundError, with a hint if the first word is a task of the last job.
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
    """Return the hint if the words are tasks of the last job."""
    try:
        job = last_job(store, user=user)
        chosen(job.history().roles, words)
    except (NotFoundError, OSError):
        return None
    return f"it is a task of your last job, {job.name}: `paislurm logs --last {join(words)}`"
