"""Which scripts of prerequisites and plugins tasks ran, and when: a file for each task; its last line may be torn.

Source: this project's docs, run folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .safe_read import parse_int, read_lines

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1 << 16
"""How much of a task's file is read, from its end; a script takes about 50 bytes."""
MAX_LINE = 512
PHASES = ("start", "commands", "success", "failure", "exit")


class ScriptRun(Struct, frozen=True, kw_only=True):
    """Say how a script ended that a task ran; `name` is that of its prerequisite or plugin, empty for the commands.

    Times are seconds since 1970.
    """

    task_attempt: int
    phase: str
    name: str
    exit_status: int
    started_at: int
    ended_at: int


def read_scripts(folder: Path) -> dict[int, tuple[ScriptRun, ...]]:
    """Return what the tasks of a role ran, by index, in the order in which it ended; `folder` is below `tasks`."""
    found: dict[int, tuple[ScriptRun, ...]] = {}
    for file in sorted(folder.glob("*.scripts")):
        index = parse_int(file.stem)
        if index is not None and file.is_file():
            found[index] = tuple(run for run in map(_run, read_lines(file, MAX_BYTES)) if run is not None)
    return found


def _run(line: bytes) -> ScriptRun | None:
    """Return what a line says; None for one that is none of ours."""
    words = line.decode("utf-8", errors="replace").split(" ", 5) if len(line) <= MAX_LINE else []
    match words:
        case [attempt, phase, status, began, ended, name] if phase in PHASES:
            numbers = [parse_int(word) for word in (attempt, status, began, ended)]
        case _:
            return None
    match numbers:
        case [int(first), int(second), int(third), int(fourth)]:
            called = "" if phase == "commands" else name
            return ScriptRun(
                task_attempt=first, phase=phase, name=called, exit_status=second, started_at=third, ended_at=fourth
            )
        case _:
            return None
