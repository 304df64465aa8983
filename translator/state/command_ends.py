"""Where commands ended that failed: a file for each task, with a line of each trap that its bash ran.

Source: this project's docs, run folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .safe_read import parse_int, read_end

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1 << 16


class CommandEnd(NamedTuple):
    """Say where in its commands a bash ended with `status`.

    `line` (from 1) is that of the command which ended it, 0 where bash does not know. `command` is the one that bash
    ran last, as bash writes it, cut off; "" where it is not one of these commands, or may have a secret.
    """

    status: int
    line: int
    command: str


def read_command_ends(file: Path) -> tuple[CommandEnd, ...]:
    """Return the ends in the order in which they were written; () where there is no such file."""
    try:
        data, _ = read_end(file, MAX_BYTES)
    except OSError:
        return ()
    lines = data.decode(errors="replace").split("\n")
    return tuple(end for line in lines if (end := _end(line.rstrip(" ").split(" "))))


def _end(words: list[str]) -> CommandEnd | None:
    """Return what a line says: a status, a line, the lines of calls up to a 0, the file of the command, the command."""
    outermost = words.index("0", 2) if "0" in words[2:] else 0
    file, *command = words[outermost + 1 :] or [""]
    own = "" if file else " ".join(command)
    match [parse_int(word) for word in words[:outermost]]:
        case [int(status), int(line)]:
            return CommandEnd(status, line, own)
        case [int(status), int(line), *_, int(call)]:
            return CommandEnd(status, line and call if own else call, own)
        case _:
            return None
