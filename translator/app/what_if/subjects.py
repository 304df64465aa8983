"""The subject of an event of tasks: names, patterns and numbers of tasks. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ...errors import NotFoundError
from ...plural import counted

if TYPE_CHECKING:
    from ...exit_codes.table import ExitTable

Task = tuple[int, int]
"""The position of a role, and an index."""
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


class NoEventError(Exception):
    """Report a clause that is no event."""


class Words(Struct, frozen=True, kw_only=True):
    """What scenarios of a job can name.

    `chosen` returns the tasks of a role, a task `role-index` or a pattern, and raises NotFoundError. `instances` are
    the numbers of tasks by role. `table` has the codes and the states of Slurm.
    """

    chosen: Callable[[str], Sequence[Task]]
    instances: tuple[int, ...]
    patterns: Literal["fixed", "original"]
    table: ExitTable

    @property
    def everything(self) -> tuple[Task, ...]:
        """All tasks of the job."""
        return tuple((role, index) for role, count in enumerate(self.instances) for index in range(count))


def tasks_of(who: str, words: Words) -> tuple[tuple[Task, ...], int]:
    """Return the tasks of the subject of a clause, and how many of them, 0 for all."""
    if re.fullmatch(r"all|everything|(?:all|every|each)(?: the)? tasks?", who, re.IGNORECASE):
        return words.everything, 0
    number = rf"\d{{1,6}}|{'|'.join(_NUMBERS)}"
    some = re.fullmatch(
        rf"(?P<count>{number}|an?)(?: tasks?)?(?: of(?: (?P<total>{number}))?(?: tasks?)?(?: of)?(?: (?P<name>\S+))?)?",
        who,
        re.IGNORECASE,
    )
    if some is None or (" " not in who and _is_task(who, words)):
        parts = re.split(r" and ", re.sub(r"\A(?:all|every)(?: of)? |\Atasks? ", "", who, flags=re.IGNORECASE))
        return tuple(dict.fromkeys(task for part in parts for task in words.chosen(part))), 0
    named = some["name"] if some["name"] not in (None, "tasks", "task") else None
    if named is None and len(words.instances) > 1:
        raise NoEventError(f"`{who}` of which task role? Write `{some['count']} of ROLE`")
    tasks = tuple(words.chosen(named)) if named else words.everything
    count = _number(some["count"])
    if some["total"] and _number(some["total"]) != len(tasks):
        raise NoEventError(f"{named or 'the job'} has {counted(len(tasks), 'task')}, not {some['total']}")
    if not 1 <= count <= len(tasks):
        raise NoEventError(f"{named or 'the job'} has {counted(len(tasks), 'task')}, so `{who}` is too many")
    return tasks, count


def _is_task(word: str, words: Words) -> bool:
    try:
        return bool(words.chosen(word))
    except NotFoundError:
        return False


def _number(word: str) -> int:
    if word.isdecimal():
        return int(word)
    return _NUMBERS.index(word.lower()) + 1 if word.lower() in _NUMBERS else 1
