"""Tables of the usage of tasks, of the cost of jobs, and of the calls to Slurm."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from ...plural import counted, memory_text
from ...report.cost import job_cost
from ...report.cost_text import cost_columns, cost_note, cost_rows
from ...times import duration_text, elapsed_text
from .console import log, print_result
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.call_log import SlurmCalls
    from ...app.usage.usage import Measured, Usage
    from ...report.cost import AttemptUse


COLUMNS = ("task", "node", "CPUs", "CPU time", "memory", "most", "GPU", "GPU memory")


def print_usages(measured: Measured) -> None:
    """Print a row for each task, or for each role if only its average is known."""
    rows = [_row(usage) for usage in measured.usages]
    used = [position for position, _ in enumerate(COLUMNS) if position < 5 or any(row[position] != "-" for row in rows)]
    print_table(tuple(COLUMNS[each] for each in used), [tuple(row[each] for each in used) for row in rows])


def _row(usage: Usage) -> tuple[str, ...]:
    tasks = counted(usage.running_tasks, "task")
    name = f"{usage.role} ({tasks})" if usage.index is None else f"{usage.role}-{usage.index}"
    return (
        name,
        usage.node or "-",
        "-" if usage.cpus_busy is None else f"{usage.cpus_busy:.2f}",
        elapsed_text(usage.cpu_time),
        memory_text(usage.used_memory_mib),
        memory_text(usage.max_memory_mib),
        "-" if usage.gpu_percent is None else f"{usage.gpu_percent} %",
        memory_text(usage.gpu_memory_mib),
    )


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


def print_calls(call_log: SlurmCalls) -> None:
    """Print the calls of the last day by program."""
    rows = [(each.program, str(each.calls), str(each.failed), f"{each.cpu_seconds:.2f}") for each in call_log.programs]
    if rows:
        print_table(("program", "calls", "failed", "CPU seconds"), rows)
    else:
        log(f"no calls to Slurm in the last {call_log.hours} hours")
    log(f"the monitor used {call_log.monitor_cpu_seconds:.1f} CPU seconds in these {call_log.hours} hours")
    log(f"retries submitted in the last hour: {call_log.retries_in_last_hour}; limit: {call_log.max_attempts_per_hour}")
