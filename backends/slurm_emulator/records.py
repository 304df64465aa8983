"""The folder of a local job: what it is, how it stands, and its steps.

job.json        the submission, written before the job starts
state.json      how it stands, replaced by rename; both say the version of their keys
state.json.end  room for how it ends, reserved while it runs
cancelled       empty: its owner asked for the end
steps/<id>/     one folder a step; `sessions` lists the process sessions of its tasks while it runs
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from ..files import make_private, private, read_text, write_text

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
"""Of the keys of both records."""
SESSIONS = "sessions"
ROOM = 4096
"""Bytes that are reserved for a record."""
MAX_BYTES = 1 << 20
NUMBER = re.compile(r"[0-9]{1,15}")


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a record by rename, so that a reader sees the old one or the new one."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with open(new, "w", encoding="utf-8", opener=private) as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def reserve(path: Path) -> None:
    """Reserve room for the last record of a name, so that a disk that is full by then does not matter."""
    with _reserved(path).open("wb") as file:
        file.write(b" " * ROOM)
        file.flush()
        os.fsync(file.fileno())


def write_reserved(path: Path, value: dict[str, Any]) -> None:
    """Write the last record of a name into its room, and rename that; OSError if there is none."""
    with _reserved(path).open("r+b") as file:
        file.write(json.dumps(value).encode().ljust(ROOM))
        file.flush()
        os.fsync(file.fileno())
    _reserved(path).replace(path)


def _reserved(path: Path) -> Path:
    return path.with_name(f"{path.name}.end")


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a record, None where there is none that can be read: it is in a folder that others may have written."""
    try:
        value = json.loads(read_text(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def take_number(folder: Path, first: int) -> int:
    """Make a new folder in `folder`, named by the next free number, and return that number.

    mkdir decides between two that ask at once.
    """
    make_private(folder)
    names = (path.name for path in folder.iterdir())
    number = max((int(name) + 1 for name in names if NUMBER.fullmatch(name)), default=first)
    while not _made(folder / str(number)):
        number += 1
    return number


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def new_step(job: Path) -> str:
    """Return the id of a new step of a job, which counts as running from now on; ids count from 0."""
    step = str(take_number(job / "steps", 0))
    record_sessions(job, step, [])
    return step


def record_sessions(job: Path, step: str, sessions: list[int]) -> None:
    """Record the sessions of the tasks of a step that runs."""
    new = job / "steps" / step / f"{SESSIONS}.new"
    write_text(new, "".join(f"{session}\n" for session in sessions))
    new.replace(job / "steps" / step / SESSIONS)


def close_step(job: Path, step: str) -> None:
    """Forget the sessions of a step that has ended: their numbers will be used again."""
    (job / "steps" / step / SESSIONS).unlink(missing_ok=True)


def sessions_of(job: Path, step: str = "*") -> set[int]:
    """Return the sessions of the tasks of a step that runs, or of all."""
    found: set[int] = set()
    for file in (job / "steps").glob(f"{step}/{SESSIONS}"):
        try:
            found.update(int(word) for word in read_text(file, MAX_BYTES).split() if NUMBER.fullmatch(word))
        except OSError:  # noqa: PERF203 - steps end while we look
            continue
    return found


def running_steps(job: Path) -> list[str]:
    """Return the ids of the steps that run."""
    return [file.parent.name for file in (job / "steps").glob(f"*/{SESSIONS}")]
