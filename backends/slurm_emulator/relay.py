"""Carry the streams of the tasks of a step: output to srun, by whole lines or as it comes, and input to each."""

from __future__ import annotations

import contextlib
import os
import selectors
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .srun import Task

CHUNK = 65536
"""Bytes of one read, of the longest line that is kept whole, and of input that a task may leave unread."""


class Relay:
    """Watch the streams of the tasks, and one channel more: `wakeup`, on which signals arrive."""

    def __init__(
        self, tasks: list[Task], wakeup: int, on_signals: Callable[[bytes], None], *, unbuffered: bool = False
    ) -> None:
        self._tasks = tasks
        self._longest = 0 if unbuffered else CHUNK
        self._selector = selectors.PollSelector()
        self._selector.register(wakeup, selectors.EVENT_READ, lambda: on_signals(os.read(wakeup, CHUNK)))
        self._source_open = any(task.stdin >= 0 for task in tasks)
        self._source_watched = False
        for task in tasks:
            if task.stdout >= 0:
                self._watch(task.stdout, selectors.EVENT_READ, self._read_output, task)
        self._balance_input()

    def turn(self) -> None:
        """Wait until something can be carried or a signal arrives, and deal with all of it."""
        for key, _ in self._selector.select():
            if key.fd in self._selector.get_map():
                key.data()

    def drain(self) -> None:
        """Carry what the tasks have left in their pipes, without waiting for more, and close them."""
        for task in self._tasks:
            while task.stdout >= 0 and self._read_output(task):
                pass
            self._close_output(task)

    def _watch(self, fd: int, events: int, action: Callable[[Task], object], task: Task) -> None:
        self._selector.register(fd, events, lambda: action(task))

    def _read_output(self, task: Task) -> bool:
        """Pass on the lines that are complete, one write each, or all; tell whether there was anything."""
        try:
            data = os.read(task.stdout, CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._close_output(task)
            return False
        *lines, task.line = (task.line + data).split(b"\n")
        for line in lines:
            _write(line + b"\n")
        if len(task.line) > self._longest:
            _write(task.line)
            task.line = b""
        return True

    def _close_output(self, task: Task) -> None:
        if task.stdout < 0:
            return
        self._selector.unregister(task.stdout)
        os.close(task.stdout)
        task.stdout = -1
        if task.line:
            _write(task.line)

    def _balance_input(self) -> None:
        """Read srun's input only while some task wants it and none of them is far behind."""
        listeners = [task for task in self._tasks if task.stdin >= 0]
        wanted = self._source_open and bool(listeners) and all(len(task.unsent) < CHUNK for task in listeners)
        if wanted and not self._source_watched:
            self._selector.register(0, selectors.EVENT_READ, self._read_source)
        elif self._source_watched and not wanted:
            self._selector.unregister(0)
        self._source_watched = wanted
        if not self._source_open:
            for task in listeners:
                if not task.unsent:
                    self._close_input(task)

    def _read_source(self) -> None:
        data = os.read(0, CHUNK)
        self._source_open = bool(data)
        for task in self._tasks:
            if data and task.stdin >= 0:
                task.unsent += data
                self._send_input(task)
        self._balance_input()

    def _send_input(self, task: Task) -> None:
        """Give a task what its pipe takes now; the rest follows when there is room."""
        try:
            sent = os.write(task.stdin, task.unsent)
        except BlockingIOError:
            sent = 0
        except BrokenPipeError:
            self._close_input(task)
            return
        del task.unsent[:sent]
        watched = task.stdin in self._selector.get_map()
        if task.unsent and not watched:
            self._watch(task.stdin, selectors.EVENT_WRITE, self._continue_input, task)
        elif watched and not task.unsent:
            self._selector.unregister(task.stdin)

    def _continue_input(self, task: Task) -> None:
        self._send_input(task)
        self._balance_input()

    def _close_input(self, task: Task) -> None:
        if task.stdin in self._selector.get_map():
            self._selector.unregister(task.stdin)
        os.close(task.stdin)
        task.stdin = -1
        task.unsent.clear()


def _write(line: bytes) -> None:
    """Write a line in one piece where the system allows it; nobody listening is no error."""
    with contextlib.suppress(BrokenPipeError):
        while line:
            line = line[os.write(1, line) :]
