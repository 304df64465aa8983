"""Where the command of a role stands in the job file, by the plan that a job's folder keeps."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

from ...lazy import regex
from ...monitor.failure import CommandPlace
from ...state.safe_read import CorruptDataError, json_object, read_end, require_int, require_objects, require_str

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAX_PLAN = 64 << 20
_AT_LINE = regex(r"^(?:\S*/commands/\S+\.sh|bash|main|environment): line (\d{1,9}): ")
"""What bash writes before its own messages about a command. Source: bash(1); observed on 5.2."""


def command_place(folder: Path, role: str, printed: Sequence[str]) -> CommandPlace | None:
    """Return where the command of a role stands; where bash names a line among what was `printed`, that one.

    None where the plan cannot be read, or does not tell.
    """
    try:
        data, whole = read_end(folder / "plan.json", MAX_PLAN)
        plan = json_object(data) if whole else {}
        found = next(each for each in require_objects(plan, "roles") if each.get("name") == role)
        place = _place(require_str(plan, "file"), found["command"], _line_named(printed))
        workdir = found.get("workdir")
        return replace(place, workdir=workdir) if place is not None and isinstance(workdir, str) else place
    except (OSError, CorruptDataError, StopIteration, KeyError):
        return None


def _line_named(printed: Sequence[str]) -> int:
    """Return the line of the commands (from 0) that bash names last, 0 where it names none."""
    found = [match for match in map(_AT_LINE.match, printed) if match]
    return max(0, int(found[-1][1]) - 1) if found else 0


def _place(file: str, command: object, number: int) -> CommandPlace | None:
    if not isinstance(command, dict):
        return None
    lines = require_str(command, "text").split("\n")
    pairs = command.get("item_lines")
    starts = [_pair(pair) for pair in pairs] if isinstance(pairs, list) else []
    item = bisect_right([start for start, _ in starts], number) - 1
    if item < 0 or number >= len(lines):
        return None
    is_named = number > 0 or len(lines) == 1
    return CommandPlace(file=file, line=starts[item][1], text=lines[number].strip(), is_named=is_named)


def _pair(pair: object) -> tuple[int, int]:
    """Return a line of the text (from 0) at which an item starts, and its line in the job file."""
    if not isinstance(pair, list) or len(pair) != 2:
        raise CorruptDataError("`item_lines` has no pairs")
    named = dict(zip(("start", "line"), pair, strict=True))
    return require_int(named, "start"), require_int(named, "line")
