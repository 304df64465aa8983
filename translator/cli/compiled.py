"""Jinja's compiled templates, kept where Python keeps our compiled modules."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING
from zlib import crc32

from jinja2 import BytecodeCache

from ..rendering import engine
from .start import OTHERS_WRITE

if TYPE_CHECKING:
    from jinja2.bccache import Bucket


class CompiledTemplates(BytecodeCache):
    """Read a compiled template, or write it unless Python is told to write none; nothing fails if it cannot.

    It is code: nothing is read or written where anybody could write but the user and the owner of this program.
    Jinja accepts one only with the hash of its template's text, and of its own format and Python's version. What else
    it depends on, the options of the engine, is in its name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket if there is a whole file for it."""
        with suppress(OSError, EOFError, UnpicklingError, ValueError), self._file(bucket).open("rb") as file:
            if self._is_safe() and _is_ours(os.fstat(file.fileno())):
                bucket.bytecode_from_string(file.read())

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what is in the bucket, for all users; who reads it meanwhile finds the whole file or none."""
        with suppress(OSError):
            if not may_write() or not self._is_safe():
                return
            file = self._file(bucket)
            new = file.with_suffix(f".{os.getpid()}")
            try:
                with open(new, "xb", opener=_readable_by_all) as stream:
                    stream.write(bucket.bytecode_to_string())
                new.replace(file)
            finally:
                new.unlink(missing_ok=True)

    def _is_safe(self) -> bool:
        return _is_ours(self._folder.stat())

    def _file(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}.{_engine()}.{sys.implementation.cache_tag}.jinja2"


def may_write() -> bool:
    """Tell whether Python may write what it compiles (`-B`, PYTHONDONTWRITEBYTECODE)."""
    return not sys.flags.dont_write_bytecode


def _is_ours(status: os.stat_result) -> bool:
    """Tell whether a file or folder is the user's, or of the owner of this program, and no others can write to it."""
    trusted = (os.geteuid(), os.stat(__file__).st_uid)  # noqa: PTH116
    return status.st_uid in trusted and not status.st_mode & OTHERS_WRITE


def _readable_by_all(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o644)


@cache
def _engine() -> str:
    return f"{crc32(Path(engine.__file__).read_bytes()):08x}"
