"""Calls of the system that concern the simulated files, time and threads go to the model; all others go on."""

from __future__ import annotations

import io
import os
import shutil
import time
from contextlib import contextmanager, nullcontext, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from paislurm.translator.app import session
from paislurm.translator.app.jobs import refresh
from paislurm.translator.state import lock

from .files import FIRST_DESCRIPTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .files import Client, Server
    from .world import Process, World

ROOT = "/simulated"
"""The folder of the simulated files."""


_PLAIN = {"fstat": "stat", "listdir": "names", "close": "close", "pread": "read", "write": "write", "fsync": "sync"}
"""Functions of `os` that take the words of a client's method."""


class _Entry:
    """An entry of a folder that is scanned."""

    def __init__(self, client: Client, folder: str, name: str) -> None:
        self.name = name
        self.path = f"{folder}/{name}"
        self._client = client

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002 - there are no links
        return self._client.stat(self.path)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        with suppress(OSError):
            return bool(self.stat(follow_symlinks=follow_symlinks).st_mode & 0o040000)
        return False

    def is_symlink(self) -> bool:
        return False


class Calls:
    """The system's calls in a world."""

    def __init__(self, world: World, server: Server) -> None:
        self.world = world
        self.server = server
        self._random = 0

    @property
    def client(self) -> Client:
        """The client of the host on which the current process runs."""
        current = self.world.current
        return self.server.client(current.host if current else "outside")

    def simulated(self, path: Any, dir_fd: int | None = None) -> str | int | None:
        """Return a path or descriptor of the model, None for any other."""
        if isinstance(path, int):
            return path if path >= FIRST_DESCRIPTOR else None
        text: str | bytes = os.fspath(path)
        if isinstance(text, bytes):
            return None
        if dir_fd is not None and dir_fd >= FIRST_DESCRIPTOR:
            return text
        return text if text.startswith(ROOT) else None

    def of_client(self, method: str) -> Callable[..., Any]:
        """Return a call of a method of the current client."""

        def call(*words: Any) -> Any:
            return getattr(self.client, method)(*words)

        return call

    def urandom(self, count: int) -> bytes:
        """Return names that differ, and are the same in each run of a history."""
        self._random += 1
        return self._random.to_bytes(count, "big")

    def wrapped(self, real: Callable[..., Any], fake: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that takes a path or descriptor first."""

        def call(path: Any, *words: Any, **others: Any) -> Any:
            if isinstance(path, int):
                if path < FIRST_DESCRIPTOR:
                    return real(path, *words, **others)
            else:
                others_fd = others.get("dir_fd") or others.get("src_dir_fd")
                path_or_none = self.simulated(path, others_fd)
                if path_or_none is None:
                    return real(path, *words, **others)
                path = path_or_none
            return fake(path, *words, **others)

        return call

    def remove_tree(self, path: Any, ignore_errors: bool = False) -> None:
        """Remove a folder, one effect after the other."""
        text = os.fspath(path)
        try:
            for name in self.client.names(text):
                below = f"{text}/{name}"
                if self.client.stat(below).st_mode & 0o040000:
                    self.remove_tree(below, ignore_errors)
                else:
                    self.client.unlink(below)
            self.client.rmdir(text)
        except OSError:
            if not ignore_errors:
                raise


def _event(world: World) -> type:
    class Event:
        """threading.Event in virtual time."""

        def __init__(self) -> None:
            self._is_set = False
            self._waiting: list[Process] = []

        def set(self) -> None:
            self._is_set = True
            for process in self._waiting:
                process.wake = min(process.wake, world.now)

        def wait(self, timeout: float) -> bool:
            if not self._is_set:
                assert world.current is not None
                self._waiting.append(world.current)
                world.sleep(timeout)
            return self._is_set

    return Event


def _thread(world: World) -> type:
    class Thread:
        """threading.Thread as a greenlet of the same process."""

        def __init__(self, target: Callable[..., object], args: tuple[object, ...] = (), **_: object) -> None:
            self._call = lambda: target(*args)
            self._process: Process | None = None

        def start(self) -> None:
            parent = world.current
            assert parent is not None
            self._process = world.spawn(f"{parent.name} (heartbeat)", parent.host, self._call)
            parent.threads.append(self._process)

        def join(self) -> None:
            while self._process is not None and not self._process.over:
                world.sleep(0.01)

    return Thread


@contextmanager
def simulated(world: World, server: Server) -> Iterator[Calls]:
    """Let the code under test see the simulated files and the virtual time."""
    calls = Calls(world, server)
    fakes: dict[str, Callable[..., Any]] = {
        "stat": lambda path, *, dir_fd=None, follow_symlinks=True: calls.client.stat(path, dir_fd),  # noqa: ARG005
        "lstat": lambda path, *, dir_fd=None: calls.client.stat(path, dir_fd),
        "access": lambda path, mode, **_: bool(calls.client.stat(path)) or bool(mode),
        "mkdir": lambda path, mode=0o777, *, dir_fd=None: calls.client.mkdir(path, mode, dir_fd),
        "rmdir": lambda path, *, dir_fd=None: calls.client.rmdir(path, dir_fd),
        "unlink": lambda path, *, dir_fd=None: calls.client.unlink(path, dir_fd),
        "chmod": lambda path, mode, *, dir_fd=None, follow_symlinks=True: calls.client.chmod(path, mode, dir_fd),  # noqa: ARG005
        "scandir": lambda path: nullcontext([_Entry(calls.client, path, name) for name in calls.client.names(path)]),
        "utime": lambda path, times=None, *, ns=None, dir_fd=None: calls.client.utime(  # noqa: ARG005
            path, None if times is None else times[1], dir_fd
        ),
        "link": lambda old, new: calls.client.link(os.fspath(old), os.fspath(new)),
        "rename": lambda old, new, *, src_dir_fd=None, dst_dir_fd=None: calls.client.rename(
            old, os.fspath(new), src_dir_fd, dst_dir_fd
        ),
        "replace": lambda old, new, *, src_dir_fd=None, dst_dir_fd=None: calls.client.rename(
            old, os.fspath(new), src_dir_fd, dst_dir_fd
        ),
        "open": lambda path, flags, mode=0o777, *, dir_fd=None: calls.client.open(path, flags, mode, dir_fd),
        "read": lambda path, count: calls.client.read(path, count, 0),
        "fdopen": lambda path, mode="r", **_: calls.client.file(path, mode),
    }
    fakes |= {name: calls.of_client(method) for name, method in _PLAIN.items()}
    patches: list[Any] = [
        patch.object(os, name, calls.wrapped(getattr(os, name), fake)) for name, fake in fakes.items()
    ]
    patches += [
        patch.object(io, "open", _io_open(calls)),
        patch.object(shutil, "rmtree", calls.wrapped(shutil.rmtree, calls.remove_tree)),
        patch.object(os, "urandom", calls.urandom),
        patch.object(lock, "urandom", calls.urandom),
        patch("paislurm.translator.monitor.attempt.urandom", calls.urandom),
        patch.object(time, "time", lambda: world.now),
        patch.object(time, "monotonic", lambda: world.now),
        patch.object(time, "sleep", world.sleep),
        patch.object(lock, "threading", SimpleNamespace(Event=_event(world), Thread=_thread(world))),
        *(patch.object(session, name, lambda _: None) for name in ("check_home", "check_private", "check_usable")),
        patch.object(refresh, "is_private", lambda _: True),
    ]
    for each in patches:
        each.start()
    try:
        yield calls
    finally:
        for each in reversed(patches):
            each.stop()


def _io_open(calls: Calls) -> Callable[..., Any]:
    real = io.open

    def opened(path: Any, mode: str = "r", *words: Any, **others: Any) -> Any:
        if calls.simulated(path) is None:
            return real(path, mode, *words, **others)
        flags = {
            "r": os.O_RDONLY,
            "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
            "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
        }
        descriptor = path if isinstance(path, int) else calls.client.open(os.fspath(path), flags[mode[0]])
        file = calls.client.file(descriptor, mode)
        return file if "b" in mode or mode[0] != "r" else io.TextIOWrapper(file)

    return opened
