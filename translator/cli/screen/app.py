"""The live screen: paint pages, run the requests of keys, and restore the terminal."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stderr
from functools import partial
from io import StringIO
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.console import Console, ConsoleDimensions
from rich.live import Live
from rich.text import Text

from ...app.session import own_call
from ...plural import some_of
from ...terminal_text import one_line
from ..output.console import log, print_result
from ..output.job_list import change_text, log_nothing_left
from .frame import frame, page, sight_of
from .jobs_page import DETAIL_LINES, GROUP, HEAD_LINES
from .paint import ASCII, UNICODE, Brush
from .state import Request, State, press
from .terminal import Terminal
from .watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...app.session import Session
    from .state import World


IDLE_SECONDS = 1.0
"""The most seconds between two repaints, because shown ages grow."""
SHORT_SECONDS = 5.0
"""Seconds: a shell that fails within this time did not start, and the user must see the error."""
TERMINATED = 128 + signal.SIGTERM
NAMED = 3
"""Most cancelled jobs that a message names; the others are counted."""


def watch_live(session: Session, names: Sequence[str]) -> tuple[int, World]:
    """Show the screen until the user quits; return the exit code, and the data of the last page."""
    gc.enable()
    app = _App(session, names)
    try:
        code = app.run()
    finally:
        app.watcher.close()
    return code, app.last_seen()


def watch_once(session: Session, names: Sequence[str]) -> World:
    """Print the first page with all jobs, and return its data."""
    state, console = first_state(names), Console()
    world = Watcher(session, names, state, lambda: None).poll_once()
    if world.jobs or world.job is not None:
        width, height = get_terminal_size()
        brush = Brush(width, UNICODE if console.encoding.startswith("utf") else ASCII)
        lines = page(session, world, state, brush, max(height - 1, len(world.jobs) + HEAD_LINES + DETAIL_LINES))
        console.print(Text("\n").join(lines), soft_wrap=True)
    return world


def first_state(names: Sequence[str]) -> State:
    """Return the first state: the page of the only named job, else of all jobs."""
    return State(page="job", job=names[0]) if len(names) == 1 else State()


def _cancelled(session: Session, job: str) -> str:
    """Cancel a job or the jobs of a group, and return a message."""
    jobs = session.jobs.of_group(job.removeprefix(GROUP)) if job.startswith(GROUP) else [session.jobs.find(job)]
    done = session.jobs.cancel(*jobs)
    return some_of([each.message for each in done], NAMED)


class _App:
    """The screen: its state, its data and the terminal."""

    def __init__(self, session: Session, names: Sequence[str]) -> None:
        self._session, self._state = session, first_state(names)
        self._named = bool(names)
        self._console = Console()
        self._terminal = Terminal()
        self.watcher = Watcher(session, names, self._state, self._terminal.wake)
        self.watcher.start()

    def run(self) -> int:
        """Show the screen until the user quits; suspend it for requests that need the terminal."""
        while True:
            with self._screen() as live:
                request = self._until_asked(live)
            match request.kind:
                case "shell":
                    self._shell(request)
                case "stop":
                    os.kill(os.getpid(), signal.SIGSTOP)
                case "ended":
                    return TERMINATED
                case _:
                    return 0

    def last_seen(self) -> World:
        """Return the data of the last page."""
        world = self.watcher.world
        return replace(world, job=None) if self._state.page == "jobs" else replace(world, jobs=())

    @contextmanager
    def _screen(self) -> Iterator[Live]:
        """Take the terminal for the screen. Events become messages on it."""
        said = StringIO()
        with self._terminal.taken(), redirect_stderr(said):
            live = Live(
                console=self._console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
            )
            with live:
                yield live
        sys.stderr.write(said.getvalue())

    def _until_asked(self, live: Live) -> Request:
        """Paint and handle keys until a request needs the terminal."""
        shown: list[Text] = []
        while True:
            self._take_in()
            if not self._named and self.watcher.world.polled and not self.watcher.world.jobs:
                return Request("quit")
            # COLUMNS would be stale after a resize of the window.
            self._console.size = ConsoleDimensions(*os.get_terminal_size(sys.stdout.fileno()))
            width, height = self._console.size
            unicode = self._console.encoding.startswith("utf")
            lines = frame(self._session, self.watcher.world, self._state, width, height, unicode=unicode)
            if lines != shown:
                shown = lines
                live.update(Text("\n").join(lines), refresh=True)
            for key in self._terminal.read(IDLE_SECONDS):
                self._state, request = press(self._state, key, sight_of(self.watcher.world, self._state, width, height))
                self.watcher.aim(self._state)
                if request is None:
                    continue
                if request.kind == "redraw":
                    shown = []
                elif request.kind == "cancel":
                    self._cancel(request.job)
                else:
                    return request

    def _take_in(self) -> None:
        """Apply the messages and the data of the threads."""
        if self.watcher.error is not None:
            raise self.watcher.error
        if self.watcher.messages:
            self._state = replace(self._state, message=self.watcher.messages.pop(0))

    def _cancel(self, job: str) -> None:
        self._state = replace(self._state, message=f"cancelling {job} ...")
        self.watcher.run(partial(_cancelled, self._session, job))

    def _shell(self, request: Request) -> None:
        """Run a shell in a task on the restored terminal; after a failure, wait until the user has read the error."""
        argv = [*own_call(), "exec", request.job, request.task]
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            began = time.monotonic()
            status = subprocess.run(argv, env=self._session.environment, check=False).returncode
            if status and time.monotonic() - began < SHORT_SECONDS:
                print(f"[{status}] press Enter to return to the screen", end=" ", flush=True)
                sys.stdin.readline()
        finally:
            signal.signal(signal.SIGINT, before)
        self._state = replace(self._state, message=f"the shell in {request.task} exited with {status}")


MAX_LINES = 10
"""Most jobs that are logged after the screen is closed."""


def print_screen(session: Session, names: Sequence[str]) -> None:
    """Print the contents of the screen once."""
    world = watch_once(session, names)
    if world.problem:
        log(f"these are the last known states: {world.problem}")
    if world.job is None and not world.jobs:
        log_nothing_left()


def show_screen(session: Session, names: Sequence[str]) -> int:
    """Show the screen, log the last states of jobs, and return the exit code."""
    code, world = watch_live(session, names)
    for line in world.jobs[:MAX_LINES]:
        print_result(change_text(line, session.now()))
    if len(world.jobs) > MAX_LINES:
        log(f"and {len(world.jobs) - MAX_LINES} more: paislurm list")
    if not world.jobs and world.job is not None:
        print_result(one_line(world.job.sentence))
    elif world.polled and not world.jobs:
        log_nothing_left()
    return code
