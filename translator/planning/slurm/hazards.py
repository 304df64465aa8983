"""Bugs of the site's Slurm that a job can trigger, from hazards.yaml, and their consequences."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ...errors import Diagnostic
from ...shipped import shipped_table
from ...site.slurm_version import SlurmVersion, slurm_version
from ..job_plan import Hazard, SlurmPlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...job import Job
    from ...site.partitions import Partition
    from ...site.profile import Site
    from ..job_plan import Concern
    from ..layout.layout import LayoutKind
    from .request import Request


def hazards(version: str) -> tuple[Hazard, ...]:
    """Return the known bugs of a version of Slurm; none for an unknown version."""
    found = slurm_version(version)
    if found is None:
        return ()
    return tuple(hazard for hazard, ranges in _table() if any(first <= found < fixed for first, fixed in ranges))


def hazards_of(job: Job, site: Site, partitions: Sequence[Partition], *, pmix: bool) -> tuple[Hazard, ...]:
    """Return the bugs of the site's Slurm that the job could trigger with a component for each role.

    `pmix` says whether srun starts ranks by PMIx.
    """
    concerns: set[Concern] = {"jobs"}
    if site.slurm_version and len(job.roles) > 1:
        concerns |= {"components"}
        concerns |= {"partitions"} if len(set(partitions)) > 1 else set()
        concerns |= {"native-mpi"} if pmix else set()
    return tuple(hazard for hazard in hazards(site.slurm_version) if hazard.concerns in concerns)


def slurm_plan(request: Request) -> SlurmPlan:
    """Return the site's Slurm and its bugs."""
    site = request.site
    return SlurmPlan(cluster=site.cluster or None, version=site.slurm_version or None, hazards=request.hazards)


def danger_of(request: Request) -> str:
    """Return the bug that speaks for one allocation for all roles, "" for none."""
    whats = [hazard.what for hazard in request.hazards if hazard.avoids_het]
    return f"with Slurm {request.site.slurm_version}, {'; '.join(whats)}" if whats else ""


def hazard_warnings(request: Request, layout: LayoutKind) -> Iterator[Diagnostic]:
    """Warn of bugs that a job in several components can trigger."""
    if layout != "het":
        return
    requested = request.job.slurm_options.layout is not None
    danger = danger_of(request)
    if danger and requested:
        message = f"the job requests the layout het, but {danger}"
        hint = "remove extras.slurm.layout, or set it to `shared`"
        yield Diagnostic(code="W430", message=message, path="$.extras.slurm.layout", hint=hint)
    elif danger:
        message = f"{danger}; the roles of this job cannot share one allocation"
        hint = (
            "describe the nodes in the site profile and send all roles to the same nodes, "
            "or ask the site for a newer Slurm"
        )
        yield Diagnostic(code="W431", message=message, path="$.taskRoles", hint=hint)
    for hazard in request.hazards:
        if hazard.consequence == "warn":
            message = f"with Slurm {request.site.slurm_version}, {hazard.what}"
            yield Diagnostic(code="W432", message=message, path="$.taskRoles", hint=hazard.advice or "")


@cache
def _table() -> tuple[tuple[Hazard, tuple[tuple[SlurmVersion, SlurmVersion], ...]], ...]:
    rows = shipped_table("translator/planning/slurm/hazards.yaml")
    return tuple(
        (Hazard(**row), tuple((_exact(each["from"]), _exact(each["before"])) for each in affected))
        for affected, row in ((row.pop("affected"), row) for row in rows)
    )


def _exact(text: str) -> SlurmVersion:
    found = slurm_version(text)
    assert found is not None, text
    return found
