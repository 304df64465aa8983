"""The one Jinja environment: what may reach a script, and how; compiled templates are kept in a folder between runs."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING
from zlib import crc32

import jinja2

from ..shipped import shipped_text
from .shell import ShellWord, comment, our_own

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2.bccache import Bucket

    from .lines import Line


def _only_shell_words(value: object) -> object:
    """Refuse what has not been through a filter, so that a forgotten quote is an error and not a hole."""
    if isinstance(value, jinja2.Undefined):
        str(value)  # raises, and names the variable
    if isinstance(value, ShellWord) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise TypeError(f"a template printed {value!r}, which nothing has quoted")


@jinja2.pass_context
def _mark(context: jinja2.runtime.Context, lines: Sequence[Line]) -> ShellWord:
    """Return the text of lines; where somebody asks what they come from, each with its number in `marks` before it."""
    marks: list[Line] | None = context["marks"]
    if marks is None:
        return our_own([line.text for line in lines])
    first = len(marks)
    marks += lines
    return our_own(f"\0{number}\0{line.text}" for number, line in enumerate(lines, first))


def load(name: str) -> str:
    """Return the text of a file below `templates`."""
    return shipped_text(f"templates/{name}")


@cache
def engine(compiled: jinja2.BytecodeCache | None = None) -> jinja2.Environment:
    """Return the environment: strict about names, quoting and white space; `compiled` keeps compiled templates."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        undefined=jinja2.StrictUndefined,
        finalize=_only_shell_words,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=compiled,
        autoescape=False,  # noqa: S701 - this is bash, and `finalize` lets only quoted text through
    )
    environment.filters |= {"comment": comment, "mark": _mark}
    return environment


class TemplateCache(jinja2.FileSystemBytecodeCache):
    """Keep what can be kept: a file that is damaged is made anew, and a full disk stops nothing.

    Jinja accepts a file only with the hash of its template's text, its own format and Python's version in it. What else
    it depends on, the options of the engine, is in its name.
    """

    def __init__(self, folder: Path) -> None:
        options = crc32(Path(__file__).read_bytes())
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
