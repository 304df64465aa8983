"""Warn of what a job file asks for and this version does not do yet.

`submit` refuses a job with such a warning, so nothing gets one that makes no difference to how the job runs.

Source: PAI protocol v2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .collect import Collector
    from .document import Path

NOT_YET = "not yet supported: "


def warn_of_later(collector: Collector) -> None:
    """Add a warning for each thing that a later version brings."""
    warn_of_slurm_wishes(collector)


def warn_of_slurm_wishes(collector: Collector) -> None:
    """Add a warning for each wish under `extras.slurm` that a later version brings."""
    document = collector.document
    path: Path = ("extras", "slurm")
    tables: list[Path] = [
        path,
        *((*path, "taskRoles", role) for role in document.mapping((*path, "taskRoles"))),
    ]
    for key, code in (("exportEnv", "W916"), ("workdir", "W917")):
        for table in tables:
            if document.at((*table, key)) is not None:
                collector.add(code, (*table, key), NOT_YET + f"`{key}`", key=True)
