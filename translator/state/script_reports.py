"""Which scripts of prerequisites and plugins tasks ran, and when: a file for each task; its last line may be torn.

Source: this project's docs, run folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from .safe_read import parse_int, read_end

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
    try:
        files = sorted(folder.glob("*.scripts"))
    except OSError:
        return {}
    for file in files:
        index = parse_int(file.stem)
        try:
            data, whole = read_end(file, MAX_BYTES)
        except OSError:
            continue
        lines = data.split(b"\n")[0 if whole else 1 : -1]
        if index is not None:
            found[index] = tuple(run for run in map(_run, lines) if run is not None)
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
