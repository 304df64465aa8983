"""Show what tasks print: once, or as it comes until the job has ended."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import Fault, NotFoundError
from ..output.console import raw_output, say
from .log_tail import Prefixer, TaskLog, open_log, start_of_last_lines, written
from .waiting import LONGEST, wait_for_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...monitor.poll import View
    from ...state.history import History
    from ...state.job_folder import JobFolder
    from ...state.records import JobRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Say which output is wanted; None: all tasks, the last attempt, the newest task attempt, all lines."""

    tasks: str | None = None
    stream: str = "stdout"
    attempt: int | None = None
    task_attempt: int | None = None
    tail: int | None = None


EVERYTHING = Wanted()


def task_logs(folder: JobFolder, known: History, wanted: Wanted) -> list[TaskLog]:
    """Return the logs that are wanted; NotFoundError if the job has no such attempt, role or task."""
    attempt = known.attempt if wanted.attempt is None else wanted.attempt
    if not folder.attempt(attempt).is_dir():
        message = f"{folder.name} has no attempt {attempt}; the last one is {known.attempt}"
        raise NotFoundError(Fault(code="E522", message=message))
    logs = [
        TaskLog(folder, attempt, role, index, stream=wanted.stream, task_attempt=wanted.task_attempt)
        for role, index in chosen(known.roles, wanted.tasks)
    ]
    if wanted.tail is not None:
        for log in logs:
            log.skip_to_last_lines(wanted.tail)
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
    raise NotFoundError(Fault(code="E521", message=f"the job has no task or role `{word}`", hint=f"it has {names}"))


class Printer:
    """Write logs to standard output as they are; with several, each line under its task's name."""

    def __init__(self, logs: Sequence[TaskLog], *, labelled: bool) -> None:
        self._output = raw_output()
        self._logs = [(log, Prefixer(log.label) if labelled else None) for log in logs]

    def print_new(self) -> bool:
        """Print what is new; tell whether there was anything."""
        anything = False
        for log, prefixer in self._logs:
            for piece in log.read():
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


def show_once(folder: JobFolder, known: History, wanted: Wanted) -> bool:
    """Print what is there, and tell whether there was anything."""
    logs = task_logs(folder, known, wanted)
    printer = Printer(logs, labelled=len(logs) > 1)
    anything = printer.print_new()
    printer.print_rest()
    return anything


class Follower:
    """Print what the attempts of a job print, one after the other; of one attempt alone if it is named."""

    def __init__(self, folder: JobFolder, wanted: Wanted) -> None:
        self._folder = folder
        self._wanted = wanted
        self._known = folder.history()
        self._printer = self._open(self._known.attempt if wanted.attempt is None else wanted.attempt)

    def _open(self, attempt: int) -> Printer:
        self._attempt = attempt
        logs = task_logs(self._folder, self._known, replace(self._wanted, attempt=attempt))
        return Printer(logs, labelled=len(logs) > 1)

    def print_new(self) -> None:
        """Print what is new, and go on to the next attempt when there is one."""
        while self._wanted.attempt is None and self._folder.attempt(self._attempt + 1).is_dir():
            self._printer.print_new()
            self._printer.print_rest()
            say(f"attempt {self._attempt + 1} of {self._folder.name}")
            self._printer = self._open(self._attempt + 1)
        self._printer.print_new()

    def print_rest(self) -> None:
        """Print last lines that have no end."""
        self._printer.print_rest()


def follow_job(folder: JobFolder, wanted: Wanted = EVERYTHING) -> View:
    """Print what comes until the job has ended, and return how it did."""
    follower = Follower(folder, wanted)
    view = wait_for_end(folder, shortest=LONGEST, between=follower.print_new)
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
