"""Copy the files of remote attempts here: claims, results, reports and logs, as if their folders were shared."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from paislurm.translator.files.names import ATTEMPTS

from . import faults
from .news import GarbledError, NewsRequest, Seen, answer, question
from .ssh_runner import remote_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..base import RunFolder
    from .news import Piece
    from .ssh_runner import SshRunner
    from .transport import Address

THERE = "there"
"""The folder, in a job's folder, that records the known state of remote files; new files are made in it."""
MAX_KNOWN = 64 << 20
"""Limit in bytes for the file with the known state."""
_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST = 4 << 20
"""Bytes of a file that are sent at a time."""
SECONDS = 120.0
ROUNDS = 10_000


class Brought(NamedTuple):
    """Hold whether anything arrived, and by how many seconds our clock is ahead of the remote one."""

    anything: bool
    ahead: float


NOTHING = Brought(anything=False, ahead=0.0)


def bring(address: Address, runner: SshRunner, run_folders: Sequence[RunFolder], root: str) -> Brought:
    """Copy what is new of attempts. Raises UnreachableError unless all of it arrives.

    `root` is the remote folder of all jobs.
    """
    with ExitStack() as stack:
        # Skip jobs that have been removed.
        attempts = [stack.enter_context(mirrored(each)) for each in run_folders if each.folder.is_dir()]
        anything = False
        for _ in range(ROUNDS):
            wanted = [each.wanted(f"{root}/{each.run_folder.remote_name}") for each in attempts]
            began = time.time()
            done = runner.exchange(remote_script("news", str(MOST)), stdin=question(wanted), timeout=SECONDS)
            try:
                news = answer(done.stdout, wanted)
            except GarbledError as error:
                raise faults.broken(address, f"news: {error}") from None
            ahead = (began + time.time()) / 2 - news.time
            for each, asked in zip(attempts, wanted, strict=True):
                each.take([piece for piece in news.pieces if piece.folder == asked.folder], ahead)
            anything = anything or bool(news.pieces)
            if not news.more:
                return Brought(anything, ahead)
            if not news.pieces:
                break
    raise faults.broken(address, "news: endless output")


@contextmanager
def mirrored(run_folder: RunFolder) -> Iterator[Mirrored]:
    """Open the folder of a job, which may be renamed meanwhile."""
    with ExitStack() as stack:

        def open_folder(name: str, folder: int) -> int:
            descriptor = _open_folder(name, folder)
            stack.callback(os.close, descriptor)
            return descriptor

        folder = os.open(run_folder.folder, _FLAGS)
        stack.callback(os.close, folder)
        states = open_folder(THERE, folder)
        lock = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600, dir_fd=states)
        stack.callback(os.close, lock)
        attempt = open_folder(str(run_folder.attempt), open_folder(ATTEMPTS, folder))
        yield Mirrored(run_folder, states, attempt, lock)


class Mirrored:
    """Write the files of an attempt. `states` and `attempt` are descriptors of folders, `lock` of a file."""

    def __init__(self, run_folder: RunFolder, states: int, attempt: int, lock: int) -> None:
        self.run_folder = run_folder
        self._states = states
        self._attempt = attempt
        self._lock = lock
        self._known = self._read()

    def wanted(self, folder: str) -> NewsRequest:
        """Return the request for the files in the job's remote `folder`."""
        run_folder = self.run_folder
        return NewsRequest(
            folder=f"{folder}/attempts/{run_folder.attempt}",
            known=self._known,
            names=run_folder.names,
            tasks=run_folder.tasks,
        )

    def take(self, pieces: Sequence[Piece], ahead: float) -> None:
        """Write pieces of files, with times of our clock, which is `ahead` of the remote one. May raise OSError.

        Files that another process has written since the request stay: they are no older.
        """
        if not pieces:
            return
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            asked, self._known = self._known, self._read()
            for piece in pieces:
                if self._known.get(piece.name) == asked.get(piece.name):
                    self._write(piece, ahead)
                    self._known[piece.name] = piece.seen
            self._replace(self._states, self._file, json.dumps(self._known).encode(), None)
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _write(self, piece: Piece, ahead: float) -> None:
        *parents, name = piece.name.split("/")
        folder = os.dup(self._attempt)
        try:
            for parent in parents:
                inner = _open_folder(parent, folder)
                os.close(folder)
                folder = inner
            if piece.offset:
                _append(folder, name, piece)
            else:
                self._replace(folder, name, piece.data, float(piece.seen.mtime) + ahead)
        finally:
            os.close(folder)

    def _replace(self, folder: int, name: str, data: bytes, mtime: float | None) -> None:
        """Put a complete file in place: it is written elsewhere and renamed."""
        new = f".new-{os.urandom(4).hex()}"
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self._states)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            if mtime is not None:
                os.utime(new, (mtime, mtime), dir_fd=self._states)
            os.rename(new, name, src_dir_fd=self._states, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(new, dir_fd=self._states)
            raise

    @property
    def _file(self) -> str:
        return f"{self.run_folder.attempt}.json"

    def _read(self) -> dict[str, Seen]:
        """Return the known state of local files that are unchanged; all others are requested again."""
        with suppress(OSError, ValueError, RecursionError, TypeError, AttributeError):
            descriptor = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._states)
            with os.fdopen(descriptor, "rb") as file:
                known = [(name, Seen(*seen)) for name, seen in json.loads(file.read(MAX_KNOWN)).items()]
            kinds = (int, int, str)
            return {
                name: seen for name, seen in known if tuple(map(type, seen)) == kinds and self._size(name) == seen.size
            }
        return {}

    def _size(self, name: str) -> int | None:
        try:
            return os.stat(name, dir_fd=self._attempt, follow_symlinks=False).st_size
        except OSError:
            return None


def _append(folder: int, name: str, piece: Piece) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if os.fstat(descriptor).st_size != piece.offset:
            raise OSError(errno.ESTALE, "the file has changed", name)
        with os.fdopen(os.dup(descriptor), "ab") as file:
            file.write(piece.data)
    finally:
        os.close(descriptor)


def _open_folder(name: str, folder: int) -> int:
    """Open a folder in another one; make it if it is missing."""
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=folder)
    return os.open(name, _FLAGS, dir_fd=folder)
