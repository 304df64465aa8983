"""Find the task that failed first, and what became of the others. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ..exit_codes.codes import NODE_LOST, OUT_OF_MEMORY
from ..times import seconds_since_1970
from .last_words import lost_a_peer, raised_by_itself

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..state.result import TaskResult
    from ..view.task import TaskView
    from .facts import View


TIE_MS, WHOLE_SECOND_MS = 250, 1000
"""Ends at most this far apart have no certain order: reports take some time, and old results have whole seconds."""
PEER_MS = 5000
"""A task that lost a peer may report its end before that peer does, but not by more than this."""
BEFORE_MS = 60_000
"""Failures of other roles further before the deciding one are not its cause."""
QUIET_MS = 10_000
"""A task that ended with status 0 at most this long before the first failure may have raised an error before it."""
MAX_READ, MAX_QUIET = 8, 64
"""The number of failed tasks, and of other tasks, whose last lines are examined."""
HARD_CODES = frozenset({NODE_LOST, OUT_OF_MEMORY, 128, 223})
"""Codes that no other task can cause: a lost node, too much memory, a memory error of a GPU."""
HARD_STATUSES = frozenset({132, 135, 136, 137, 139})
"""Statuses of signals that no other task can cause: ILL, BUS, FPE, KILL and SEGV."""
MEMORY_KILLS = "the kernel killed processes of this task, out of memory: {}"


class FirstCause(Struct, frozen=True, kw_only=True):
    """The task that failed first, the tasks that failed after it by themselves, and those that paislurm stopped.

    `delays_ms` are the milliseconds from the first end to those of the others, from the least to the most, None
    without others or if the first did not end by itself. `evidence` are findings on the node of the first task.
    """

    task: TaskView
    cascade: tuple[TaskView, ...]
    delays_ms: tuple[int, int] | None
    stopped: tuple[TaskView, ...]
    evidence: tuple[str, ...]


def first_cause(
    view: View, deciding: TaskView | None, last_lines: Callable[[TaskView], Sequence[str]]
) -> FirstCause | None:
    """Return the first cause of a failure that the task `deciding` decided, None if no task decided.

    `last_lines` returns the last lines of a task's log. The earliest end is the cause, but ends close together have
    no certain order: among these, a cause that no other task can have goes first, and a lost peer last. If all failed
    tasks lost a peer, one that raised an error without failing is the cause: it hangs and is stopped, or ends with 0.
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
    task = _chosen(ordered or [deciding], _quiet_tasks(view, ends), ends, results, last_lines)
    others = [other for other in failed if other is not task and ends[_key(other)] >= since]
    delays = [max(0, ends[_key(other)] - ends[_key(task)]) for other in others]
    own = results.get(_key(task))
    found = [MEMORY_KILLS.format(own.memory_kills)] if own is not None and own.memory_kills else []
    found += (line for other in results.values() if other.node == (task.node or "") for line in other.evidence)
    return FirstCause(
        task=task,
        cascade=tuple(others),
        delays_ms=(min(delays), max(delays)) if delays and task.state != "STOPPED" else None,
        stopped=tuple(other for other in view.tasks if _was_stopped(other) and other is not task),
        evidence=tuple(dict.fromkeys(found)),
    )


def _key(task: TaskView) -> tuple[str, int]:
    return task.role, task.index


def _was_stopped(task: TaskView) -> bool:
    return task.state == "STOPPED" and task.started_at is not None


def _quiet_tasks(view: View, ends: Mapping[tuple[str, int], int]) -> Sequence[TaskView]:
    """Return the tasks that were stopped, then those that ended with status 0, the last first."""
    succeeded = [task for task in view.tasks if task.state == "SUCCEEDED"]
    return [*filter(_was_stopped, view.tasks), *sorted(succeeded, key=lambda task: -ends[_key(task)])]


def _end_ms(task: TaskView, results: Mapping[tuple[str, int], TaskResult]) -> int:
    """Return when a task ended, in milliseconds; by one clock for all tasks of an attempt."""
    result = results.get(_key(task))
    if result is not None and result.ended_after_ms is not None:
        return result.ended_after_ms
    return (seconds_since_1970(task.ended_at) or 0) * 1000


def _chosen(
    ordered: Sequence[TaskView],
    quiet: Sequence[TaskView],
    ends: Mapping[tuple[str, int], int],
    results: Mapping[tuple[str, int], TaskResult],
    last_lines: Callable[[TaskView], Sequence[str]],
) -> TaskView:
    """Return the first cause among failed tasks in the order of their ends, or else among the `quiet` ones."""
    start = ends[_key(ordered[0])]
    is_exact = any(result.ended_after_ms is not None for result in results.values())
    tie = start + (TIE_MS if is_exact else WHOLE_SECOND_MS)
    near = [task for task in ordered if ends[_key(task)] <= tie]

    def is_hard(task: TaskView) -> bool:
        result = results.get(_key(task))
        return (
            task.exit_code in HARD_CODES
            or task.exit_status in HARD_STATUSES
            or (result is not None and result.memory_kills > 0)
        )

    first = next(filter(is_hard, near), ordered[0])
    if is_hard(first) or not lost_a_peer(last_lines(first)):
        return first
    lost = next((task for task in ordered if task.exit_code == NODE_LOST), None)
    peers = [task for task in ordered if ends[_key(task)] <= start + PEER_MS][:MAX_READ]
    found = lost or next((task for task in peers if is_hard(task) or not lost_a_peer(last_lines(task))), None)
    near = [task for task in quiet if task.state == "STOPPED" or start - QUIET_MS <= ends[_key(task)] <= tie]
    return found or next((task for task in near[:MAX_QUIET] if raised_by_itself(last_lines(task))), first)
