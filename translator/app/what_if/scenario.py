"""Parse a scenario: events in the order of time, separated by commas. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, Location, NotFoundError, UsageError
from ...exit_codes.codes import (
    FOLDER_FULL,
    OUT_OF_MEMORY,
    PREFLIGHT_FAILED,
    STALLED,
    UNLISTED,
    UNLISTED_NEGATIVE,
    status_of_signal,
)
from ...exit_codes.table import code_of_status, exit_codes
from ...plural import counted

if TYPE_CHECKING:
    from ...exit_codes.table import ExitTable

Task = tuple[int, int]
"""The position of a role, and an index."""
Kind = Literal["exit", "time", "node", "slurm", "cancel", "script", "stall"]

HINT = "write events in the order of time, separated by commas; `paislurm explain --help` shows all forms of an event"
TIME_LIMIT = "TIMEOUT"
FORMS = """\
TASKS exit STATUS           worker-3 exits 137, 2 workers exit 1, all exit SIGKILL
TASKS get code CODE         worker-0 gets code -1200 (out of memory)
TASKS stall                 worker-1 stalls
node of TASK is lost        node of worker-1 is lost, a node is lost, 2 nodes are lost
preflight fails on node of TASK
                            preflight fails on node of worker-1
the disk is full            (that of the job's folder)
a final state of Slurm      TIMEOUT, PREEMPTED, BOOT_FAIL
cancelled                   cancelled, cancelled by root"""
"""The forms of an event, with examples."""
FAILED, KILLED, MAX_STATUS = 1, 137, 255
"""Exit statuses: of a task whose code does not name one, of a killed task, and the greatest."""


class _NoEventError(Exception):
    """Report a clause that is no event."""


class Words(Struct, frozen=True, kw_only=True):
    """What scenarios of a job can name.

    `chosen` returns the tasks of a role, a task `role-index` or a pattern, and raises NotFoundError. `everything` are
    all tasks. `table` has the states of Slurm. `stall_ends` are the roles whose stall guard ends the attempt.
    """

    chosen: Callable[[str], Sequence[Task]]
    everything: tuple[Task, ...]
    patterns: Literal["fixed", "original"]
    table: ExitTable
    stall_ends: frozenset[int] = frozenset()
    has_preflight: bool = False


class Event(Struct, frozen=True, kw_only=True):
    """One event, with its text and its column from 1.

    `exit`: `count` of the `tasks` (all: 0) exit with `status`, which is `code` with this `behaviour`. `node`: the node
    of the only task in `tasks` is lost, or `count` nodes. `slurm`: Slurm ends the job in `state`. `cancel`: `user`
    cancels it, "" for its user. `script`: the script ends the attempt with `code`. `stall`: nothing ends.
    """

    kind: Kind
    text: str = ""
    column: int = 0
    tasks: tuple[Task, ...] = ()
    count: int = 0
    status: int = 0
    code: int = 0
    behaviour: str = "success"
    state: str = ""
    user: str = ""


def scenario(text: str, words: Words) -> tuple[Event, ...]:
    """Return the events of a scenario. Raises UsageError with every clause that is no event."""
    found: list[Event] = []
    faults: list[Diagnostic] = []
    for match in re.finditer(r"[^,\s][^,]*", text):
        clause, column = " ".join(match[0].split()), match.start() + 1
        try:
            found.append(replace(_event(clause, words), text=clause, column=column))
        except _NoEventError as error:
            faults.append(_diagnostic(str(error), column, text, HINT))
        except NotFoundError as error:
            faults.append(_diagnostic(error.diagnostics[0].message, column, text, error.diagnostics[0].hint))
    if not found and not faults:
        faults.append(Diagnostic(code="E547", message="the scenario of --when is empty", hint=HINT))
    if faults:
        raise UsageError(faults)
    return tuple(found)


def fault(message: str, column: int, text: str, hint: str = "") -> UsageError:
    """Return the error for an event of a scenario."""
    return UsageError(_diagnostic(message, column, text, hint))


def _diagnostic(message: str, column: int, text: str, hint: str) -> Diagnostic:
    place = Location(file="--when", line=1, column=column, source=text)
    return Diagnostic(code="E547", message=message, location=place, hint=hint)


def _event(clause: str, words: Words) -> Event:
    for pattern, event in _EVENTS:
        if found := re.fullmatch(pattern, clause, re.IGNORECASE):
            return event(found, words)
    state = clause.upper()
    if state == TIME_LIMIT:
        return Event(kind="time")
    if state in words.table.states:
        return Event(kind="slurm", state=state)
    raise _NoEventError(f"`{clause}` is not an event")


def _exit(found: re.Match[str], words: Words) -> Event:
    """Return the exits of tasks: the code of a status by the exit specification, or a status for a code."""
    number = _status(found["number"])
    tasks, count = _tasks_of(found, words)
    if not found["code"]:
        if not 0 <= number <= MAX_STATUS:
            raise _NoEventError(f"{number} is no exit status, which is 0 to 255; for a code write `gets code {number}`")
        code, behaviour = code_of_status(number, words.patterns) if number else (0, "success")
        return Event(kind="exit", tasks=tasks, count=count, status=number, code=code, behaviour=behaviour)
    row = exit_codes().get(number)
    if row is None or number in (UNLISTED, UNLISTED_NEGATIVE):
        raise _NoEventError(f"the exit specification gives no task the code {number}")
    status = KILLED if number == OUT_OF_MEMORY else FAILED
    if number >= 0 and (not number or code_of_status(number, words.patterns)[0] == number):
        status = number
    behaviour = row.behaviour if number else "success"
    return Event(kind="exit", tasks=tasks, count=count, status=status, code=number, behaviour=behaviour)


def _status(text: str) -> int:
    """Return a number, or the exit status after a signal, `SIGKILL`. Source: bash(1), EXIT STATUS."""
    if not text[-1].isalpha():
        return int(text)
    if status := status_of_signal(text):
        return status
    raise _NoEventError(f"{text} is no signal")


def _stall(found: re.Match[str], words: Words) -> Event:
    tasks, _ = _tasks_of(found, words)
    if not words.stall_ends.issuperset(role for role, _ in tasks):
        return Event(kind="stall", tasks=tasks)
    return Event(kind="script", tasks=tasks, code=STALLED)


def _preflight(found: re.Match[str], words: Words) -> Event:
    if not words.has_preflight:
        raise _NoEventError("the job has no preflight: `extras.slurm.preflight` is not set")
    return Event(kind="script", tasks=_on_node(found["task"], words), code=PREFLIGHT_FAILED)


def _full(_: re.Match[str], __: Words) -> Event:
    return Event(kind="script", code=FOLDER_FULL)


def _tasks_of(found: re.Match[str], words: Words) -> tuple[tuple[Task, ...], int]:
    """Return the tasks of the subject of a clause, and how many of them, 0 for all."""
    name = found["tasks"]
    try:
        tasks = words.everything if name.lower() == "all" else tuple(words.chosen(name))
    except NotFoundError:
        if not name.endswith("s"):
            raise
        tasks = tuple(words.chosen(name[:-1]))
    count = int(found["count"] or 0)
    if found["count"] and not 1 <= count <= len(tasks):
        raise _NoEventError(f"{name} has {counted(len(tasks), 'task')}, not {count}")
    return tasks, count


def _lost_node(found: re.Match[str], words: Words) -> Event:
    tasks = _on_node(found["task"], words) if found["task"] else ()
    return Event(kind="node", tasks=tasks, count=int(found["nodes"] or 1))


def _on_node(name: str, words: Words) -> tuple[Task, ...]:
    tasks = tuple(words.chosen(name))
    if len(tasks) > 1:
        raise _NoEventError(f"`{name}` has {len(tasks)} tasks: name one, as in `node of {name}-0`")
    return tasks


def _cancel(found: re.Match[str], _: Words) -> Event:
    return Event(kind="cancel", user=found["user"] or "")


_TASKS = r"(?:(?P<count>\d{1,6}) (?:of )?)?(?P<tasks>\S+)"
_EVENTS: tuple[tuple[str, Callable[[re.Match[str], Words], Event]], ...] = (
    (rf"{_TASKS} (?:exits?(?: with)?|gets? (?P<code>code)) (?P<number>-?\d{{1,9}}|[A-Z][A-Z0-9]{{2,9}})", _exit),
    (rf"{_TASKS} stalls?", _stall),
    (r"(?:a node|(?P<nodes>[1-9]\d{0,4}) nodes?|(?:the )?node of (?P<task>\S+)) (?:is|are) lost", _lost_node),
    (r"(?:the )?preflight fails on (?:the )?node of (?P<task>\S+)", _preflight),
    (r"(?:the )?(?:disk|file system|folder) is full", _full),
    (r"cancelled(?: by (?P<user>\S+))?", _cancel),
)
"""The forms of an event beside the states of Slurm."""
