"""What is still to be removed at a login node: a list that outlives a connection, and this process."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class Removals:
    """Keep paths, relative to the folder of all jobs there, in a file of a line each."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, *paths: str) -> None:
        """Add paths to the list. OSError if it cannot be written."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._held() as descriptor:
            os.lseek(descriptor, 0, os.SEEK_END)
            os.write(descriptor, "".join(f"{path}\n" for path in paths).encode())
            os.fsync(descriptor)

    def due(self) -> list[str]:
        """Return what is on the list."""
        try:
            return self._file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []

    def done(self, paths: Sequence[str]) -> None:
        """Take paths off the list."""
        with self._held() as descriptor:
            left = [path for path in self.due() if path not in paths]
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, "".join(f"{path}\n" for path in left).encode(), 0)

    @contextmanager
    def _held(self) -> Iterator[int]:
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)
