"""Locate the failed command in the job file by the reports of its bash and the kept plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...monitor.failure import CommandPlace
from ...state.kept_plan import kept_plan
from ..input.bash_syntax import file_line, is_bash

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ...state.kept_plan import KeptCommand
    from ...state.task_reports import CommandEnd

MAX_LINES = 40
"""The most lines to search back for the start of a command; each starts a bash that parses all lines before."""
_CHANGES_LINE_NUMBERS = re.compile(r"\b(?:trap|eval)\b")
_LOOP = re.compile(r"\b(?:while|until)\b")
_BLANK = re.compile(r"[\s;]|\\\n")
"""Blanks and command separators, which bash prints in another form than the script."""
_LINE_NOT_RUN = re.compile(
    r"^(?:\S*/commands/\S+\.sh|/dev/fd/\d+): line (\d{1,9}): (?:syntax error|unexpected |[^:]+: (?:ambiguous redirect|"
    r"No such file or directory|Permission denied|Not a directory|Is a directory|cannot overwrite existing file))"
)
"""Messages of bash about a line that it cannot parse or redirect. Only they locate such a line: none of it runs.
Source: bash(1); observed on 5.1 to 5.3."""


def command_place(
    folder: Path, role: str, ends: Sequence[CommandEnd], printed: Sequence[str], environment: Mapping[str, str]
) -> CommandPlace | None:
    """Return the place of the failed command in the job file, from the command ends that bash reported.

    `printed` are the last lines of the task's log; $PATH of `environment` has bash. None if the plan is unreadable or
    lacks the commands.
    """
    plan = kept_plan(folder)
    found = plan.roles_by_name.get(role)
    if found is None or found.command is None:
        return None
    place = _place(plan.file, found.command, ends, printed, environment)
    # W402: tasks do not run in their image.
    warning = next((each.message for each in plan.diagnostics if each.code == "W402"), "")
    return place and replace(place, workdir=found.workdir or "", image_warning=warning)


def _place(
    file: str, command: KeptCommand, ends: Sequence[CommandEnd], printed: Sequence[str], environment: Mapping[str, str]
) -> CommandPlace | None:
    first, last = failed_lines(command.text, ends, printed, environment)
    line, last_line = file_line(command.item_lines, first), file_line(command.item_lines, last)
    if not line:
        return None
    shown = command.text.split("\n")[first - 1].strip() if first == last else ""
    return CommandPlace(file=file, line=line, last_line=last_line, text=shown)


def failed_lines(
    text: str, ends: Sequence[CommandEnd], printed: Sequence[str], environment: Mapping[str, str]
) -> tuple[int, int]:
    """Return the first and the last line (from 1) of a range that contains the failed command.

    Without a usable report of bash, return all lines. `printed` is the end of the standard error.
    """
    lines = text.split("\n")
    message = _LINE_NOT_RUN.match(printed[-1]) if printed else None
    for end in ends:
        places = _places(text, end.command)
        found = _by_line(lines, end.line, places, environment) if end.line else _by_command(text, end.command, places)
        if found and (_is_exit(end.command) or message is None or _covers([found, *places], int(message[1]))):
            first, last = found
            is_one = all(line.endswith("\\") for line in lines[first - 1 : last - 1])
            return first, first if is_one else last
    return 1, len(lines)


def _covers(places: Sequence[tuple[int, int]], line: int) -> bool:
    return any(first <= line <= last for first, last in places)


def _is_exit(command: str) -> bool:
    return command.partition(" ")[0] == "exit"


def _by_line(
    lines: Sequence[str], line: int, places: Sequence[tuple[int, int]], environment: Mapping[str, str]
) -> tuple[int, int] | None:
    """Return the lines of a command by its last line, which bash reports for subshells and pipelines.

    Within an unfinished compound command, return that line alone. None if `line` may count other lines: in the
    commands' traps and in `eval`, bash starts to count elsewhere.
    """
    is_reliable = _covers(places, line) if places else not any(map(_CHANGES_LINE_NUMBERS.search, lines))
    if not is_reliable or line > len(lines):
        return None
    for start in range(line, max(0, line - MAX_LINES), -1):
        goes_on = start > 1 and lines[start - 2].rstrip().endswith(("|", "\\"))
        if not goes_on and is_bash("\n".join(lines[start - 1 : line]), environment):
            return start, line
    return line, line


def _by_command(text: str, command: str, places: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the range of all places of the command that bash ran last; None if another command may have failed.

    A loop can return the status of its body although its condition ran last.
    """
    if not places or (_LOOP.search(text) and not _is_exit(command)):
        return None
    return places[0][0], places[-1][1]


def _places(text: str, command: str) -> list[tuple[int, int]]:
    """Return the first and last line of each place of a command in a text; bash has reformatted the command."""
    wanted = _BLANK.sub("", command)
    kept = [index for index, letter in enumerate(text) if not _BLANK.match(text, index)]
    packed = "".join(text[index] for index in kept)
    found, places = packed.find(wanted) if wanted else -1, []
    while found >= 0:
        first, last = kept[found], kept[found + len(wanted) - 1]
        places.append((text.count("\n", 0, first) + 1, text.count("\n", 0, last) + 1))
        found = packed.find(wanted, found + 1)
    return places
