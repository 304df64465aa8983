"""The cost of a job as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plural import counted

if TYPE_CHECKING:
    from .cost import JobCost


def cost_rows(cost: JobCost) -> list[tuple[str, ...]]:
    """Return the table of a cost: use, node hours, share, and GPU hours if there were GPUs; the last row is the sum."""
    rows = [(f"{each.use}: {each.lost_to}" if each.lost_to else each.use, each) for each in cost.parts]
    seconds = [(words, each.node_seconds, each.gpu_seconds) for words, each in rows]
    return [
        (
            words,
            _hours(nodes),
            f"{100 * nodes / (cost.node_seconds or 1):.0f} %",
            *([_hours(gpus)] if cost.gpu_seconds else []),
        )
        for words, nodes, gpus in (*seconds, ("all", cost.node_seconds, cost.gpu_seconds))
    ]


def cost_columns(cost: JobCost) -> tuple[str, ...]:
    """Return the names of the columns of `cost_rows`."""
    return ("use", "node hours", "share", *(["GPU hours"] if cost.gpu_seconds else []))


def cost_note(cost: JobCost) -> str:
    """Return the source of a cost as a sentence."""
    if not cost.attempts_not_in_sacct:
        return "The allocated time is sacct's."
    which = "all" if cost.attempts_not_in_sacct == cost.allocated_attempts else str(cost.attempts_not_in_sacct)
    attempts = counted(cost.allocated_attempts, "attempt")
    return f"sacct does not have {which} of {attempts}: their time is from the job's own records."


def _hours(seconds: int) -> str:
    return f"{seconds / 3600:.2f}"
