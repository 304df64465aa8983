"""The files in the folder of a local job.

job.json        the submission, written before the job starts
state.json      the state, replaced by rename; both records contain the version of their format
state.json.end  disk space reserved for the final state while the job runs
cancelled       empty; exists if the owner cancelled the job
steps/<id>/     one folder for each step; `sessions` lists the process sessions of its tasks while it runs
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paislurm.translator.files.private import make_private, new_private, open_private, remove, rename, write_new
from paislurm.translator.files.reading import read_text

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 1
"""The version of the format of both records."""
SESSIONS = "sessions"
ROOM = 4096
"""Bytes reserved for a record."""
MAX_BYTES = 1 << 20
NUMBER = re.compile(r"[0-9]{1,15}")


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a record by rename: readers get the old one or the new one."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with open_private(new, "wb") as file:
        file.write(json.dumps(value).encode())
        file.flush()
        os.fsync(file.fileno())
    rename(new, path)


def reserve(path: Path) -> None:
    """Reserve space for the final record, so that it can be written to a full disk."""
    write_new(_reserved(path), b" " * ROOM)


def write_reserved(path: Path, value: dict[str, Any]) -> None:
    """Write the final record into its reserved space and rename it. Raises OSError if no space is reserved."""
    with _reserved(path).open("r+b") as file:
        file.write(json.dumps(value).encode().ljust(ROOM))
        file.flush()
        os.fsync(file.fileno())
    rename(_reserved(path), path)


def _reserved(path: Path) -> Path:
    return path.with_name(f"{path.name}.end")


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a record, None if it is missing or invalid: other programs may have written to its folder."""
    try:
        value = json.loads(read_text(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def take_number(folder: Path, first: int) -> int:
    """Make a new folder in `folder`, named by the next free number. Return the number.

    mkdir is atomic: two concurrent callers get different numbers.
    """
    make_private(folder)
    names = (path.name for path in folder.iterdir())
    number = max((int(name) + 1 for name in names if NUMBER.fullmatch(name)), default=first)
    while True:
        with suppress(FileExistsError):
            new_private(folder / str(number))
            return number
        number += 1


def new_step(job: Path) -> str:
    """Return the id of a new step, counted from 0. The step counts as running from now on."""
    step = str(take_number(job / "steps", 0))
    record_sessions(job, step, [])
    return step


def record_sessions(job: Path, step: str, sessions: list[int]) -> None:
    new = job / "steps" / step / f"{SESSIONS}.new"
    with open_private(new, "wb") as file:
        file.write("".join(f"{session}\n" for session in sessions).encode())
    rename(new, job / "steps" / step / SESSIONS)


def close_step(job: Path, step: str) -> None:
    """Remove the sessions of a step that has ended: the kernel will reuse their numbers."""
    remove(job / "steps" / step / SESSIONS)


def sessions_of(job: Path, step: str = "*") -> set[int]:
    """Return the sessions of the tasks of a running step, or of all steps."""
    found: set[int] = set()
    for file in (job / "steps").glob(f"{step}/{SESSIONS}"):
        try:
            found.update(int(word) for word in read_text(file, MAX_BYTES).split() if NUMBER.fullmatch(word))
        except OSError:  # noqa: PERF203 - a step may end meanwhile
            continue
    return found


def running_steps(job: Path) -> list[str]:
    return [file.parent.name for file in (job / "steps").glob(f"*/{SESSIONS}")]
