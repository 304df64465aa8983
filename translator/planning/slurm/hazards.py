"""Which faults of the site's Slurm a job would meet, and what to do about them. They are in hazards.yaml."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ...errors import Diagnostic
from ...shipped import shipped_table
from ...site.slurm_version import SlurmVersion, slurm_version

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..layout.layout import LayoutKind

Concern = Literal["jobs", "components", "partitions", "native-mpi"]
Consequence = Literal["avoid-het", "avoid-native-mpi-over-components", "warn", "none"]


class Hazard(Struct, frozen=True, kw_only=True):
    """Describe a fault of some versions of Slurm; `advice` is what users can do where the plan only warns."""

    name: str
    what: str
    concerns: Concern
    consequence: Consequence
    source: str
    advice: str = ""

    @property
    def avoids_het(self) -> bool:
        """Tell whether one allocation for all roles is better than a component for each."""
        return self.consequence in ("avoid-het", "avoid-native-mpi-over-components")


def hazards(version: str) -> tuple[Hazard, ...]:
    """Return the known faults of a version of Slurm; none where it is not known."""
    found = slurm_version(version)
    if found is None:
        return ()
    return tuple(hazard for hazard, ranges in _table() if any(first <= found < fixed for first, fixed in ranges))


def met(version: str, concerns: Collection[Concern]) -> tuple[Hazard, ...]:
    """Return the faults of a version that concern a job."""
    return tuple(hazard for hazard in hazards(version) if hazard.concerns in concerns)


def reason(version: str, known: Collection[Hazard]) -> str:
    """Return why a job has one allocation for all roles, "" where no fault says so."""
    whats = [hazard.what for hazard in known if hazard.avoids_het]
    return f"with Slurm {version}, {'; '.join(whats)}" if whats else ""


def warnings(version: str, known: Collection[Hazard], layout: LayoutKind, *, requested: bool) -> Iterator[Diagnostic]:
    """Warn of what a job in several components will meet. `requested` says that the job itself asks for the layout."""
    if layout != "het":
        return
    danger = reason(version, known)
    if danger and requested:
        message = f"the job asks for the layout het, and {danger}"
        hint = "leave extras.slurm.layout out, or set it to `shared`"
        yield Diagnostic(code="W430", message=message, path="$.extras.slurm.layout", hint=hint)
    elif danger:
        message = f"{danger}; and this job cannot have one allocation for all roles"
        hint = (
            "one allocation needs a site profile that describes the nodes, and roles that go to the same ones; "
            "or ask the site for a newer Slurm"
        )
        yield Diagnostic(code="W431", message=message, path="$.taskRoles", hint=hint)
    for hazard in known:
        if hazard.consequence == "warn":
            message = f"with Slurm {version}, {hazard.what}"
            yield Diagnostic(code="W432", message=message, path="$.taskRoles", hint=hazard.advice)


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
