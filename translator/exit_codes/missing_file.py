"""Which file a command looked for in vain, by the last lines that it printed. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LINES = 4
"""So many lines of the end are looked at: a compiler or make says some more after it."""
STATUSES = frozenset((*range(1, 128), 220, 229, 230))
"""Exit statuses and codes with which commands end that miss a file. Source: exit specification, and this project's."""
_NAMED = (
    re.compile(r"No such file or directory: b?['\"]([^'\"]+)"),
    re.compile(r"([^\s:'\"`\u2018\u2019]+)['\"`\u2019]?: (?:\[Errno 2\] )?No such file"),
    re.compile(r"No rule to make target ['\"`\u2018]?([^'\"`\u2019]+)"),
    re.compile(r"(no makefile) found"),
)
"""How Python, the C library and the shells, and make say it."""
_OF_A_PROGRAM = re.compile(r"shared object file|bad interpreter|^(?:/usr/bin/)?env: |execv")
"""Lines about a program, which is searched in PATH, or its libraries."""
_NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|Errno (?:28|122)\b|\b(?:ENOSPC|EDQUOT)\b")
_IN_TASK_FOLDER = re.compile(r"/attempts/\d+/work/")
"""Where tasks have folders of their own. Source: this project's docs, run folder."""


def missing_file(lines: Sequence[str]) -> str | None:
    """Return the file that the last of these lines misses which misses one, None where none does."""
    for line in reversed(lines[-LINES:]):
        if _OF_A_PROGRAM.search(line):
            return None
        found = next(filter(None, (form.search(line) for form in _NAMED)), None)
        if found is not None:
            return found[1]
    return None


def misses_room(lines: Sequence[str]) -> bool:
    """Tell whether one of these lines says that a file system is full, or a quota used up."""
    return any(map(_NO_ROOM.search, lines))


def misses_something(lines: Sequence[str]) -> bool:
    """Tell whether the last of these lines miss a file, a program or a library."""
    return missing_file(lines) is not None or any("No such file or directory" in line for line in lines[-LINES:])


def is_looked_for_at_start(path: str) -> bool:
    """Tell whether a path is looked for from the folder in which the commands of a task start."""
    return not path.startswith("/") or _IN_TASK_FOLDER.search(path) is not None
