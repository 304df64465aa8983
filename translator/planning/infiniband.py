"""InfiniBand: what a role that asks for it gets, and what keeps a job off it that does not.

A job of which no role asks is kept off. In a job of which some roles ask, the others are left as they are: their
tasks may be the far end of the first ones' communication. Source: PAI protocol v2, infiniband; v1, paiAzRDMA.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

from ..errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..job import Job, Role
    from ..site.profile import Fabric, Site

_GPU_TRANSPORTS = {"nvidia": ",cuda", "amd": ",rocm"}
"""What UCX needs beside a network to know memory of GPUs. Source: UCX, list of main transports and aliases."""
_DEFAULT_PORT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFabric:
    """Say how a role stands to the InfiniBand.

    `checks` is what its nodes are looked at for before any task starts: `hca:NAME[:PORT]` an adapter, `net:NAME` a
    network interface, `memlock:KIB` or `memlock:unlimited` the memory that a task can lock.
    """

    variables: tuple[tuple[str, str], ...]
    checks: tuple[str, ...]
    summary: str


def role_fabric(job: Job, role: Role, site: Site) -> RoleFabric | None:
    """Return how a role stands to the InfiniBand; None where the site says nothing of it, or the role nothing."""
    fabric = site.fabric
    if fabric is None:
        return None
    if role.resources.infiniband:
        return _on(job, role, site, fabric)
    if any(other.resources.infiniband for other in job.roles):
        return None
    return _off(job, role, site, fabric)


def _on(job: Job, role: Role, site: Site, fabric: Fabric) -> RoleFabric:
    locked = "unlimited" if fabric.memlock_mib is None else f"{fabric.memlock_mib} MiB"
    parts = [f"adapters {', '.join(fabric.adapters)}"]
    if fabric.interface:
        parts.append(f"interface {fabric.interface}")
    parts.append(f"memory to lock {locked}")
    limit = "unlimited" if fabric.memlock_mib is None else str(fabric.memlock_mib * 1024)
    return RoleFabric(
        variables=_variables(job, role, site, fabric, "with"),
        checks=(*(f"hca:{name}" for name in fabric.adapters), *_net(fabric.interface), f"memlock:{limit}"),
        summary=f"on the InfiniBand: {'; '.join(parts)}",
    )


def _off(job: Job, role: Role, site: Site, fabric: Fabric) -> RoleFabric:
    return RoleFabric(
        variables=_variables(job, role, site, fabric, "without"),
        checks=_net(fabric.ethernet),
        summary="off the InfiniBand" + (f": interface {fabric.ethernet}" if fabric.ethernet else ""),
    )


def _net(interface: str) -> tuple[str, ...]:
    return (f"net:{interface}",) if interface else ()


@cache
def _table() -> tuple[Mapping[str, Any], ...]:
    """Return the rows of `infiniband.yaml` in order."""
    text = (files("paislurm") / "translator" / "planning" / "infiniband.yaml").read_text(encoding="utf-8")
    return tuple(row for group in yaml.safe_load(text) for row in group["variables"])


def _variables(job: Job, role: Role, site: Site, fabric: Fabric, kind: str) -> tuple[tuple[str, str], ...]:
    """Return the variables of a role, the site's own over those of the table."""
    known = {
        "adapters": ",".join(fabric.adapters),
        "ports": ",".join(name if ":" in name else f"{name}:{_DEFAULT_PORT}" for name in fabric.adapters),
        "interface": fabric.interface or None,
        "ethernet": fabric.ethernet or None,
        "gpu": _GPU_TRANSPORTS[site.gpus.vendor] if role.resources.gpus else "",
    }
    said = "\n".join(_texts(job))
    found: dict[str, str | None] = {}
    for row in _table():
        chosen = any(word in said for word in row.get("unless", ()))
        value = _filled(row.get(kind), known)
        if value is not None and not chosen:
            found.setdefault(row["name"], value)
    found |= dict(fabric.variables_with if kind == "with" else fabric.variables_without)
    return tuple((name, value) for name, value in found.items() if value is not None)


def _filled(template: str | None, known: Mapping[str, str | None]) -> str | None:
    """Return a template with its braces filled, None where one is not known."""
    if template is None or any(value is None and f"{{{name}}}" in template for name, value in known.items()):
        return None
    return template.format_map(known)


def _texts(job: Job) -> Iterator[str]:
    """Yield what a job's user wrote that can set variables and options of all its tasks."""
    for name, value in job.variables:
        yield f"{name}={value}"
    for role in job.roles:
        yield role.command.text
        for prerequisite in (*role.around.known, *role.around.plugins):
            for script in prerequisite.scripts:
                yield script.text


def joined_constraint(own: str | None, fabric: Fabric | None) -> str | None:
    """Return a constraint that asks for both: that of the role's place, and nodes with InfiniBand.

    Source: sbatch(1), --constraint.
    """
    wanted = fabric.constraint if fabric else None
    if own is None or wanted is None or own == wanted:
        return own or wanted
    return "&".join(f"({each})" if "|" in each else each for each in (own, wanted))


def fabric_gres(fabric: Fabric | None, times: int = 1) -> tuple[str, ...]:
    """Return the generic resource that each node needs for so many roles on the InfiniBand."""
    if fabric is None or fabric.gres is None or not times:
        return ()
    name, _, count = fabric.gres.rpartition(":")
    return (f"{name}:{int(count) * times}",)


def fabric_options(fabric: Fabric | None) -> tuple[tuple[str, str | None], ...]:
    """Return the other sbatch options of nodes on the InfiniBand. Source: sbatch(1), --network --switches."""
    pairs = (("network", fabric.network), ("switches", fabric.switches)) if fabric else ()
    return tuple((name, value) for name, value in pairs if value)


def fabric_warnings(job: Job, site: Site) -> tuple[Fault, ...]:
    """Warn of InfiniBand that the site says nothing of, and of roles that ask for it beside others that do not."""
    asking = [role.name for role in job.roles if role.resources.infiniband]
    if not asking:
        return ()
    path = f"$.taskRoles.{asking[0]}.extraContainerOptions.infiniband" if job.protocol == "2" else "$.jobEnvs.paiAzRDMA"
    if site.fabric is None:
        message = "the site profile says nothing of InfiniBand: tasks use what the nodes have and their libraries find"
        hint = "describe it there, `infiniband: {adapters: [mlx5_0], interface: ib0}`"
        return (Fault(code="W411", message=message, path=path, hint=hint),)
    others = [role.name for role in job.roles if not role.resources.infiniband]
    if not others:
        return ()
    message = f"on the InfiniBand: {', '.join(asking)}; perhaps on nodes without it: {', '.join(others)}"
    hint = "set `infiniband: true` for each role that communicates over it"
    return (Fault(code="W412", message=message, path=path, hint=hint),)
