"""The folder of a local job: what it is, how it stands, and its steps.

job.json        the submission, written before the job starts
state.json      how it stands, replaced by rename
cancelled       the uid of who asked for the end
steps/<id>/     one folder a step; `sessions` lists the process sessions of its tasks while it runs
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SESSIONS = "sessions"


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a record by rename, so that a reader sees the old one or the new one."""
    new = path.with_name(f"{path.name}.{os.getpid()}")
    with new.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a record, None when it was never written."""
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return value


def take_number(folder: Path, first: int) -> int:
    """Make a new folder in `folder`, named by the next free number, and return that number.

    mkdir decides between two that ask at once.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = max((int(path.name) + 1 for path in folder.iterdir() if path.name.isdigit()), default=first)
    while not _made(folder / str(number)):
        number += 1
    return number


def _made(folder: Path) -> bool:
    try:
        folder.mkdir()
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
    new.write_text("".join(f"{session}\n" for session in sessions), encoding="ascii")
    new.replace(job / "steps" / step / SESSIONS)


def close_step(job: Path, step: str) -> None:
    """Forget the sessions of a step that has ended: their numbers will be used again."""
    (job / "steps" / step / SESSIONS).unlink(missing_ok=True)


def sessions_of(job: Path, step: str = "*") -> set[int]:
    """Return the sessions of the tasks of a step that runs, or of all."""
    found: set[int] = set()
    for file in (job / "steps").glob(f"{step}/{SESSIONS}"):
        try:
            found.update(int(line) for line in file.read_text(encoding="ascii").split())
        except FileNotFoundError:  # noqa: PERF203 - steps end while we look
            continue
    return found


def running_steps(job: Path) -> list[str]:
    """Return the ids of the steps that run."""
    return [file.parent.name for file in (job / "steps").glob(f"*/{SESSIONS}")]
