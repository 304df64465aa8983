"""Parse a scenario: events in the order of time, separated by commas. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, Location, NotFoundError, UsageError
from ...exit_codes.table import UNLISTED, UNLISTED_NEGATIVE, code_of_status, exit_codes
from .subjects import NoEventError, Task, Words, tasks_of

if TYPE_CHECKING:
    from collections.abc import Iterator


Kind = Literal["exit", "time", "node", "slurm", "cancel", "refusal"]

HINT = """\
write events in the order of time, separated by commas:
  of tasks: `worker-3 exits 137`, `worker-* fail`, `2 of worker succeed`, `all succeed`, `worker-0 is killed`,
            `worker-0 runs out of memory`, `worker-0 gets code 232`
  of nodes: `a node is lost`, `node of worker-1 is lost`
  of Slurm: `time is up`, `preempted`, `Slurm refuses`, `Slurm refuses for good`, `Slurm does not answer`,
            or a final state such as `BOOT_FAIL`
  of users: `cancelled`, `cancelled by root`"""
OUT_OF_MEMORY, OUT_OF_MEMORY_STATE = -1200, "OUT_OF_MEMORY"
FAILED, KILLED, MAX_STATUS = 1, 137, 255
"""Exit statuses: of a failure without a number, of a killed task, and the greatest."""


class Event(Struct, frozen=True, kw_only=True):
    """One event, with its text and its column from 1.

    `exit`: `count` of the `tasks` (all: 0) exit with `status`, which is `code` with this `behaviour`. `node`: the node
    of the only task in `tasks` is lost, or some node. `slurm`: Slurm ends the job in `state`. `cancel`: `user` cancels
    it, "" for its user. `refusal`: Slurm refuses the next submission, for good if `lasting`, or does not answer if
    `silent`.
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
    lasting: bool = False
    silent: bool = False


def scenario(text: str, words: Words) -> tuple[Event, ...]:
    """Return the events of a scenario. Raises UsageError with every clause that is no event."""
    found: list[Event] = []
    faults: list[Diagnostic] = []
    for clause, column in _clauses(text):
        try:
            found.append(_event(clause, column, words))
        except (NoEventError, NotFoundError) as error:  # noqa: PERF203 - every fault is reported
            of_task = error.diagnostics[0] if isinstance(error, NotFoundError) else None
            message, hint = (of_task.message, of_task.hint) if of_task else (str(error), HINT)
            faults.append(_diagnostic(message, column, text, hint))
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


def _clauses(text: str) -> Iterator[tuple[str, int]]:
    """Yield each clause with its column, from 1; blanks are folded, and a leading `then` is left out."""
    for match in re.finditer(r"[^,;]+", text):
        clause = re.sub(r"\A\s*(?:(?:and\s+)?then\s+)?", "", match[0], flags=re.IGNORECASE)
        if clause.strip():
            yield " ".join(clause.split()), match.end() - len(clause) + 1


def _event(clause: str, column: int, words: Words) -> Event:
    for pattern, event in _EVENTS:
        if found := pattern.fullmatch(clause):
            return replace(event(found, words), text=clause, column=column)
    if clause.upper() in words.table.states:
        return Event(kind="slurm", state=clause.upper(), text=clause, column=column)
    raise NoEventError(f"`{clause}` is not an event")


def _exit(found: re.Match[str], words: Words, status: int) -> Event:
    """Return the exits of tasks with this status, whose code is that of the exit specification."""
    code, behaviour = code_of_status(status, words.patterns) if status else (0, "success")
    tasks, count = tasks_of(found["who"], words)
    return Event(kind="exit", tasks=tasks, count=count, status=status, code=code, behaviour=behaviour)


def _exit_with_status(found: re.Match[str], words: Words) -> Event:
    status = int(found["number"])
    if not 0 <= status <= MAX_STATUS:
        raise NoEventError(f"{status} is no exit status, which is 0 to 255; for a code write `gets code {status}`")
    return _exit(found, words, status)


def _exit_with_code(found: re.Match[str], words: Words) -> Event:
    code = int(found["number"])
    row = exit_codes().get(code)
    if code and (row is None or code in (UNLISTED, UNLISTED_NEGATIVE)):
        raise NoEventError(f"the exit specification gives no task the code {code}")
    if row is None or not code:
        return _exit(found, words, 0)
    if code == OUT_OF_MEMORY:
        return _exit_without_memory(found, words)
    status = code if code_of_status(code, words.patterns)[0] == code else FAILED
    return replace(_exit(found, words, status), code=code, behaviour=row.behaviour)


def _exit_without_memory(found: re.Match[str], words: Words) -> Event:
    return replace(_exit(found, words, KILLED), code=OUT_OF_MEMORY, behaviour="permanent")


def _job_memory(_: re.Match[str], words: Words) -> Event:
    """The only task runs out of memory; of several tasks, Slurm ends the whole job."""
    if len(words.everything) == 1:
        return Event(kind="exit", tasks=words.everything, status=KILLED, code=OUT_OF_MEMORY, behaviour="permanent")
    return Event(kind="slurm", state=OUT_OF_MEMORY_STATE)


def _lost_node(found: re.Match[str], words: Words) -> Event:
    name = found.groupdict().get("task") or found.groupdict().get("owner")
    tasks = tuple(words.chosen(name)) if name else ()
    if len(tasks) > 1:
        raise NoEventError(f"`{name}` has {len(tasks)} tasks: name one, as in `node of {name}-0 is lost`")
    return Event(kind="node", tasks=tasks)


def _cancel(found: re.Match[str], _: Words) -> Event:
    user = (found["user"] or found["who"] or "").lower()
    return Event(kind="cancel", user="" if user in ("user", "i", "me", "the user") else user)


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_LOST = r"(?:(?:is|goes|gets) (?:lost|down|dead)|fails?|dies?|crashes|crash|failure|loss)"
_JOB = r"(?:(?:the )?(?:job|it) )?(?:is |gets |was )?"
_EVENTS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Words], Event]], ...] = (
    (
        _any_of(r"(?:the )?time(?: limit)? (?:is|runs) (?:up|over|out|reached)", rf"{_JOB}(?:time ?out|time limit)",
                rf"{_JOB}(?:times|timed) out"),
        lambda _f, _w: Event(kind="time"),
    ),
    (_any_of(rf"{_JOB}(?:preempted|preemption)"), lambda _f, _w: Event(kind="slurm", state="PREEMPTED")),
    (_any_of(rf"(?:the )?node of (?P<task>\S+) {_LOST}", rf"(?P<owner>\S+)'s node {_LOST}"), _lost_node),
    (_any_of(rf"(?:(?:an?|one|the) )?(?:node {_LOST}|node lost|lost node)", rf"{_JOB}loses a node"), _lost_node),
    (
        _any_of(rf"{_JOB}cancell?ed(?: by (?P<user>(?:the )?\S+))?",
                r"(?:the )?(?P<who>user|root|i) cancels?(?: (?:it|the job))?"),
        _cancel,
    ),
    (_any_of(rf"{_JOB}(?:(?:runs? )?out of memory|OOM)"), _job_memory),
    (
        _any_of(r"(?:slurm|sbatch) (?:refuses|rejects)(?: (?:it|the job))?(?P<lasting> for (?:good|ever))?", "refused"),
        lambda found, _: Event(kind="refusal", lasting=bool(found["lasting"])),
    ),
    (
        _any_of(r"slurm (?:(?:does not|doesn't) (?:answer|respond)|is (?:away|down|unreachable))"),
        lambda _f, _w: Event(kind="refusal", silent=True),
    ),
    (_any_of(r"(?P<who>.+?) gets? code (?P<number>-?\d{1,9})"), _exit_with_code),
    (
        _any_of(r"(?P<who>.+?) (?:exit|end|return)s?(?: with)?(?: exit)?(?: status| code)? (?P<number>-?\d{1,9})"),
        _exit_with_status,
    ),
    (_any_of(r"(?P<who>.+?) (?:(?:runs?|is|are|goes) out of memory|(?:is )?oom-?killed)"), _exit_without_memory),
    (_any_of(r"(?P<who>.+?) (?:is |are |was |gets? )?killed"), lambda found, words: _exit(found, words, KILLED)),
    (_any_of(r"(?P<who>.+?) fail(?:s|ed)?"), lambda found, words: _exit(found, words, FAILED)),
    (
        _any_of(r"(?P<who>.+?) (?:succeed(?:s|ed)?|finish(?:es)?|completes?)"),
        lambda found, words: _exit(found, words, 0),
    ),
)  # fmt: skip
"""The first pattern that a clause matches is its event."""
