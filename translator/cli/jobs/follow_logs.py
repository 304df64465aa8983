"""Show what tasks print: once, or as it comes until the job has ended."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ...errors import BackendError, Diagnostic, NotFoundError
from ...lazy import dataclass
from ..output.console import log, raw_output
from .fetching import fetch, run_folder_with_logs
from .log_tail import Prefixer, TaskLog, open_log, start_of_last_lines, written
from .page_teller import PageTeller
from .waiting import MAX_INTERVAL, wait_for_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...monitor.poll import View
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.records import JobRole


@dataclass(frozen=True, kw_only=True)
class LogSelection:
    """Say which output is wanted; None: all tasks, the last attempt, the newest task attempt, all lines."""

    tasks: str | None = None
    stream: str = "stdout"
    attempt: int | None = None
    task_attempt: int | None = None
    tail: int | None = None


ALL_LOGS = LogSelection()


def task_logs(folder: JobFolder, known: History, selection: LogSelection, *, may_come: bool = False) -> list[TaskLog]:
    """Return the logs that are wanted; NotFoundError if the job has no such attempt, role, task or task attempt.

    A task attempt `may_come` where an attempt of the job has only just begun, or no task has.
    """
    attempt = known.attempt if selection.attempt is None else selection.attempt
    if not folder.attempt(attempt).is_dir():
        message = f"{folder.name} has no attempt {attempt}; the last one is {known.attempt}"
        raise NotFoundError(Diagnostic(code="E522", message=message))
    logs = [
        TaskLog(folder, attempt, role, index, stream=selection.stream, task_attempt=selection.task_attempt)
        for role, index in chosen(known.roles, selection.tasks)
    ]
    if selection.task_attempt is not None and not may_come:
        there = {number for each in logs for number in each.attempts()}
        if there and selection.task_attempt not in there:
            which, numbers = selection.tasks or folder.name, ", ".join(map(str, sorted(there)))
            message = f"{which} has no task attempt {selection.task_attempt}; there is {numbers}"
            raise NotFoundError(Diagnostic(code="E522", message=message))
    if selection.tail is not None:
        for each in logs:
            each.skip_to_last_lines(selection.tail)
    return logs


def chosen(roles: Sequence[JobRole], word: str | None) -> list[tuple[JobRole, int]]:
    """Return the tasks that a word means: all, those of a role, or one as `role-index`."""
    if word is None:
        return [(role, index) for role in roles for index in range(role.instances)]
    for role in roles:
        if role.name == word:
            return [(role, index) for index in range(role.instances)]
    name, _, number = word.rpartition("-")
    for role in roles:
        if role.name == name and number.isdecimal() and len(number) < 10 and int(number) < role.instances:
            return [(role, int(number))]
    names = ", ".join(
        role.name if role.instances == 1 else f"{role.name}-0 to {role.name}-{role.instances - 1}" for role in roles
    )
    raise NotFoundError(
        Diagnostic(code="E521", message=f"the job has no task or role `{word}`", hint=f"it has {names}")
    )


class Printer:
    """Write logs to standard output as they are; with several, each line under its task's name."""

    def __init__(self, logs: Sequence[TaskLog], *, labelled: bool) -> None:
        self._output = raw_output()
        self._logs = [(log, Prefixer(log.label) if labelled else None) for log in logs]

    def print_new(self) -> bool:
        """Print what is new; tell whether there was anything."""
        anything = False
        for task_log, prefixer in self._logs:
            for piece in task_log.read():
                self._output.write(prefixer.lines(piece) if prefixer else piece)
                anything = True
        self._output.flush()
        return anything

    def print_rest(self) -> None:
        """Print last lines that have no end."""
        for _, prefixer in self._logs:
            if prefixer:
                self._output.write(prefixer.rest())
        self._output.flush()


def bring_logs(folder: JobFolder, known: History, selection: LogSelection) -> None:
    """Bring the logs that are wanted, where they are at a login node; what does not answer is said, and no more."""
    try:
        fetch(known, run_folder_with_logs(folder, known, chosen(known.roles, selection.tasks), selection.attempt))
    except BackendError as error:
        log(f"warning: what is shown may be old: {error.diagnostics[0].message}")


def show_once(folder: JobFolder, known: History, selection: LogSelection) -> bool:
    """Print what is there, and tell whether there was anything."""
    bring_logs(folder, known, selection)
    logs = task_logs(folder, known, selection)
    printer = Printer(logs, labelled=len(logs) > 1)
    anything = printer.print_new()
    printer.print_rest()
    return anything


class Follower:
    """Print what the attempts of a job print, one after the other; of one attempt alone if it is named."""

    def __init__(self, folder: JobFolder, selection: LogSelection) -> None:
        self._folder = folder
        self._selection = selection
        self._known = folder.history()
        self._printer = self._open(self._known.attempt if selection.attempt is None else selection.attempt)

    def _open(self, attempt: int) -> Printer:
        self._attempt = attempt
        selection, later = replace(self._selection, attempt=attempt), attempt > self._known.attempt
        logs = task_logs(self._folder, self._known, selection, may_come=later)
        return Printer(logs, labelled=len(logs) > 1)

    def print_new(self) -> None:
        """Print what is new, and go on to the next attempt when there is one."""
        while self._selection.attempt is None and self._folder.attempt(self._attempt + 1).is_dir():
            self._printer.print_new()
            self._printer.print_rest()
            log(f"attempt {self._attempt + 1} of {self._folder.name}")
            self._printer = self._open(self._attempt + 1)
        self._printer.print_new()

    def print_rest(self) -> None:
        """Print last lines that have no end."""
        self._printer.print_rest()


def follow_job(folder: JobFolder, selection: LogSelection = ALL_LOGS, *, max_age: float | None = None) -> View:
    """Print what comes until the job has ended, and return how it did; `max_age` as in `wait_for_end`."""
    bring_logs(folder, folder.history(), selection)
    follower = Follower(folder, selection)
    tasks = chosen(folder.history().roles, selection.tasks)
    pages = PageTeller(folder)

    def between() -> None:
        follower.print_new()
        pages.tell()

    view = wait_for_end(folder, max_age=max_age, shortest=MAX_INTERVAL, between=between, tasks=tasks)
    follower.print_rest()
    return view


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
