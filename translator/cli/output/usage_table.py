"""Tables of the usage of tasks and of the calls to Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.usage.usage import SENTENCES
from ...plural import counted, memory_text
from ...times import elapsed_text
from .console import log
from .tables import print_table

if TYPE_CHECKING:
    from ...app.call_log import SlurmCalls
    from ...app.usage.usage import Measured, Usage


COLUMNS = ("task", "node", "CPUs", "CPU time", "memory", "most", "GPU", "GPU memory")


def print_usages(measured: Measured) -> None:
    """Print a row for each task, or for each role if only its average is known."""
    rows = [_row(usage) for usage in measured.usages]
    used = [position for position, _ in enumerate(COLUMNS) if position < 5 or any(row[position] != "-" for row in rows)]
    print_table(tuple(COLUMNS[each] for each in used), [tuple(row[each] for each in used) for row in rows])


def measured_text(measured: Measured) -> str:
    """Return the source and the age of the measurement."""
    return SENTENCES[measured.measured_by]


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


def print_calls(call_log: SlurmCalls) -> None:
    """Print the calls of the last day by program."""
    rows = [(each.program, str(each.calls), str(each.failed), f"{each.cpu_seconds:.2f}") for each in call_log.programs]
    if rows:
        print_table(("program", "calls", "failed", "CPU seconds"), rows)
    else:
        log(f"no calls to Slurm in the last {call_log.hours} hours")
    log(f"the monitor used {call_log.monitor_cpu_seconds:.1f} CPU seconds in these {call_log.hours} hours")
    log(f"retries submitted in the last hour: {call_log.retries_in_last_hour}; limit: {call_log.max_attempts_per_hour}")
