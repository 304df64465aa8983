"""Tables: of text, of the usage of tasks, of the cost of jobs, and of the calls to Slurm."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

from ...plural import counted, memory_text
from ...terminal_text import columns_text, one_line
from ...times import duration_text
from .console import colourful, log, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ...app.monitor_run import SlurmCalls
    from ...view.cost import AttemptUse
    from ...view.task import Usage

COLOURS = {
    "SUCCEEDED": "green",
    "FAILED": "red",
    "STOPPED": "yellow",
    "STOPPING": "yellow",
    "RUNNING": "cyan",
    "UNKNOWN": "magenta",
}
Row = tuple[str, ...]


def print_table(columns: Row, rows: Sequence[Row]) -> None:
    """Print a table. Cells are untrusted and escaped."""
    safe = [tuple(one_line(cell) for cell in row) for row in rows]
    if sys.stdout is not None and colourful(sys.stdout):
        _print_rich(columns, safe)
    else:
        print_result(columns_text([columns, *safe]))


def terminal_width() -> int:
    """Return the width of the terminal in characters, or $COLUMNS."""
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _print_rich(columns: Row, rows: Sequence[Row]) -> None:
    from rich.console import Console

    Console().print(rich_table(columns, rows))


def rich_table(columns: Row, rows: Sequence[Row]) -> Table:
    """Return a table with colours; cells are escaped."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell), style=COLOURS.get(cell, "")) for cell in row))
    return table


USAGE_COLUMNS = ("role", "tasks", "CPUs", "memory", "most memory", "GPU", "GPU memory")


def print_usages(jobs: Sequence[str], usages: Sequence[Sequence[Usage]]) -> None:
    """Print the use of running tasks, a row for each role; `jobs` are the names of the jobs."""
    for job, roles in zip(jobs, usages, strict=False):
        if roles:
            whose = f" of {one_line(job)}" if len(jobs) > 1 else ""
            print_result(f"\naverage use of a task{whose}, from sstat:")
            print_table(USAGE_COLUMNS, [_row(usage) for usage in roles])


def _row(usage: Usage) -> tuple[str, ...]:
    limit = f" of {memory_text(usage.requested_memory_mib)}" if usage.requested_memory_mib else ""
    return (
        usage.role,
        str(usage.running_tasks),
        "-" if usage.cpus_busy is None else f"{usage.cpus_busy:.2f} of {usage.requested_cpus}",
        memory_text(usage.used_memory_mib),
        f"{memory_text(usage.max_memory_mib)}{limit}",
        "-" if usage.gpu_percent is None else f"{usage.gpu_percent} %",
        memory_text(usage.gpu_memory_mib),
    )


def print_cost(jobs: Sequence[Sequence[AttemptUse]]) -> None:
    """Print the CPU, GPU and node hours of jobs together, by their use; nothing without jobs."""
    if not jobs:
        return
    from ...view.cost import cost_columns, cost_note, cost_rows, job_cost

    cost = job_cost(chain.from_iterable(jobs))
    of_jobs = f" of {counted(len(jobs), 'job')}" if len(jobs) > 1 else ""
    print_result(f"\ncost{of_jobs}, after {duration_text(cost.waiting_seconds)} in the queue:")
    if cost.allocated_attempts:
        print_table(cost_columns(cost), cost_rows(cost))
        print_result(cost_note(cost))
    else:
        print_result("no nodes have been allocated")


def print_calls(call_log: SlurmCalls) -> None:
    """Print the calls of the last day by program."""
    rows = [(each.program, str(each.calls), str(each.failed), f"{each.cpu_seconds:.2f}") for each in call_log.programs]
    if rows:
        print_table(("program", "calls", "failed", "CPU seconds"), rows)
    else:
        log(f"no calls to Slurm in the last {call_log.hours} hours")
    log(f"the monitor used {call_log.monitor_cpu_seconds:.1f} CPU seconds in these {call_log.hours} hours")
    log(f"retries submitted in the last hour: {call_log.retries_in_last_hour}; limit: {call_log.max_attempts_per_hour}")
