"""What has come in the folders of attempts at a login node: the question, and the answer. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ALWAYS = ("claim", "result.json", "slurm.log", "srun", "tasks")
"""What tells how an attempt stands; what its tasks print is asked for where somebody wants to see it."""

_COUNT, _TIME = re.compile(r"[0-9]{1,20}"), re.compile(r"-?[0-9]{1,11}(?:\.[0-9]{0,20})?")


class Seen(NamedTuple):
    """How much of a file is known; `mtime` is a text, seconds since 1970 by the clock there."""

    inode: int
    size: int
    mtime: str


class Piece(NamedTuple):
    """A piece of a file, which begins at `offset`; `seen` is what is known of the file with it."""

    folder: str
    name: str
    seen: Seen
    offset: int
    data: bytes


class NewsRequest(Struct, frozen=True, kw_only=True):
    """Say what is wanted of an attempt: `names` are files and folders in its folder, `tasks` logs of single tasks."""

    folder: str
    known: Mapping[str, Seen] = field(default_factory=dict)
    names: Sequence[str] = ALWAYS
    tasks: Sequence[tuple[str, int]] = ()


class News(Struct, frozen=True, kw_only=True):
    """Hold what has come: `time` is the clock there, `more` whether there is more to ask for."""

    folders: frozenset[str]
    pieces: tuple[Piece, ...]
    time: float
    more: bool


class GarbledError(ValueError):
    """Report an answer that is cut short, or no answer to this question."""


def question(wanted: Sequence[NewsRequest]) -> bytes:
    """Return what the program there reads."""
    return b"".join(record.encode(errors="surrogateescape") + b"\0" for each in wanted for record in _records(each))


def _records(wanted: NewsRequest) -> Iterator[str]:
    yield f"folder {wanted.folder}"
    for name, seen in wanted.known.items():
        yield f"known {seen.inode} {seen.size} {seen.mtime} {name}"
    yield from (f"want {name}" for name in wanted.names)
    yield from (f"task {folder} {index}" for folder, index in wanted.tasks)
    yield "look"


def answer(data: bytes, asked: Sequence[NewsRequest]) -> News:
    """Read what the program there printed. Raises GarbledError.

    It is not believed: names are those of files below folders that were asked for.
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
    raise GarbledError("what the login node printed is no answer, or cut short")


def _piece(folder: str, rest: str, data: bytes, position: int) -> Piece:
    words = rest.split(" ", 5)
    if len(words) != 6 or not all(_COUNT.fullmatch(word) for word in (words[0], words[1], words[3], words[4])):
        raise GarbledError("a file without its size")
    inode, size, mtime, offset, count, name = words
    piece = data[position : position + int(count)]
    if len(piece) != int(count) or int(size) != int(offset) + int(count) or not _is_below(name):
        raise GarbledError(f"a file that cannot be: {name!r}")
    _number(mtime)
    return Piece(folder, name, Seen(int(inode), int(size), mtime), int(offset), piece)


def _is_below(name: str) -> bool:
    """Tell whether a name is that of something in the folder that is mirrored, and of nothing else."""
    parts = name.split("/")
    return parts[0] in (*ALWAYS, "logs") and not any(part in ("", ".", "..") or "\n" in part for part in parts)


def _number(text: str) -> float:
    if not _TIME.fullmatch(text):
        raise GarbledError(f"a time that is none: {text[:40]!r}")
    return float(text)
