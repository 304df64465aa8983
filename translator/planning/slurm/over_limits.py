"""Whether a job is larger than its account, its QOS or its partition allows, and what would not be. Memory in MiB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...errors import Diagnostic
from ...plural import counted
from ...site.slurm_version import SlurmVersion, slurm_version
from ...times import slurm_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from ...job import Job, Role
    from ...site.partitions import Amounts, Limits
    from ...site.profile import Site
    from ..layout.layout import Allocation
    from .request import Asked, Request

_UNITS = {"nodes": "node", "cpus": "CPU", "memory_mib": "MiB", "gpus": "GPU"}
_OTHERS = "another `account` or `qos` under extras.slurm may allow more"
_ONE_IN_QUEUE = SlurmVersion(24, 12, 0)
"""22.05 and 24.11 count each component in the queue, 26.05 a whole job; of those between it is not known (observed)."""
_COUNTS = (("max_submit_jobs", "in the queue"), ("max_jobs", "at a time"))


class _Part(Struct, frozen=True, kw_only=True):
    """Hold what one component asks for, by the names of `Amounts`; Slurm counts at least so much of it.

    `tasks` are its roles, with the number of their tasks that it holds at a time.
    """

    asked: Asked
    amounts: dict[str, int]
    tasks: tuple[tuple[Role, int], ...]


class _Owner(Struct, frozen=True, kw_only=True):
    """Name who sets limits: a QOS, which goes before an account. Source: sacctmgr(1), resource limits."""

    name: str
    limits: Limits


def over_limits(request: Request, allocation: Allocation) -> tuple[Diagnostic, ...]:
    """Return which limits the job is over, whatever else runs. Of what is not known nothing is refused."""
    site = request.site
    parts = _parts(request.sized, request.asked, allocation)
    found = [diagnostic for part in parts for diagnostic in _over_nodes(site, part)]
    by_owners: dict[tuple[str | None, str | None], list[_Part]] = {}
    for part in parts:
        by_owners.setdefault((part.asked.account, part.asked.qos), []).append(part)
    for members in by_owners.values():
        owners = _owners(site, members[0].asked)
        found += _over_time(owners, request.limit)
        found += _over_counts(site, owners, members)
        for part in members:
            found += _over_amounts(owners, part)
        for sum_of in ("per_user", "total"):
            found += _over_sums(owners, sum_of, members)
    return tuple(dict.fromkeys(found))


def _parts(job: Job, asked: Sequence[Asked], allocation: Allocation) -> list[_Part]:
    """Return the components with what they ask for: each is a job to Slurm's limits."""
    packing = allocation.packing
    if packing is not None:
        amounts = {"nodes": packing.nodes, "cpus": packing.nodes * packing.cpus, "gpus": packing.nodes * packing.gpus}
        amounts["memory_mib"] = packing.nodes * packing.memory_mib
        return [_Part(asked=asked[0], amounts=amounts, tasks=tuple(zip(job.roles, allocation.slots, strict=True)))]
    return [
        _Part(
            asked=each,
            amounts={
                "nodes": nodes.count if nodes else 1,
                "cpus": slots * role.resources.cpus,
                "memory_mib": slots * role.resources.memory_mib,
                "gpus": slots * role.resources.gpus,
            },
            tasks=((role, slots),),
        )
        for each, role, nodes, slots in zip(asked, job.roles, allocation.nodes, allocation.slots, strict=True)
    ]


def _owners(site: Site, asked: Asked) -> list[_Owner]:
    account = (site.accounts or {}).get(asked.account or "")
    qos = (site.qos or {}).get(asked.qos or "")
    found = [_Owner(name=f"the QOS {asked.qos}", limits=qos)] if qos else []
    return [*found, _Owner(name=f"the account {asked.account}", limits=account)] if account else found


def _over_nodes(site: Site, part: _Part) -> Iterator[Diagnostic]:
    """Yield what is wrong where a component has more nodes than a job may have in the partition."""
    partition, nodes = part.asked.partition, part.amounts["nodes"]
    qos = (site.qos or {}).get(part.asked.qos or "")
    if qos is not None and qos.over_partition_nodes:
        return
    if partition.max_nodes is not None and nodes > partition.max_nodes:
        allowed = f"a job may have {partition.max_nodes} in partition {partition.name}"
        message = f"{_who(part)} {counted(nodes, 'node')}, and {allowed}"
        yield Diagnostic(
            code="E424", message=message, path=_path(part), hint=_fewer(part, "nodes", partition.max_nodes)
        )


def _over_time(owners: Sequence[_Owner], limit: timedelta | None) -> Iterator[Diagnostic]:
    owner = next((owner for owner in owners if owner.limits.max_time is not None), None)
    most = owner.limits.max_time if owner else None
    if owner is None or most is None or limit is None or limit <= most:
        return
    message = f"a time limit of {slurm_time(limit)} is more than {owner.name} allows ({slurm_time(most)})"
    hint = f"write `time: {slurm_time(most)}` under extras.slurm, or less; {_OTHERS}"
    yield Diagnostic(code="E427", message=message, path="$.extras.slurm.time", hint=hint)


def _over_counts(site: Site, owners: Sequence[_Owner], parts: Sequence[_Part]) -> Iterator[Diagnostic]:
    """Yield what is wrong where an account may not even have the components of the job."""
    version = slurm_version(site.slurm_version)
    for name, when in _COUNTS:
        owner, most = _bound(owners, name)
        counted = len(parts) if name == "max_jobs" or (version and version < _ONE_IN_QUEUE) else 1
        if most is None or counted <= most:
            continue
        message = f"the job is {len(parts)} jobs to Slurm, a component for each role, and {owner} allows {most} {when}"
        if len(parts) == 1:
            message = f"{owner} allows no job {when}"
        hint = "write `layout: shared` under extras.slurm, which is one job; " if most and len(parts) > 1 else ""
        yield Diagnostic(code="E428", message=message, path="$.taskRoles", hint=hint + _OTHERS)
        return


def _over_amounts(owners: Sequence[_Owner], part: _Part) -> Iterator[Diagnostic]:
    for key in _UNITS:
        owner, most = _bound(owners, "per_job", key)
        if most is not None and part.amounts[key] > most:
            message = f"{_who(part)} {_amount(part.amounts[key], key)}, and {owner} allows {most} for one job"
            yield Diagnostic(
                code="E423", message=message, path=_path(part), hint=f"{_fewer(part, key, most)}; {_OTHERS}"
            )


def _over_sums(owners: Sequence[_Owner], what: str, parts: Sequence[_Part]) -> Iterator[Diagnostic]:
    """Yield what is wrong where components are together more than all jobs of a user, or of all users, may have."""
    whose = "all jobs of a user" if what == "per_user" else "all jobs together"
    for key in _UNITS:
        owner, most = _bound(owners, what, key)
        total = sum(part.amounts[key] for part in parts)
        if most is None or total <= most:
            continue
        hint = _fewer(parts[0], key, most) if len(parts) == 1 else f"ask for {_amount(most, key)} at most in all roles"
        message = f"the job asks for {_amount(total, key)}, and {owner} allows {most} for {whose}"
        yield Diagnostic(code="E423", message=message, path="$.taskRoles", hint=f"{hint}; {_OTHERS}")


def _bound(owners: Sequence[_Owner], *names: str) -> tuple[str, int | None]:
    """Return the bound of the first who has one, and who that is."""
    for owner in owners:
        value: Limits | Amounts | int | None = owner.limits
        for name in names:
            value = getattr(value, name, None)
        if isinstance(value, int):
            return owner.name, value
    return "", None


def _fewer(part: _Part, key: str, most: int) -> str:
    """Say how many tasks would fit."""
    if len(part.tasks) > 1:
        return f"ask for {_amount(most, key)} at most in all roles"
    ((role, tasks),) = part.tasks
    fit = most * tasks // part.amounts[key] if key == "nodes" else most // getattr(role.resources, key)
    if not fit:
        return f"one task asks for more than that: a task can have {_amount(most, key)} at most"
    return f"at most {fit} of these {counted(tasks, 'task')} would fit"


def _amount(number: int, key: str) -> str:
    return f"{number} {_UNITS[key]}" if key == "memory_mib" else counted(number, _UNITS[key])


def _who(part: _Part) -> str:
    return f"role {part.tasks[0][0].name} asks for" if len(part.tasks) == 1 else "the job asks for"


def _path(part: _Part) -> str:
    return part.tasks[0][0].paths.role if len(part.tasks) == 1 else "$.taskRoles"
