"""Tables of the usage of tasks, of the cost of jobs, and of the calls to Slurm."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from ...plural import counted, memory_text
from ...report.cost import cost_columns, cost_note, cost_rows, job_cost
from ...terminal_text import one_line
from ...times import duration_text
from .console import log, print_result
from .tables import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.call_log import SlurmCalls
    from ...app.usage import Usage
    from ...monitor.poll import View
    from ...report.cost import AttemptUse


USAGE_COLUMNS = ("role", "tasks", "CPUs", "memory", "most memory", "GPU", "GPU memory")


def print_usages(views: Sequence[View], usages: Sequence[Sequence[Usage]]) -> None:
    """Print the use of each job's running tasks, a row for each role."""
    for view, roles in zip(views, usages, strict=False):
        if roles:
            whose = f" of {one_line(view.folder.name)}" if len(views) > 1 else ""
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
    """Print the node and GPU hours of jobs together, by their use; nothing without jobs."""
    if not jobs:
        return
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
