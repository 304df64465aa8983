"""Warn of wishes under `extras.slurm` that do nothing in a job of protocol v1.

Source: PAI protocol v1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...reading.document import Path
    from ...validation.diagnostics import DiagnosticCollector

_SLURM: Path = ("extras", "slurm")
_OF_V2 = ("minSucceeded", "nounset", "unresolved")


def warn_of_idle_wishes(collector: DiagnosticCollector) -> None:
    """Add a warning for each wish that protocol v1 has no use for."""
    document = collector.document
    roles = document.mapping((*_SLURM, "taskRoles"))
    for path in (_SLURM, *((*_SLURM, "taskRoles", role) for role in roles)):
        if document.at((*path, "slots")) is not None:
            message = "`slots` has no effect: all tasks of a job of protocol v1 start together"
            collector.add("W308", (*path, "slots"), message, hint="leave it out", key=True)
    for key in _OF_V2:
        if key in document.mapping((*_SLURM, "compat")):
            message = f"`{key}` has no effect in a job of protocol v1"
            collector.add("W336", (*_SLURM, "compat", key), message, hint="leave it out", key=True)
    if document.at((*_SLURM, "v1")) is not None:
        message = "`v1` has no effect in a job of protocol v1"
        collector.add("W336", (*_SLURM, "v1"), message, hint="write its keys where protocol v1 has them", key=True)
