"""Give a job of protocol v2 what its table `extras.slurm.v1` says: `paislurm convert` loses nothing of protocol v1.

Source: this project's docs, `extras.slurm.v1`; PAI protocol v1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...job import NEVER, Directories
from ...validation.strict_model import LAST_PORT

if TYPE_CHECKING:
    from ...job import Job, Role
    from ...reading.document import Path
    from ...validation.diagnostics import DiagnosticCollector
    from ..extras_slurm import SlurmV1

_TABLE: Path = ("extras", "slurm", "v1")


def with_v1(job: Job, table: SlurmV1, collector: DiagnosticCollector) -> Job:
    """Return the job with what the table says; diagnostics go to the collector."""
    paths = (table.data_dir, table.output_dir, table.code_dir)
    data, output, code = (path or "" for path in paths)
    return replace(
        job,
        retry_limit=job.retry_limit if table.retry_count is None else table.retry_count,
        min_succeeded=table.kill_all_on_completed_task_number or NEVER,
        directories=None if paths == (None, None, None) else Directories(data=data, output=output, code=code),
        auth_file=table.auth_file,
        roles=tuple(_with_ports(role, table.fixed_ports.get(role.name, {}), collector) for role in job.roles),
    )


def _with_ports(role: Role, fixed: dict[str, int], collector: DiagnosticCollector) -> Role:
    taken: set[int] = set()
    counts = {port.label: port.count for port in role.ports}
    for label, first in fixed.items():
        path = (*_TABLE, "fixedPorts", role.name, label)
        if label not in counts:
            message = f"the role `{role.name}` has no ports of the label `{label}`"
            collector.add("E335", path, message, near=(label, counts), key=True)
            continue
        numbers = range(first, first + counts[label])
        if numbers[-1] > LAST_PORT or not taken.isdisjoint(numbers):
            message = f"the fixed ports from {first} to {numbers[-1]} overlap others, or are more than there are"
            collector.add("E334", path, message, hint="a task needs a number of its own for each port")
        taken.update(numbers)
    if not fixed:
        return role
    return replace(role, ports=tuple(replace(port, first=fixed.get(port.label, 0)) for port in role.ports))
