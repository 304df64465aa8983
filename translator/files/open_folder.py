"""Operations in an open folder: they affect this folder even if it is renamed meanwhile.

Symbolic links are not followed: a job's processes can create any.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STAYS = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY)


class OpenFolder:
    """The operations in a folder, by its descriptor. Each raises OSError, except if there is nothing to do."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @contextmanager
    def folder(self, name: str) -> Iterator[OpenFolder]:
        with _held(os.open(name, _FLAGS, dir_fd=self.descriptor)) as opened:
            yield opened

    def names(self) -> list[str]:
        return sorted(os.listdir(self.descriptor))  # noqa: PTH208 - of a descriptor

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a name, None if it does not exist."""
        try:
            return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str, limit: int) -> bytes:
        """Return a regular file of at most `limit` bytes."""
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.descriptor)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
                raise OSError(errno.EINVAL, "not a regular file, or too large", name)
            return file.read(limit)

    def drop(self, name: str) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(name, dir_fd=self.descriptor)

    def drop_folder(self, name: str) -> None:
        """Remove a folder if it exists and is empty."""
        try:
            os.rmdir(name, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno not in _STAYS:
                raise

    def make_folder(self, name: str) -> None:
        """Make a folder unless the name exists."""
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self.descriptor)

    def create(self, name: str) -> bool:
        """Make an empty file. Return False if the name exists."""
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self.descriptor))
        except FileExistsError:
            return False
        return True

    def sync(self) -> None:
        """Sync the names in the folder to disk, if the file system supports it."""
        with suppress(OSError):
            os.fsync(self.descriptor)


@contextmanager
def open_folder(path: Path) -> Iterator[OpenFolder]:
    with _held(os.open(path, _FLAGS)) as opened:
        yield opened


@contextmanager
def _held(descriptor: int) -> Iterator[OpenFolder]:
    try:
        yield OpenFolder(descriptor)
    finally:
        os.close(descriptor)


def replace_file(folder: OpenFolder, name: str, data: bytes) -> None:
    """Write a file atomically and sync it to disk."""
    new = f".{name}.new-{os.urandom(4).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(new, flags, 0o600, dir_fd=folder.descriptor)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.rename(new, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
    except BaseException:
        folder.drop(new)
        raise
    folder.sync()
