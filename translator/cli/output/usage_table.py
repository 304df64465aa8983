"""What tasks use, as a table and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import to_builtins

from ...app.usage.usage import SENTENCES
from ...plural import counted, memory_text
from ...times import elapsed_text
from .tables import print_table

if TYPE_CHECKING:
    from ...app.usage.usage import Measured, Usage
    from ...monitor.poll import View

COLUMNS = ("task", "node", "CPUs", "CPU time", "memory", "most", "GPU", "GPU memory")


def measured_dict(view: View, measured: Measured) -> dict[str, object]:
    """Return it for `--json`."""
    rows = [to_builtins(usage) for usage in measured.usages]
    return {
        "name": view.folder.name,
        "job_id": view.history.job_id,
        "measured_by": measured.source,
        "measured_at": measured.time,
        "usages": [row | {"node": row["node"] or None} for row in rows],
    }


def print_usages(measured: Measured) -> None:
    """Print a row for each task, or each role whose tasks are known together."""
    rows = [_row(usage) for usage in measured.usages]
    used = [position for position, _ in enumerate(COLUMNS) if position < 5 or any(row[position] != "-" for row in rows)]
    print_table(tuple(COLUMNS[each] for each in used), [tuple(row[each] for each in used) for row in rows])


def measured_text(measured: Measured) -> str:
    """Return where the figures come from, and how old they are."""
    return SENTENCES[measured.source]


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
