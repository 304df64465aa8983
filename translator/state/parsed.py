"""Parse what any process may have written, with checked types: JSON, numbers, ids, and names of nodes."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.json import Decoder

if TYPE_CHECKING:
    pass

Shape = TypeVar("Shape")
MAX_NUMBER = 1 << 53
MAX_JOB_ID = (1 << 31) - 1
MAX_DIGITS = 16
MAX_PORT = 65535
Int = Annotated[int, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
Port = Annotated[int, Meta(gt=0, le=MAX_PORT)]
_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:%-]{0,254}")
"""A name or an address, also of IPv6 with its zone."""
_ESCAPED = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_UNUSABLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_CLUSTER = re.compile(r"[A-Za-z0-9_-]{1,100}")


class CorruptDataError(ValueError):
    """Report an invalid file or record, with a message for people."""


def read_json(data: bytes, shape: type[Shape]) -> Shape:
    """Decode JSON as a type. Raises CorruptDataError.

    In texts, U+FFFD replaces characters that no path or stream can contain: NUL and half a surrogate pair. Bytes of
    paths that are not UTF-8 stay, as `os.fsdecode` writes them.
    """
    try:
        # msgspec rejects lone surrogates, which encode the bytes of a path.
        kind: Any = shape
        value: Shape = convert(_cleaned(data), kind) if _ESCAPED.search(data) else _decoder(kind).decode(data)
    except ValidationError as error:
        raise CorruptDataError(str(error)) from None
    except (ValueError, RecursionError):
        raise CorruptDataError("invalid JSON") from None
    return value


def read_version(data: bytes, shape: type[Shape], version: int) -> Shape:
    """Decode JSON like `read_json`. Raises CorruptDataError also if its `version` differs."""
    if not data.startswith(b'{"version": %d, ' % version):
        found = read_json(data, _Versioned).version
        if found != version:
            raise CorruptDataError(f"written by {'a later' if found > version else 'an earlier'} version of paislurm")
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
    """Return whether a text can be a job id: a number, or `123;far` for another cluster.

    For a larger number, squeue reports that it is invalid, and nothing about the other jobs. Source: observed on
    22.05; sbatch(1), --parsable.
    """
    digits, semicolon, cluster = word.partition(";")
    if semicolon and not _CLUSTER.fullmatch(cluster):
        return False
    number = parse_int(digits)
    return number is not None and 0 < number <= MAX_JOB_ID


def host_or_empty(word: str) -> str:
    """Return the name or address of a node, "" for any other text, such as `-oProxyCommand=...`."""
    return word if _HOST.fullmatch(word) else ""


def parse_int(word: str) -> int | None:
    """Return a word as a whole number of limited size, None if it is not one."""
    digits = word.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > MAX_DIGITS:
        return None
    number = int(word)
    return number if abs(number) <= MAX_NUMBER else None
