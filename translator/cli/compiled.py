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

if TYPE_CHECKING:
    from jinja2.bccache import Bucket


class CompiledTemplates(BytecodeCache):
    """Read a compiled template, or write it if Python may write compiled modules there; nothing fails if it cannot.

    Jinja accepts one only with the hash of its template's text, and of its own format and Python's version. What else
    it depends on, the options of the engine, is in its name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket if there is a whole file for it."""
        with suppress(OSError, EOFError, UnpicklingError, ValueError):
            bucket.bytecode_from_string(self._file(bucket).read_bytes())

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what is in the bucket, for all users; who reads it meanwhile finds the whole file or none."""
        if sys.dont_write_bytecode:
            return
        with suppress(OSError):
            file = self._file(bucket)
            new = file.with_suffix(f".{os.getpid()}")
            try:
                new.write_bytes(bucket.bytecode_to_string())
                new.replace(file)
            finally:
                new.unlink(missing_ok=True)

    def _file(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}.{_engine()}.{sys.implementation.cache_tag}.jinja2"


@cache
def _engine() -> str:
    return f"{crc32(Path(engine.__file__).read_bytes()):08x}"
