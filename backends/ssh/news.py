"""The request for new data in the folders of remote attempts, and the parser of the answer. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from paislurm.translator.files.names import LOGS, OF_ATTEMPT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_COUNT, _TIME = re.compile(r"[0-9]{1,20}"), re.compile(r"-?[0-9]{1,11}(?:\.[0-9]{0,20})?")


class Seen(NamedTuple):
    """The known state of a file; `mtime` is a text, seconds since 1970 by the remote clock."""

    inode: int
    size: int
    mtime: str


class Piece(NamedTuple):
    """A piece of a file, which starts at `offset`; `seen` is the file's known state afterwards."""

    folder: str
    name: str
    seen: Seen
    offset: int
    data: bytes


class NewsRequest(Struct, frozen=True, kw_only=True):
    """Request data of an attempt: `names` are files and folders in its folder, `tasks` are logs of single tasks."""

    folder: str
    known: Mapping[str, Seen] = field(default_factory=dict)
    names: Sequence[str] = OF_ATTEMPT
    tasks: Sequence[tuple[str, int]] = ()


class News(Struct, frozen=True, kw_only=True):
    """Hold new data; `time` is the remote clock, `more` is set if there is more to request."""

    folders: frozenset[str]
    pieces: tuple[Piece, ...]
    time: float
    more: bool


class GarbledError(ValueError):
    """Report an answer that is cut off or invalid."""


def question(wanted: Sequence[NewsRequest]) -> bytes:
    return b"".join(record.encode(errors="surrogateescape") + b"\0" for each in wanted for record in _records(each))


def _records(wanted: NewsRequest) -> Iterator[str]:
    yield f"folder {wanted.folder}"
    for name, seen in wanted.known.items():
        yield f"known {seen.inode} {seen.size} {seen.mtime} {name}"
    yield from (f"want {name}" for name in wanted.names)
    yield from (f"task {folder} {index}" for folder, index in wanted.tasks)
    yield "look"


def answer(data: bytes, asked: Sequence[NewsRequest]) -> News:
    """Parse the output of the remote script. Raises GarbledError.

    The output is not trusted: names must be files below the requested folders.
    """
    folders, pieces, position, folder = {each.folder for each in asked}, [], 0, ""
    found: set[str] = set()
    while (end := data.find(b"\0", position)) >= 0:
        kind, _, rest = data[position:end].decode(errors="surrogateescape").partition(" ")
        position = end + 1
        if kind == "folder" and rest in folders:
            folder = rest
            found.add(folder)
        elif kind == "file" and folder:
            piece = _piece(folder, rest, data, position)
            position += len(piece.data)
            pieces.append(piece)
        elif kind == "end":
            time, _, more = rest.partition(" ")
            return News(folders=frozenset(found), pieces=tuple(pieces), time=_number(time), more=more == "1")
        else:
            break
    raise GarbledError("the login node's output is invalid or cut off")


def _piece(folder: str, rest: str, data: bytes, position: int) -> Piece:
    words = rest.split(" ", 5)
    if len(words) != 6 or not all(_COUNT.fullmatch(word) for word in (words[0], words[1], words[3], words[4])):
        raise GarbledError("a file without its size")
    inode, size, mtime, offset, count, name = words
    piece = data[position : position + int(count)]
    if len(piece) != int(count) or int(size) != int(offset) + int(count) or not _is_below(name):
        raise GarbledError(f"an invalid file: {name!r}")
    _number(mtime)
    return Piece(folder, name, Seen(int(inode), int(size), mtime), int(offset), piece)


def _is_below(name: str) -> bool:
    """Return whether a name is that of a file below the mirrored folder."""
    parts = name.split("/")
    return parts[0] in (*OF_ATTEMPT, LOGS) and not any(part in ("", ".", "..") or "\n" in part for part in parts)


def _number(text: str) -> float:
    if not _TIME.fullmatch(text):
        raise GarbledError(f"an invalid time: {text[:40]!r}")
    return float(text)
