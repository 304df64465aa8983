"""Checks of a job file of protocol v1 beyond its schema: names, thresholds, memory, ports.

They also check a partial model, to report these errors together with errors of the schema.
Source: PAI protocol v1; PAI rest-server, checks of protocol v1 jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...plural import counted
from ...validation.partial_model import placed
from ...validation.strict_model import LAST_PORT
from ..v2.semantic_checks import controller_name

if TYPE_CHECKING:
    from ...reading.document import Path
    from ...validation.diagnostics import DiagnosticCollector
    from ..extras_slurm import SlurmExtras
    from .schema import JobFileV1, TaskRole


_ROLE_OPTIONS: Path = ("extras", "slurm", "taskRoles")


def check_semantics_v1(file: JobFileV1, collector: DiagnosticCollector) -> None:
    """Add a diagnostic for each inconsistency."""
    roles = [*placed(("taskRoles",), file.task_roles)]
    _check_role_names(roles, collector)
    for path, role in roles:
        _check_thresholds(path, role, collector)
        _check_memory(path, role, collector)
        _check_ports(path, role, collector)
    names = [role.name for _, role in roles if role.name]
    for name in file.extras.slurm.task_roles if file.extras.slurm else ():
        if name not in names:
            message = f"the job has no role `{name}`"
            collector.add("E308", (*_ROLE_OPTIONS, name), message, near=(name, names), key=True)


def _check_role_names(roles: list[tuple[Path, TaskRole]], collector: DiagnosticCollector) -> None:
    """Add a diagnostic for duplicate names, and for names that give the same variables."""
    seen: dict[str, tuple[str, Path]] = {}
    for path, role in roles:
        name = role.name
        if not name:
            continue
        short = controller_name(name) or name
        other, first = seen.setdefault(short, (name, path))
        if first == path:
            continue
        message = f"the roles `{other}` and `{name}` are both `{short}` in variable names"
        hint = "rename one; differ in more than case, `.`, `_` and `~`"
        if other == name:
            line = collector.document.location((*first, "name")).line
            message, hint = f"duplicate role name `{name}`, first at line {line}", "rename one of the two"
        collector.add("E307", (*path, "name"), message, hint=hint)


def _check_thresholds(path: Path, role: TaskRole, collector: DiagnosticCollector) -> None:
    tasks = role.task_number
    for key, value in (
        ("minFailedTaskCount", role.min_failed_task_count),
        ("minSucceededTaskCount", role.min_succeeded_task_count),
    ):
        if tasks and value and value > tasks:
            shown = counted(tasks, "task")
            hint = f"write a number from 1 to {tasks}, or null for never"
            collector.add("E332", (*path, key), f"`{key}: {value}` is more than the {shown} of the role", hint=hint)


def _check_memory(path: Path, role: TaskRole, collector: DiagnosticCollector) -> None:
    memory, shared = role.memory_mb, role.shm_mb
    if memory and shared and shared > memory:
        message = f"`shmMB: {shared}` exceeds the task's `memoryMB: {memory}`"
        hint = f"write at most {memory}: shared memory is part of the task's memory"
        collector.add("E333", (*path, "shmMB"), message, hint=hint)


def _check_ports(path: Path, role: TaskRole, collector: DiagnosticCollector) -> None:
    labels: dict[str, int] = {}
    fixed: dict[int, str] = {}
    for where, port in placed((*path, "portList"), role.port_list):
        label, first, count = port.label, port.begin_at, port.port_number
        if label and label in labels:
            message = f"duplicate label `{label}`, first at line {labels[label]}"
            collector.add("E331", (*where, "label"), message, hint="add the numbers up, or rename one of the two")
        labels.setdefault(label, collector.document.location((*where, "label")).line)
        if not first or not count:
            continue
        last = first + count - 1
        if last > LAST_PORT:
            message = f"the fixed ports go from {first} to {last}, and the last possible port is {LAST_PORT}"
            collector.add("E334", (*where, "beginAt"), message, hint=f"write at most {LAST_PORT - count + 1}")
            continue
        taken = next((number for number in range(first, last + 1) if number in fixed), None)
        if taken is not None:
            message = f"port {taken} is already fixed for `{fixed[taken]}`"
            collector.add("E334", (*where, "beginAt"), message, hint="use each port number only once")
        fixed |= dict.fromkeys(range(first, last + 1), label)


_SLURM: Path = ("extras", "slurm")
_OF_V2 = ("min_succeeded", "nounset", "unresolved", "background")


def warn_of_idle_options(slurm: SlurmExtras, collector: DiagnosticCollector) -> None:
    """Add a warning for each setting without effect in protocol v1."""
    of_roles = (((*_SLURM, "taskRoles", role), each) for role, each in slurm.task_roles.items())
    for path, each in ((_SLURM, slurm), *of_roles):
        if each.slots is not None:
            message = "`slots` has no effect: all tasks of a job of protocol v1 start together"
            collector.add("W308", (*path, "slots"), message, hint="remove it", key=True)
    for field in _OF_V2:
        if field in slurm.compat.model_fields_set:
            key = slurm.compat.key(field)
            message = f"`{key}` has no effect in a job of protocol v1"
            collector.add("W336", (*_SLURM, "compat", key), message, hint="remove it", key=True)
    if "v1" in slurm.model_fields_set:
        message = "`v1` has no effect in a job of protocol v1"
        collector.add("W336", (*_SLURM, "v1"), message, hint="move its keys to their places in protocol v1", key=True)
