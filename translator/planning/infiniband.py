"""InfiniBand: what a role that asks for it gets, and what keeps a job off it that does not.

A job of which no role asks is kept off. In a job of which some roles ask, the others are left as they are: their
tasks may be the far end of the first ones' communication. Source: PAI protocol v2, infiniband; v1, paiAzRDMA.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..errors import Diagnostic
from ..shipped import shipped_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..job import Job, Role
    from ..site.devices import Infiniband
    from ..site.profile import Site

_GPU_TRANSPORTS = {"nvidia": ",cuda", "amd": ",rocm"}
"""What UCX needs beside a network to know memory of GPUs. Source: UCX, list of main transports and aliases."""
_DEFAULT_PORT = 1
Rows = tuple["Mapping[str, Any]", ...]
"""Rows of `infiniband.yaml`."""


class RoleInfiniband(Struct, frozen=True, kw_only=True):
    """Say how a role stands to the InfiniBand.

    `checks` is what its nodes are looked at for before any task starts: `hca:NAME[:PORT]` an adapter, `net:NAME` a
    network interface, `memlock:KIB` or `memlock:unlimited` the memory that a task can lock.
    """

    variables: tuple[tuple[str, str], ...]
    checks: tuple[str, ...]
    summary: str


def infiniband_of_roles(job: Job, site: Site) -> tuple[RoleInfiniband | None, ...]:
    """Return how each role stands to the InfiniBand; None where the site says nothing of it, or the role nothing."""
    infiniband = site.infiniband
    if infiniband is None:
        return (None,) * len(job.roles)
    rows = _rows_left(job)
    if not any(role.resources.infiniband for role in job.roles):
        return tuple(_off(rows, role, site, infiniband) for role in job.roles)
    return tuple(_on(rows, role, site, infiniband) if role.resources.infiniband else None for role in job.roles)


def _on(rows: Rows, role: Role, site: Site, infiniband: Infiniband) -> RoleInfiniband:
    locked = "unlimited" if infiniband.memlock_mib is None else f"{infiniband.memlock_mib} MiB"
    parts = [f"adapters {', '.join(infiniband.adapters)}"]
    if infiniband.interface:
        parts.append(f"interface {infiniband.interface}")
    parts.append(f"memory to lock {locked}")
    limit = "unlimited" if infiniband.memlock_mib is None else str(infiniband.memlock_mib * 1024)
    return RoleInfiniband(
        variables=_variables(rows, role, site, infiniband, "enabled"),
        checks=(*(f"hca:{name}" for name in infiniband.adapters), *_net(infiniband.interface), f"memlock:{limit}"),
        summary=f"on the InfiniBand: {'; '.join(parts)}",
    )


def _off(rows: Rows, role: Role, site: Site, infiniband: Infiniband) -> RoleInfiniband:
    return RoleInfiniband(
        variables=_variables(rows, role, site, infiniband, "disabled"),
        checks=_net(infiniband.ethernet),
        summary="off the InfiniBand" + (f": interface {infiniband.ethernet}" if infiniband.ethernet else ""),
    )


def _net(interface: str | None) -> tuple[str, ...]:
    return (f"net:{interface}",) if interface else ()


@cache
def _table() -> Rows:
    """Return the rows of `infiniband.yaml` in order."""
    return tuple(row for group in shipped_table("translator/planning/infiniband.yaml") for row in group["variables"])


def _rows_left(job: Job) -> Rows:
    """Return the rows of the table of which the job's user has not chosen the value."""
    said = "\n".join(_texts(job))
    return tuple(row for row in _table() if not any(word in said for word in row.get("unless", ())))


def _variables(rows: Rows, role: Role, site: Site, infiniband: Infiniband, kind: str) -> tuple[tuple[str, str], ...]:
    """Return the variables of a role, the site's own over those of the table."""
    known = {
        "adapters": ",".join(infiniband.adapters),
        "ports": ",".join(name if ":" in name else f"{name}:{_DEFAULT_PORT}" for name in infiniband.adapters),
        "interface": infiniband.interface,
        "ethernet": infiniband.ethernet,
        "gpu": _GPU_TRANSPORTS[site.gpus.vendor] if role.resources.gpus else "",
    }
    found: dict[str, str | None] = {}
    for row in rows:
        value = _filled(row.get(kind), known)
        if value is not None:
            found.setdefault(row["name"], value)
    own = infiniband.variables.enabled if kind == "enabled" else infiniband.variables.disabled
    found |= {name: None if value is None else str(value) for name, value in own.items()}
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
        for prerequisite in (*role.hooks.resolved, *role.hooks.plugins):
            for script in prerequisite.scripts:
                yield script.text


def infiniband_of(role: Role, site: Site) -> Infiniband | None:
    """Return the InfiniBand for a role that asks for it."""
    return site.infiniband if role.resources.infiniband else None


def joined_constraint(own: str | None, infiniband: Infiniband | None) -> str | None:
    """Return a constraint that asks for both: that of the role's place, and nodes with InfiniBand.

    Source: sbatch(1), --constraint.
    """
    wanted = infiniband.constraint if infiniband else None
    if own is None or wanted is None or own == wanted:
        return own or wanted
    return "&".join(f"({each})" if "|" in each else each for each in (own, wanted))


def infiniband_gres(infiniband: Infiniband | None, times: int = 1) -> tuple[str, ...]:
    """Return the generic resource that each node needs for so many roles on the InfiniBand."""
    if infiniband is None or infiniband.gres is None or not times:
        return ()
    name, _, count = infiniband.gres.rpartition(":")
    return (f"{name}:{int(count) * times}",)


def infiniband_options(infiniband: Infiniband | None) -> tuple[tuple[str, str | None], ...]:
    """Return the other sbatch options of nodes on the InfiniBand. Source: sbatch(1), --network --switches."""
    pairs = (("network", infiniband.network), ("switches", infiniband.switches)) if infiniband else ()
    return tuple((name, value) for name, value in pairs if value)


def infiniband_warnings(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of InfiniBand that the site says nothing of, and of roles that ask for it beside others that do not."""
    asking = [role for role in job.roles if role.resources.infiniband]
    if not asking:
        return ()
    path = asking[0].paths.infiniband
    if site.infiniband is None:
        message = "the site profile says nothing of InfiniBand: tasks use what the nodes have and their libraries find"
        hint = "describe it there, `infiniband: {adapters: [mlx5_0], interface: ib0}`"
        return (Diagnostic(code="W411", message=message, path=path, hint=hint),)
    others = [role.name for role in job.roles if not role.resources.infiniband]
    if not others:
        return ()
    names = ", ".join(role.name for role in asking)
    message = f"on the InfiniBand: {names}; perhaps on nodes without it: {', '.join(others)}"
    hint = "set `infiniband: true` for each role that communicates over it"
    return (Diagnostic(code="W412", message=message, path=path, hint=hint),)


@cache
def infiniband_names() -> frozenset[str]:
    """Return the names of the variables of the table, those that no site profile has to name."""
    return frozenset(row["name"] for row in _table())
