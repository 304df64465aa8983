"""Check what in a job file of protocol v1 has to fit together: names, thresholds, memory, ports.

It looks at the values as they stand, and so finds what is wrong in a file that has other diagnostics too.
Source: PAI protocol v1; PAI rest-server, checks of protocol v1 jobs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...validation.strict_model import LAST_PORT, integer, number_of
from ..v2.semantic_checks import controller_name
from .schema import TaskRole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...reading.document import Path, Value
    from ...validation.diagnostics import DiagnosticCollector

_DEFAULTS = {key: TaskRole.model_fields[key].default for key in ("task_number", "memory_mb")}
_SLURM: Path = ("extras", "slurm", "taskRoles")


def check_semantics_v1(collector: DiagnosticCollector) -> None:
    """Add a diagnostic for everything that does not fit together."""
    document = collector.document
    roles = document.mappings(("taskRoles",))
    _check_role_names(roles, collector)
    for path, role in roles:
        _check_thresholds(path, role, collector)
        _check_memory(path, role, collector)
        _check_ports(path, collector)
    names = [str(role.get("name")) for _, role in roles]
    for name in document.mapping(_SLURM):
        if name not in names:
            message = f"the job has no role `{name}`"
            collector.add("E308", (*_SLURM, name), message, near=(name, names), key=True)
    for key in document.mapping(("extras",)):
        if not re.fullmatch(r"[A-Za-z0-9._-]+", key):
            message = f"expected a key of letters (a-z, A-Z), digits, `.`, `_` and `-`, found {key!r}"
            collector.add("E204", ("extras", key), message, key=True)


def _check_role_names(roles: list[tuple[Path, Mapping[str, Value]]], collector: DiagnosticCollector) -> None:
    """Add a diagnostic for names that are taken, or that variables of tasks cannot tell apart."""
    seen: dict[str, tuple[str, Path]] = {}
    for path, role in roles:
        name = role.get("name")
        if not isinstance(name, str):
            continue
        short = controller_name(name) or name
        other, first = seen.setdefault(short, (name, path))
        if first == path:
            continue
        message = f"the roles `{other}` and `{name}` are both `{short}` to the variables of tasks"
        hint = "rename one: case, `.`, `_` and `~` do not tell roles apart"
        if other == name:
            line = collector.document.location((*first, "name")).line
            message, hint = f"there already is a role named `{name}`, at line {line}", "rename one of the two"
        collector.add("E307", (*path, "name"), message, hint=hint)


def _check_thresholds(path: Path, role: Mapping[str, Value], collector: DiagnosticCollector) -> None:
    tasks = _number(role, "taskNumber", _DEFAULTS["task_number"])
    for key in ("minFailedTaskCount", "minSucceededTaskCount"):
        value = _number(role, key, 0)
        if value > tasks > 0:
            shown = "1 task" if tasks == 1 else f"{tasks} tasks"
            hint = f"write null for never, or at most {tasks}"
            collector.add("E332", (*path, key), f"`{key}: {value}` is more than the role has: {shown}", hint=hint)


def _check_memory(path: Path, role: Mapping[str, Value], collector: DiagnosticCollector) -> None:
    memory, shared = _number(role, "memoryMB", _DEFAULTS["memory_mb"]), _number(role, "shmMB", 0)
    if shared > memory:
        message = f"`shmMB: {shared}` is more than the `memoryMB` of the task, {memory}"
        collector.add("E333", (*path, "shmMB"), message, hint="shared memory is a part of the task's memory")


def _check_ports(path: Path, collector: DiagnosticCollector) -> None:
    labels: dict[str, int] = {}
    fixed: dict[int, str] = {}
    for where, port in collector.document.mappings((*path, "portList")):
        label, first, count = str(port.get("label")), _number(port, "beginAt", 0), _number(port, "portNumber", 1)
        if label in labels:
            message = f"duplicate label `{label}`, first at line {labels[label]}"
            collector.add("E331", (*where, "label"), message, hint="add the numbers up, or rename one of the two")
        labels.setdefault(label, collector.document.location((*where, "label")).line)
        last = first + count - 1
        if not first or first > LAST_PORT or count > LAST_PORT:
            continue
        if last > LAST_PORT:
            message = f"the fixed ports go from {first} to {last}, and {LAST_PORT} is the last there is"
            collector.add("E334", (*where, "beginAt"), message)
            continue
        taken = next((number for number in range(first, last + 1) if number in fixed), None)
        if taken is not None:
            message = f"port {taken} is fixed for `{fixed[taken]}` already"
            collector.add("E334", (*where, "beginAt"), message, hint="a task needs a number of its own for each port")
        fixed |= dict.fromkeys(range(first, last + 1), label)


def _number(values: Mapping[str, Value], key: str, default: int) -> int:
    """Return a whole number, or the default where there is none."""
    value = integer(number_of(values.get(key, default)))
    return default if value is None else value
