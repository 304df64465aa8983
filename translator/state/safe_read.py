"""Read files that anybody may have written: never more than a limit, never waiting, no value of another kind.

The tasks of a job run as its user: whatever is in a job folder can be a pipe, a terabyte, or nonsense.
"""

from __future__ import annotations

import os
import re
import stat
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import Decoder

if TYPE_CHECKING:
    from pathlib import Path

Shape = TypeVar("Shape")
MAX_NUMBER = 1 << 53
MAX_JOB_ID = (1 << 31) - 1
MAX_DIGITS = 16
"""Digits."""
MAX_PORT = 65535
Int = Annotated[int, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Port = Annotated[int, Meta(gt=0, le=MAX_PORT)]
_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]{0,254}")
"""A name or an address, also one of IPv6 with its zone."""
_ESCAPED = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_UNUSABLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_CLUSTER = re.compile(r"[A-Za-z0-9_-]{1,100}")


class CorruptDataError(ValueError):
    """Say that a file or a record is not what it should be. Its text is for people."""


def open_regular(path: Path) -> int:
    """Open a regular file for reading and return its descriptor; OSError if it is missing or anything else.

    What is none is not opened: with some devices that does something. O_NONBLOCK: opening a pipe that takes its place
    would wait for a writer.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116
        raise FileNotFoundError(None, "not a regular file", str(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(None, "not a regular file", str(path))
    return descriptor


def read_end(path: Path, limit: int) -> tuple[bytes, bool]:
    """Return the last `limit` bytes of a file, and whether that is all of it."""
    descriptor = open_regular(path)
    with os.fdopen(descriptor, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - limit))
        return file.read(limit), size <= limit


def read_lines(path: Path, limit: int) -> list[bytes]:
    """Return the complete lines among the last `limit` bytes of a file; none where it cannot be read."""
    try:
        data, whole = read_end(path, limit)
    except OSError:
        return []
    return data.split(b"\n")[0 if whole else 1 : -1]


def read_json(data: bytes, shape: type[Shape]) -> Shape:
    """Return the value of a type that JSON is; CorruptDataError if it is none.

    In place of what no path and no stream can hold, a NUL or half a character, its texts have U+FFFD. The bytes of a
    path that are no UTF-8 stay, as `os.fsdecode` writes them.
    """
    try:
        # msgspec reads no half of a character, and the bytes of a path are written as such.
        kind: Any = shape
        value: Shape = convert(_cleaned(data), kind) if _ESCAPED.search(data) else _decoder(kind).decode(data)
    except ValidationError as error:
        raise CorruptDataError(str(error)) from None
    except (ValueError, RecursionError):
        raise CorruptDataError("it is not JSON") from None
    return value


def read_version(data: bytes, shape: type[Shape], version: int) -> Shape:
    """Return the value of JSON as `read_json` does; CorruptDataError where its `version` is another one."""
    found = read_json(data, _Versioned).version
    if found != version:
        raise CorruptDataError(f"it was written by {'a later' if found > version else 'an earlier'} version")
    return read_json(data, shape)


class _Versioned(Struct):
    version: Int


@cache
def _decoder(shape: Any) -> Decoder[Any]:
    return Decoder(shape)


def _cleaned(data: bytes) -> object:
    import json

    def cleaned(value: object) -> object:
        if isinstance(value, str):
            return _UNUSABLE.sub("\ufffd", value)
        if isinstance(value, dict):
            return {cleaned(key): cleaned(inner) for key, inner in value.items()}
        return list(map(cleaned, value)) if isinstance(value, list) else value

    return cleaned(json.loads(data.decode()))


def is_job_number(word: str) -> bool:
    """Tell whether a text can be the number of a job.

    Of a larger number squeue says that it is invalid, and nothing of all others. Source: observed on 22.05. That of
    another cluster has its name behind it: `123;far`. Source: sbatch(1), --parsable.
    """
    digits, semicolon, cluster = word.partition(";")
    if semicolon and not _CLUSTER.fullmatch(cluster):
        return False
    number = parse_int(digits)
    return number is not None and 0 < number <= MAX_JOB_ID


def host_or_empty(word: str) -> str:
    """Return the name or the address of a node, "" for any other text, such as `-oProxyCommand=...`."""
    return word if _HOST.fullmatch(word) else ""


def parse_int(word: str) -> int | None:
    """Return the whole number of sensible size that a word is, or None."""
    digits = word.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > MAX_DIGITS:
        return None
    number = int(word)
    return number if abs(number) <= MAX_NUMBER else None
