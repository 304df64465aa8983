"""Find the task that failed first, and what became of the others. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ..times import seconds_since_1970

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..state.result import TaskResult
    from ..view.task import TaskView
    from .poll import View


TIE_MS, WHOLE_SECOND_MS = 250, 1000
"""Ends at most this far apart have no certain order: reports take some time, and old results have whole seconds."""
PEER_MS = 5000
"""A task that lost a peer may report its end before that peer does, but not by more than this."""
BEFORE_MS = 60_000
"""Failures of other roles further before the deciding one are not its cause."""
MAX_READ = 8
"""The number of tasks whose last lines are examined."""
NODE_LOST, OUT_OF_MEMORY = -1001, -1200
HARD_CODES = frozenset({NODE_LOST, OUT_OF_MEMORY, 128, 223})
"""Codes that no other task can cause: a lost node, too much memory, a memory error of a GPU."""
HARD_STATUSES = frozenset({132, 135, 136, 137, 139})
"""Statuses of signals that no other task can cause: ILL, BUS, FPE, KILL and SEGV."""
MEMORY_KILL = "out of memory"
"""The words of the node about a task of which the kernel killed a process."""
_LOST_PEER = re.compile(
    r"(connection|socket) (was |is |has been )?(reset|refused|closed|aborted|lost|timed? ?out)|broken pipe"
    r"|(peer|remote|other) (process |side |end )?(has |have |was )?(closed|exited|gone|disconnected|lost|terminated)"
    r"|(lost|dropped) (the )?connection|remote process|ncclRemoteError|unhandled system error"
    r"|ConnectionError|EOFError|DistNetworkError|watchdog caught collective|(barrier|rendezvous).*timed? ?out",
    re.IGNORECASE,
)
_FRAME = re.compile(r"\s|File \"|Traceback \(|During handling of|The above exception|\^+$|~+\^*$|#\d+ ")
_SCRIPT, _SIGNALLED = re.compile(r"/\S*/commands/\S+\.sh: "), re.compile(r"line \d+: +\d+ [A-Z]")
_EXCEPTION = re.compile(
    r"([\w.]+(Error|Exception|Interrupt|Exit)\b|error:|fatal|panic|terminate called)", re.IGNORECASE
)


class FirstCause(Struct, frozen=True, kw_only=True):
    """The task that failed first, the tasks that failed after it by themselves, and those that paislurm stopped.

    `delays_ms` are the milliseconds from the first end to those of the others, from the least to the most. `evidence`
    are findings on the node of the first task.
    """

    task: TaskView
    cascade: tuple[TaskView, ...]
    delays_ms: tuple[int, int]
    stopped: tuple[TaskView, ...]
    evidence: tuple[str, ...]


def lost_a_peer(lines: Sequence[str]) -> bool:
    """Return whether the last lines of a log report a lost connection to another task."""
    return any(map(_LOST_PEER.search, lines))


def last_words(lines: Sequence[str]) -> str:
    """Return the last line that names an error, else the last line that is no frame of a traceback; "" without any.

    Leave out the path of the task's script, and bash's report of a signal.
    """
    said = [_SCRIPT.sub("", line) for line in lines if not _FRAME.match(line)]
    said = [line for line in said if not _SIGNALLED.match(line)]
    return next((line for line in reversed(said) if _EXCEPTION.search(line)), said[-1] if said else "")


def first_cause(
    view: View, deciding: TaskView | None, last_lines: Callable[[TaskView], Sequence[str]]
) -> FirstCause | None:
    """Return the first cause of a failure that the task `deciding` decided, None if no task decided.

    `last_lines` returns the last lines of a task's log. The earliest end is the cause, but ends close together have
    no certain order: among these, a cause that no other task can have goes first, and a lost peer last.
    """
    if deciding is None:
        return None
    results = {(task.role, task.index): task for task in view.result.tasks} if view.result else {}
    ends = {_key(task): _end_ms(task, results) for task in view.tasks}
    failed = [task for task in view.tasks if task.state == "FAILED" and task.completed]
    since = ends[_key(deciding)] - BEFORE_MS
    ordered = sorted(
        (task for task in failed if task.role == deciding.role or ends[_key(task)] >= since),
        key=lambda task: ends[_key(task)],
    )
    task = _chosen(ordered or [deciding], ends, results, last_lines)
    others = [other for other in failed if other is not task and ends[_key(other)] >= since]
    delays = [max(0, ends[_key(other)] - ends[_key(task)]) for other in others]
    found = (line for other in results.values() if other.node == (task.node or "") for line in other.evidence)
    return FirstCause(
        task=task,
        cascade=tuple(others),
        delays_ms=(min(delays, default=0), max(delays, default=0)),
        stopped=tuple(other for other in view.tasks if other.state == "STOPPED" and other.started_at is not None),
        evidence=tuple(dict.fromkeys(found)),
    )


def _key(task: TaskView) -> tuple[str, int]:
    return task.role, task.index


def _end_ms(task: TaskView, results: Mapping[tuple[str, int], TaskResult]) -> int:
    """Return when a task ended, in milliseconds; by one clock for all tasks of an attempt."""
    result = results.get(_key(task))
    if result is not None and result.ended_after_ms is not None:
        return result.ended_after_ms
    return (seconds_since_1970(task.ended_at) or 0) * 1000


def _chosen(
    ordered: Sequence[TaskView],
    ends: Mapping[tuple[str, int], int],
    results: Mapping[tuple[str, int], TaskResult],
    last_lines: Callable[[TaskView], Sequence[str]],
) -> TaskView:
    """Return the first cause among failed tasks in the order of their ends."""
    start = ends[_key(ordered[0])]
    is_exact = any(result.ended_after_ms is not None for result in results.values())
    tie = start + (TIE_MS if is_exact else WHOLE_SECOND_MS)
    near = [task for task in ordered if ends[_key(task)] <= tie]

    def is_hard(task: TaskView) -> bool:
        result = results.get(_key(task))
        return (
            task.exit_code in HARD_CODES
            or task.exit_status in HARD_STATUSES
            or (result is not None and any(MEMORY_KILL in line for line in result.evidence))
        )

    first = next(filter(is_hard, near), ordered[0])
    if is_hard(first) or len(ordered) == 1 or not lost_a_peer(last_lines(first)):
        return first
    lost = next((task for task in ordered if task.exit_code == NODE_LOST), None)
    peers = [task for task in ordered if ends[_key(task)] <= start + PEER_MS][:MAX_READ]
    return lost or next((task for task in peers if is_hard(task) or not lost_a_peer(last_lines(task))), first)
