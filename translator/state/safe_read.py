"""Read files that anybody may have written: never more than a limit, never waiting, no value of another kind.

The tasks of a job run as its user: whatever is in a job folder can be a pipe, a terabyte, or nonsense.
"""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_NUMBER = 1 << 53
MAX_JOB_ID = (1 << 31) - 1
MAX_DIGITS = 16
"""Digits."""
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


def json_object(data: bytes) -> Mapping[str, object]:
    """Return the JSON object that `data` is; DamagedError if it is none.

    In place of what no path and no stream can hold, a NUL or half a character, its texts have U+FFFD. The bytes of a
    path that are no UTF-8 stay, as `os.fsdecode` writes them.
    """
    try:
        value = json.loads(data.decode())
        if _ESCAPED.search(data):
            value = _cleaned(value)
    except (ValueError, RecursionError):
        raise CorruptDataError("it is not JSON") from None
    if not isinstance(value, dict):
        raise CorruptDataError("it is not a JSON object")
    return value


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return _UNUSABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(inner) for key, inner in value.items()}
    return list(map(_cleaned, value)) if isinstance(value, list) else value


def require_str(raw: Mapping[str, object], key: str) -> str:
    """Return a text; DamagedError if there is none."""
    value = raw.get(key)
    if not isinstance(value, str):
        raise CorruptDataError(f"`{key}` is not a text")
    return value


def require_int(raw: Mapping[str, object], key: str) -> int:
    """Return a whole number of sensible size; DamagedError if there is none."""
    value = raw.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MAX_NUMBER:
        raise CorruptDataError(f"`{key}` is not a whole number")
    return value


def optional_int(raw: Mapping[str, object], key: str) -> int | None:
    """Return a whole number, or None where it is null or left out."""
    return None if raw.get(key) is None else require_int(raw, key)


def require_objects(raw: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    """Return a list of objects; DamagedError if it is anything else."""
    value = raw.get(key)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise CorruptDataError(f"`{key}` is not a list of objects")
    return value


def require_strs(raw: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return a list of texts; DamagedError if it is anything else."""
    value = raw.get(key)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise CorruptDataError(f"`{key}` is not a list of texts")
    return tuple(value)


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
