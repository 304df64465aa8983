"""Calls of the system that concern the simulated files, time and threads go to the model; all others go on."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import time
from contextlib import contextmanager, nullcontext, suppress
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from paislurm.translator.app import monitor_run as monitoring
from paislurm.translator.app import session, surroundings
from paislurm.translator.app.jobs import job_sites, refresh
from paislurm.translator.app.submit import recording, refusal_location, submitting
from paislurm.translator.files import lock
from paislurm.translator.monitor import attempt
from paislurm.translator.site.profile import Site

from .files import FIRST_DESCRIPTOR, Client
from .remembered import REMEMBERED
from .threads import event, thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .files import Server
    from .nodes import Status
    from .world import World

ROOT = "/simulated"
"""The folder of the simulated files."""
SITE = Site.of()


class _Entry:
    """An entry of a folder that is scanned."""

    def __init__(self, client: Client, folder: str, name: str) -> None:
        self.name = name
        self.path = f"{folder}/{name}"
        self._client = client

    def stat(self, *, follow_symlinks: bool = True) -> Status:  # noqa: ARG002 - there are no links
        return self._client.stat(self.path)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        with suppress(OSError):
            return bool(self.stat(follow_symlinks=follow_symlinks).st_mode & 0o040000)
        return False

    def is_symlink(self) -> bool:
        return False


class Calls:
    """The system's calls: those about simulated files, and about time, go to the present world."""

    world: World
    clients: dict[str, Client]

    def __init__(self) -> None:
        self._random = 0

    def begin(self, world: World, server: Server) -> None:
        """Take another world."""
        self.world = world
        self.clients = server.clients
        self._random = 0

    @property
    def client(self) -> Client:
        """The client of the host on which the current process runs."""
        return self.clients[self.world.host]

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.world.sleep(seconds)

    def urandom(self, count: int) -> bytes:
        """Return names that differ, and are the same in each run of a history."""
        self._random += 1
        return self._random.to_bytes(count, "big")

    def of_path(self, real: Callable[..., Any], fake: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that takes a path or descriptor first: `fake` takes those of the model, `real` all others."""

        def call(path: Any, *words: Any, dir_fd: int | None = None, **others: Any) -> Any:
            try:
                text = path._str
            except AttributeError:
                text = path if type(path) is int else str(path)
            if dir_fd is not None:
                if dir_fd >= FIRST_DESCRIPTOR:
                    return fake(self.clients[self.world.host], text, *words, at=dir_fd, **others)
                return real(path, *words, dir_fd=dir_fd, **others)
            if type(text) is int:
                is_simulated = text >= FIRST_DESCRIPTOR
            else:
                is_simulated = text.startswith(ROOT) or (others.get("src_dir_fd") or 0) >= FIRST_DESCRIPTOR
            if is_simulated:
                return fake(self.clients[self.world.host], text, *words, **others)
            return real(path, *words, **others)

        return call

    def of_descriptor(self, real: Callable[..., Any], fake: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that takes a descriptor first: `fake` takes those of the model, `real` all others."""

        def call(descriptor: int, *words: Any) -> Any:
            if descriptor >= FIRST_DESCRIPTOR:
                return fake(self.clients[self.world.host], descriptor, *words)
            return real(descriptor, *words)

        return call


def _stat(client: Client, path: str | int, at: int | None = None, **_: bool) -> Status:
    return client.stat(path, at)


def _scandir(client: Client, path: str) -> nullcontext[list[_Entry]]:
    return nullcontext([_Entry(client, path, name) for name in client.names(path)])


def _utime(client: Client, path: str | int, times: tuple[float, float] | None = None, at: int | None = None) -> None:
    client.utime(path, None if times is None else times[1], at)


def _rename(
    client: Client, old: str, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
) -> None:
    client.rename(old, str(new), src_dir_fd, dst_dir_fd)


def _remove_tree(client: Client, path: str, ignore_errors: bool = False) -> None:
    """Remove a folder, one effect after the other."""
    try:
        for name in client.names(path):
            below = f"{path}/{name}"
            if client.stat(below).st_mode & 0o040000:
                _remove_tree(client, below, ignore_errors)
            else:
                client.unlink(below)
        client.rmdir(path)
    except OSError:
        if not ignore_errors:
            raise


def _io_open(calls: Calls) -> Callable[..., Any]:
    real = io.open
    flags = {
        "r": os.O_RDONLY,
        "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
        "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    }

    def opened(client: Client, path: str | int, mode: str = "r", *_: object, **__: object) -> Any:
        file = client.file(path if isinstance(path, int) else client.open(path, flags[mode[0]]), mode)
        return file if "b" in mode or mode[0] != "r" else io.TextIOWrapper(file)

    return calls.of_path(real, opened)


def _replacements(calls: Calls) -> list[tuple[Any, str, Any]]:
    """Return what stands for the calls of the system, and for functions of the program: owner, name, replacement."""
    of_paths: dict[str, Callable[..., Any]] = {
        "stat": _stat, "lstat": _stat, "listdir": Client.names, "scandir": _scandir,
        "access": lambda client, path, mode, **_: bool(client.stat(path)) or bool(mode),
        "mkdir": lambda client, path, mode=0o777, at=None: client.mkdir(path, mode, at),
        "rmdir": Client.rmdir, "unlink": Client.unlink, "utime": _utime,
        "chmod": lambda client, path, mode, at=None, **_: client.chmod(path, mode, at),
        "link": lambda client, old, new: client.link(old, str(new)),
        "rename": _rename, "replace": _rename, "open": Client.open, "fdopen": Client.file,
    }  # fmt: skip
    of_descriptors: dict[str, Callable[..., Any]] = {
        "fstat": Client.stat, "read": lambda client, path, count: client.read(path, count, 0), "pread": Client.read,
        "write": lambda client, descriptor, data: client.write(descriptor, data), "fsync": Client.sync,
        "close": Client.close,
    }  # fmt: skip
    return [
        *((os, name, calls.of_path(getattr(os, name), fake)) for name, fake in of_paths.items()),
        *((os, name, calls.of_descriptor(getattr(os, name), fake)) for name, fake in of_descriptors.items()),
        (io, "open", _io_open(calls)),
        (fcntl, "lockf", calls.of_descriptor(fcntl.lockf, Client.lock)),
        (shutil, "rmtree", calls.of_path(shutil.rmtree, _remove_tree)),
        *((owner, "urandom", calls.urandom) for owner in (os, lock, attempt)),
        # The same on each machine: how long a text is may decide what a full disk keeps of it.
        (os, "uname", lambda: SimpleNamespace(nodename=calls.world.host)),
        (os, "getpid", lambda: 1),
        (surroundings, "user_name", lambda: "root"),
        (submitting, "scrubbed", lambda _: {"HOME": ROOT}),
        *REMEMBERED,
        (recording, "absolute_path", str),
        (recording, "profiles_of", lambda *_: ()),
        (monitoring, "used", lambda: 0.0),
        (refusal_location, "site_now", lambda _session, _backend, site: site),
        *((owner, "find_site", lambda *_, **__: SITE) for owner in (job_sites, monitoring)),
        (time, "time", lambda: calls.world.now),
        (time, "monotonic", lambda: calls.world.now),
        (time, "sleep", calls.sleep),
        (lock, "threading", SimpleNamespace(Event=event(lambda: calls.world), Thread=thread(lambda: calls.world))),
        *((surroundings, name, lambda _: None) for name in ("check_home", "check_private", "check_usable")),
        (session, "check_private", lambda _: None),
        (refresh, "is_private", lambda _: True),
    ]


_CALLS = Calls()
_REPLACED = _replacements(_CALLS)


@contextmanager
def simulated(world: World, server: Server) -> Iterator[Calls]:
    """Let the code under test see the simulated files and the virtual time."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in _REPLACED]
    _CALLS.begin(world, server)
    try:
        for owner, name, fake in _REPLACED:
            setattr(owner, name, fake)
        yield _CALLS
    finally:
        for owner, name, real in before:
            setattr(owner, name, real)
