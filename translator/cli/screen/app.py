"""The live screen: paint what is found, do what keys ask for, and leave the terminal as it was."""

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

from ...app.own_call import own_call
from ...plural import some_of
from .frame import frame, page, sight_of
from .jobs_page import DETAIL_LINES, HEAD_LINES
from .paint import ASCII, UNICODE, Brush
from .rows import GROUP
from .state import Request, State, press
from .terminal import Terminal
from .watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...app.session import Session
    from .world import World

IDLE_SECONDS = 1.0
"""So often the screen is painted again at least: what is said to be so old gets older."""
SHORT_SECONDS = 5.0
"""A shell that ends badly within that time has never been one: its user is to read why."""
TERMINATED = 128 + signal.SIGTERM
NAMED = 3
"""Of so many jobs that were cancelled the message says so; the others are counted."""


def watch_live(session: Session, names: Sequence[str]) -> tuple[int, World]:
    """Show the screen until its user quits; return the exit code, and what was seen last, jobs or one job."""
    gc.enable()
    app = _App(session, names)
    try:
        code = app.run()
    finally:
        app.watcher.close()
    return code, app.last_seen()


def watch_once(session: Session, names: Sequence[str]) -> World:
    """Print what the screen shows at first, with all jobs, and return it."""
    state, console = first_state(names), Console()
    world = Watcher(session, names, state, lambda: None).look_once()
    if world.jobs or world.view is not None:
        width, height = get_terminal_size()
        brush = Brush(width, UNICODE if console.encoding.startswith("utf") else ASCII)
        lines = page(
            session, world, state, brush, max(height - 1, len(world.jobs) + HEAD_LINES + DETAIL_LINES), session.now()
        )
        console.print(Text("\n").join(lines), soft_wrap=True)
    return world


def first_state(names: Sequence[str]) -> State:
    """Return what is looked at first: the job that is named, else all."""
    return State(page="job", job=names[0]) if len(names) == 1 else State()


def _cancelled(session: Session, job: str) -> str:
    """Cancel a job or the jobs of a group, and return in words what was done."""
    from ...app.jobs.cancelling import cancel_jobs, joined
    from ..output.sweep_table import folders_of_group

    folders = folders_of_group(session, job.removeprefix(GROUP)) if job.startswith(GROUP) else ()
    done, errors = cancel_jobs(session, folders or [session.store.find(job, user=session.user)])
    if errors:
        raise joined(errors)
    return some_of([each.message for each in done], NAMED)


class _App:
    """Hold what is looked at, what is found, and the terminal."""

    def __init__(self, session: Session, names: Sequence[str]) -> None:
        self._session, self._state = session, first_state(names)
        self._named = bool(names)
        self._console = Console()
        self._terminal = Terminal()
        self.watcher = Watcher(session, names, self._state, self._terminal.wake)
        self.watcher.start()

    def run(self) -> int:
        """Show the screen; leave it for what needs the terminal, and come back."""
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
        """Return what was found for the last page: of jobs, or of one job with its tasks."""
        world = self.watcher.world
        return replace(world, view=None) if self._state.page == "jobs" else replace(world, jobs=())

    @contextmanager
    def _screen(self) -> Iterator[Live]:
        """Have the terminal for the screen. What is said meanwhile becomes a message."""
        said = StringIO()
        with self._terminal.taken(), redirect_stderr(said):
            live = Live(
                console=self._console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
            )
            with live:
                yield live
        sys.stderr.write(said.getvalue())

    def _until_asked(self, live: Live) -> Request:
        """Paint and take keys until one asks for what needs the terminal."""
        shown: list[Text] = []
        while True:
            self._take_in()
            if not self._named and self.watcher.world.looked and not self.watcher.world.jobs:
                return Request("quit")
            # Not what COLUMNS says: the window may have another size by now.
            self._console.size = ConsoleDimensions(*os.get_terminal_size(sys.stdout.fileno()))
            width, height = self._console.size
            unicode = self._console.encoding.startswith("utf")
            lines = frame(
                self._session, self.watcher.world, self._state, width, height, self._session.now(), unicode=unicode
            )
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
        """Take in what threads have to say."""
        if self.watcher.error is not None:
            raise self.watcher.error
        if self.watcher.messages:
            self._state = replace(self._state, message=self.watcher.messages.pop(0))

    def _cancel(self, job: str) -> None:
        self._state = replace(self._state, message=f"{job} is being cancelled ...")
        self.watcher.run(partial(_cancelled, self._session, job))

    def _shell(self, request: Request) -> None:
        """Run a shell in a task, on the terminal as it was; wait for its user to read why where it did not go well."""
        argv = [*own_call(), "exec", request.job, request.task]
        before = signal.signal(signal.SIGINT, lambda *_: None)
        try:
            began = time.monotonic()
            status = subprocess.run(argv, check=False).returncode
            if status and time.monotonic() - began < SHORT_SECONDS:
                print(f"[{status}] Enter: back to the screen", end=" ", flush=True)
                sys.stdin.readline()
        finally:
            signal.signal(signal.SIGINT, before)
        self._state = replace(self._state, message=f"the shell in {request.task} ended with {status}")
