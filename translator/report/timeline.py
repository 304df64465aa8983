"""When an attempt and its tasks waited, were staged, ran and were stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import Segment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..state.task_reports import Report, ScriptRun
    from .model import Phase


def segments(*boundaries: tuple[Phase, int | None], ends: int | None) -> tuple[Segment, ...]:
    """Return the phases that begin at these times, each up to the next one that began, the last up to `ends`.

    A phase that never began is left out, and so is one that would end before it begins: clocks of nodes differ. What
    ran for less than a second ran all the same.
    """
    begun = [(phase, at) for phase, at in boundaries if at is not None]
    found: list[Segment] = []
    for number, (phase, at) in enumerate(begun):
        end = begun[number + 1][1] if number + 1 < len(begun) else ends
        if end is not None and (end > at or (end == at and phase == "running")):
            found.append(Segment(phase=phase, begins=at, ends=end))
    return tuple(found)


def task_segments(
    runs: Sequence[Report], scripts: Sequence[ScriptRun], *, began: int | None, decided: int | None, ends: int | None
) -> tuple[Segment, ...]:
    """Return when a task waited, was staged, ran and was stopped.

    `runs` are its task attempts, `scripts` what it ran of prerequisites and plugins. `began` is when the batch script
    did, `decided` when the outcome of the attempt was known, `ends` until when a task without an end lived.
    """
    return tuple(_task_segments(runs, scripts, began, decided, ends))


def _task_segments(
    runs: Sequence[Report], scripts: Sequence[ScriptRun], began: int | None, decided: int | None, ends: int | None
) -> Iterator[Segment]:
    free = began
    for run in runs:
        end = run.ended if run.ended is not None else ends
        before = (each for each in scripts if each.task_attempt == run.attempt and each.phase == "start")
        staged = max((each.ended_at for each in before), default=None)
        stopped = decided if decided is not None and run.started <= decided and run is runs[-1] else None
        yield from segments(
            ("waiting", free),
            ("staging" if staged is not None else "running", run.started),
            ("running", None if staged is None else max(staged, run.started)),
            ("stopping", stopped if end is not None and stopped is not None and stopped < end else None),
            ends=end,
        )
        free = end


def running_counts(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return how many spans there are at a time, at each time at which that changes."""
    changes: dict[int, int] = {}
    for begins, ends in spans:
        changes[begins] = changes.get(begins, 0) + 1
        changes[ends] = changes.get(ends, 0) - 1
    count = 0
    found: list[tuple[int, int]] = []
    for at, change in sorted(changes.items()):
        count += change
        if change or not found:
            found.append((at, count))
    return found
