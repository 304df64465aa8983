"""Warn of wishes under `extras.slurm` that do nothing in a job of protocol v1.

Source: PAI protocol v1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...reading.document import Path
    from ...validation.diagnostics import DiagnosticCollector
    from ..extras_slurm import SlurmExtras

_SLURM: Path = ("extras", "slurm")
_OF_V2 = ("min_succeeded", "nounset", "unresolved")


def warn_of_idle_wishes(slurm: SlurmExtras, collector: DiagnosticCollector) -> None:
    """Add a warning for each wish that protocol v1 has no use for."""
    of_roles = (((*_SLURM, "taskRoles", role), each) for role, each in slurm.task_roles.items())
    for path, each in ((_SLURM, slurm), *of_roles):
        if each.slots is not None:
            message = "`slots` has no effect: all tasks of a job of protocol v1 start together"
            collector.add("W308", (*path, "slots"), message, hint="leave it out", key=True)
    for field in _OF_V2:
        if field in slurm.compat.model_fields_set:
            key = slurm.compat.key(field)
            message = f"`{key}` has no effect in a job of protocol v1"
            collector.add("W336", (*_SLURM, "compat", key), message, hint="leave it out", key=True)
    if "v1" in slurm.model_fields_set:
        message = "`v1` has no effect in a job of protocol v1"
        collector.add("W336", (*_SLURM, "v1"), message, hint="write its keys where protocol v1 has them", key=True)
