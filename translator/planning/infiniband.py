"""InfiniBand: settings of roles that use it, and of jobs that must not.

A job without such roles is kept off. In a job with some such roles, the other roles get no settings: their
tasks may communicate with those on InfiniBand. Source: PAI protocol v2, infiniband; v1, paiAzRDMA.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ..errors import Diagnostic
from ..folded_names import folded
from ..shipped import shipped_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..job import Job, Role
    from ..site.devices import Infiniband
    from ..site.profile import Site

_GPU_TRANSPORTS = {"nvidia": ",cuda", "amd": ",rocm"}
"""The transports that UCX needs for GPU memory. Source: UCX, list of main transports and aliases."""
_DEFAULT_PORT = 1
_SETS = re.compile(
    r"\b(?:((?:NCCL|GLOO|TP)_SOCKET_IFNAME|FI_(?:TCP|VERBS)_IFACE|\w*(?:btl|oob)_tcp_if_include)"
    r"|(NCCL_IB_HCA|\w*btl_openib_if_include)|(NCCL_IB_DISABLE))"
    r"(?:=|(?<=_if_include)\s+)[\"']?=?([\w.:,-]+)(?![\w.:,$`/^-])"
)
"""A choice of an interface, an adapter or neither in a command. Values that bash expands, networks such as
10.0.0.0/8 and exclusions are not read. Source: the sources of `infiniband.yaml`."""
Rows = tuple["Mapping[str, Any]", ...]
"""Rows of `infiniband.yaml`."""


class RoleInfiniband(Struct, frozen=True, kw_only=True):
    """The InfiniBand settings of a role."""

    variables: tuple[tuple[str, str], ...]
    """Variables, pairs of name and value."""
    checks: tuple[str, ...]
    """Checks of each node before tasks start: `hca:NAME[:PORT]`, `net:NAME`, `memlock:KIB`."""
    summary: str
    """The settings as text."""


def infiniband_of_roles(job: Job, site: Site) -> tuple[RoleInfiniband | None, ...]:
    """Return the InfiniBand settings of each role; None without settings in the site profile or for the role."""
    infiniband = site.infiniband
    if infiniband is None:
        return (None,) * len(job.roles)
    rows = _unset_rows(job)
    if not any(role.resources.infiniband for role in job.roles):
        return tuple(_disabled(rows, role, site, infiniband) for role in job.roles)
    return tuple(_enabled(rows, role, site, infiniband) if role.resources.infiniband else None for role in job.roles)


def _enabled(rows: Rows, role: Role, site: Site, infiniband: Infiniband) -> RoleInfiniband:
    locked = "unlimited" if infiniband.memlock_mib is None else f"{infiniband.memlock_mib} MiB"
    parts = [f"adapters {folded(infiniband.adapters)}"]
    if infiniband.interface:
        parts.append(f"interface {infiniband.interface}")
    parts.append(f"memory to lock {locked}")
    limit = "unlimited" if infiniband.memlock_mib is None else str(infiniband.memlock_mib * 1024)
    return RoleInfiniband(
        variables=_variables(rows, role, site, infiniband, "enabled"),
        checks=(*(f"hca:{name}" for name in infiniband.adapters), *_net(infiniband.interface), f"memlock:{limit}"),
        summary=f"with InfiniBand: {'; '.join(parts)}",
    )


def _disabled(rows: Rows, role: Role, site: Site, infiniband: Infiniband) -> RoleInfiniband:
    return RoleInfiniband(
        variables=_variables(rows, role, site, infiniband, "disabled"),
        checks=_net(infiniband.ethernet),
        summary="without InfiniBand" + (f": interface {infiniband.ethernet}" if infiniband.ethernet else ""),
    )


def _net(interface: str | None) -> tuple[str, ...]:
    return (f"net:{interface}",) if interface else ()


@cache
def _table() -> Rows:
    return tuple(row for group in shipped_table("translator/planning/infiniband.yaml") for row in group["variables"])


def _unset_rows(job: Job) -> Rows:
    """Return the rows of the table whose value the job's user has not chosen."""
    said = "\n".join(_texts(job))
    return tuple(row for row in _table() if not any(word in said for word in row.get("unless", ())))


def _variables(rows: Rows, role: Role, site: Site, infiniband: Infiniband, kind: str) -> tuple[tuple[str, str], ...]:
    """Return the variables of a role; the site's override those of the table."""
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
    """Return a template with its braces filled, None if a value is unknown."""
    if template is None or any(value is None and f"{{{name}}}" in template for name, value in known.items()):
        return None
    return template.format_map(known)


def _texts(job: Job) -> Iterator[str]:
    """Yield the user's texts that can set variables and options of all tasks."""
    for name, value in job.variables:
        yield f"{name}={value}"
    for role in job.roles:
        yield role.command.text
        yield from (script.text for script in role.hooks.scripts)


def infiniband_of(role: Role, site: Site) -> Infiniband | None:
    """Return the InfiniBand of the nodes of a role that uses it."""
    return site.infiniband if role.resources.infiniband else None


def joined_constraint(own: str | None, infiniband: Infiniband | None) -> str | None:
    """Return a constraint for the role's own features and InfiniBand together.

    Source: sbatch(1), --constraint.
    """
    wanted = infiniband.constraint if infiniband else None
    if own is None or wanted is None or own == wanted:
        return own or wanted
    return "&".join(f"({each})" if "|" in each else each for each in (own, wanted))


def infiniband_gres(infiniband: Infiniband | None, times: int = 1) -> tuple[str, ...]:
    """Return the generic resource that each node needs for `times` roles on InfiniBand."""
    if infiniband is None or infiniband.gres is None or not times:
        return ()
    name, _, count = infiniband.gres.rpartition(":")
    return (f"{name}:{int(count) * times}",)


def infiniband_options(infiniband: Infiniband | None) -> tuple[tuple[str, str | None], ...]:
    """Return the other sbatch options of nodes on InfiniBand. Source: sbatch(1), --network --switches."""
    pairs = (("network", infiniband.network), ("switches", infiniband.switches)) if infiniband else ()
    return tuple((name, value) for name, value in pairs if value)


def infiniband_warnings(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of InfiniBand that the profile or some roles lack, and of choices in commands that contradict the site."""
    return (*_missing_warnings(job, site), *(_choice_warnings(job, site.infiniband) if site.infiniband else ()))


def _choice_warnings(job: Job, infiniband: Infiniband) -> Iterator[Diagnostic]:
    """Yield a warning for each choice of a role's commands that contradicts the site profile."""
    for role in job.roles:
        texts = (role.command.text, *(script.text for script in role.hooks.scripts))
        for choice in dict.fromkeys(found.groups() for text in texts for found in _SETS.finditer(text)):
            interface, adapter, off, value = choice
            says = _contradiction(bool(adapter), bool(off), value, role, infiniband)
            if says:
                message = f"the commands of {role.name} set {interface or adapter or off} to {value}, {says}"
                hint = "leave it out: tasks get the choices of the site profile, which `paislurm script` shows"
                yield Diagnostic(code="W417", message=message, path=role.paths.role, hint=hint)


def _contradiction(is_adapter: bool, turns_off: bool, value: str, role: Role, infiniband: Infiniband) -> str:
    """Return what a choice contradicts, "" for nothing. NCCL reads names as prefixes, others read lists too."""
    if turns_off:
        is_wanted = role.resources.infiniband and value != "0"
        return "which turns off the InfiniBand that the role asks for" if is_wanted else ""
    known = infiniband.adapters if is_adapter else tuple(filter(None, (infiniband.interface, infiniband.ethernet)))
    names = tuple(each.partition(":")[0] for each in value.split(",") if each)
    if not known or value == "lo" or any(each.startswith(names) for each in known):
        return ""
    return f"but the site profile has {folded(known)}"


def _missing_warnings(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    asking = [role for role in job.roles if role.resources.infiniband]
    if not asking:
        return ()
    path = asking[0].paths.infiniband
    if site.infiniband is None:
        message = "the site profile has no `infiniband`: tasks use any InfiniBand that their libraries find"
        hint = "add the adapters and the interface, such as `infiniband: {adapters: [mlx5_0], interface: ib0}`"
        return (Diagnostic(code="W411", message=message, path=path, hint=hint),)
    others = [role.name for role in job.roles if not role.resources.infiniband]
    if not others:
        return ()
    names = ", ".join(role.name for role in asking)
    message = f"on InfiniBand: {names}; perhaps on nodes without it: {', '.join(others)}"
    hint = "set `infiniband: true` for each role that uses it"
    return (Diagnostic(code="W412", message=message, path=path, hint=hint),)
