"""The cost of jobs, as a table."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from ...plural import counted
from ...report.cost import job_cost
from ...report.cost_text import cost_columns, cost_note, cost_rows
from ...times import duration_text
from .console import print_result
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...report.cost import AttemptUse


def print_cost(jobs: Sequence[Sequence[AttemptUse]]) -> None:
    """Print the node and GPU hours of jobs together, by their use."""
    cost = job_cost(chain.from_iterable(jobs))
    of_jobs = f" of {counted(len(jobs), 'job')}" if len(jobs) > 1 else ""
    print_result(f"\ncost{of_jobs}, after {duration_text(cost.waiting_seconds)} in the queue:")
    if cost.allocated_attempts:
        print_table(cost_columns(cost), cost_rows(cost))
        print_result(cost_note(cost))
    else:
        print_result("no nodes have been allocated")
