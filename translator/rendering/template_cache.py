"""Compiled templates, kept in a folder between runs; nothing but time depends on it."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING
from zlib import crc32

from jinja2 import FileSystemBytecodeCache

from . import engine

if TYPE_CHECKING:
    from jinja2.bccache import Bucket


class TemplateCache(FileSystemBytecodeCache):
    """Keep what can be kept: a file that is damaged is made anew, and a full disk stops nothing.

    Jinja accepts a file only with the hash of its template's text, its own format and Python's version in it. What else
    it depends on, the options of the engine, is in its name.
    """

    def __init__(self, folder: Path) -> None:
        options = crc32(Path(engine.__file__).read_bytes())
        super().__init__(str(folder), pattern=f"%s.{options:08x}.jinja2")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket if there is a whole file for it."""
        with suppress(OSError, EOFError, UnpicklingError, ValueError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write what is in the bucket, as a whole file or as none."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


@cache
def template_cache(folder: Path) -> TemplateCache:
    """Return the cache of a folder, which must be there, and must be the user's alone: what is read from it is run."""
    return TemplateCache(folder)
