"""Whether the site has what a job names: account, QOS, reservation, features, generic resources, runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Diagnostic, did_you_mean
from ..infiniband import infiniband_of
from ..layout.capacity import features_of, is_satisfied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import timedelta

    from ...job import Job
    from ...site.partitions import Shape
    from ...site.profile import Site
    from .request import Asked

_OUT_OF_DATE = "`paislurm site detect` asks Slurm again what there is"
_OF_SITE = "the site profile names it for this job; "


def refusals(job: Job, site: Site, asked: Sequence[Asked], limit: timedelta | None) -> tuple[Diagnostic, ...]:
    """Return why Slurm would take the job never, whatever its size; of what is not known nothing is refused."""
    found = [*_of_job(job, site, limit)]
    for each in asked:
        names = list(_names(job, site, each))
        found += names
        found += (one for one in _in_partition(job, each) if one.path not in {name.path for name in names})
        found += _features(job, site, each)
        found += _resources(site, each)
    return tuple(dict.fromkeys(found))


def _of_job(job: Job, site: Site, limit: timedelta | None) -> Iterator[Diagnostic]:
    settings = site.containers
    if settings.row is not None and settings.installed is not None and settings.runtime not in settings.installed:
        has = _listed(settings.installed)
        yield Diagnostic(
            code="E426",
            message=f"tasks run in containers of {settings.runtime}, which the nodes do not have; they have {has}",
            path=job.paths.images,
            hint="change `containers: {runtime: ...}` in the site profile, or `installed` if they do have it",
        )
    if site.require_time_limit and limit is None:
        yield Diagnostic(
            code="E422",
            message="the site takes no job without a time limit",
            path="$.extras.slurm",
            hint="write `time: 1:00:00` under extras.slurm, or for all jobs `time: {default: 1:00:00}` into the site "
            "profile",
        )


def _names(job: Job, site: Site, asked: Asked) -> Iterator[Diagnostic]:
    """Yield what is wrong with names that the site does not have."""
    account = asked.named.get("account")
    if account and site.accounts is not None and account not in site.accounts:
        yield _unknown("E407", "account", account, site.accounts, _path(job, asked, "account"))
    known = (site.accounts or {}).get(asked.account or "")
    for qos in asked.named.get("qos", "").split(","):
        if qos and site.qos is not None and qos not in site.qos:
            yield _unknown("E408", "qos", qos, site.qos, _path(job, asked, "qos"))
        elif qos and known is not None and known.qos is not None and qos not in known.qos:
            message = f"the account {asked.account} does not have the QOS {qos!r}; it has {_listed(known.qos)}"
            path = _path(job, asked, "qos")
            yield Diagnostic(code="E408", message=message, path=path[0], hint=_hint("qos", qos, known.qos, path[1]))
    for reservation in asked.named.get("reservation", "").split(","):
        if reservation and site.reservations is not None and reservation not in site.reservations:
            path = _path(job, asked, "reservation")
            yield _unknown("E409", "reservation", reservation, site.reservations, path)


def _in_partition(job: Job, asked: Asked) -> Iterator[Diagnostic]:
    """Yield what is wrong with an account or a QOS that the partition does not take."""
    partition = asked.partition
    rows = (
        ("account", "account", asked.account, partition.allow_accounts),
        ("qos", "QOS", asked.qos, partition.allow_qos),
    )
    for option, what, name, allowed in rows:
        if name and allowed is not None and name not in allowed:
            path, of_site = _path(job, asked, option)
            message = f"partition {partition.name} takes no jobs of the {what} {name!r}; it takes {_listed(allowed)}"
            yield Diagnostic(code="E425", message=message, path=path, hint=_hint(option, name, allowed, of_site))


def _features(job: Job, site: Site, asked: Asked) -> Iterator[Diagnostic]:
    """Yield what is wrong with features that no node has, or none of the partition all together."""
    expression, shapes = asked.constraint(site), asked.partition.nodes
    if not expression or not shapes or any(shape.features is None for shape in shapes):
        return
    path, of_site = _path(job, asked, "constraint")
    here = sorted({name for shape in shapes for name in shape.features or ()})
    anywhere = {name for each in site.partitions.values() for shape in each.nodes for name in shape.features or ()}
    unknown = [name for name in features_of(expression) if name not in anywhere]
    for name in unknown:
        message = f"no node has the feature {name!r}; those of partition {asked.partition.name} have {_listed(here)}"
        yield Diagnostic(code="E420", message=message, path=path, hint=_hint("constraint", name, here, of_site))
    if not unknown and not any(is_satisfied(expression, shape.features) for shape in shapes):
        others = _elsewhere(site, lambda s: s.features is not None and is_satisfied(expression, s.features))
        message = f"no node of partition {asked.partition.name} has {expression}; they have {_listed(here)}"
        yield Diagnostic(code="E420", message=message, path=path, hint=others or _hint("constraint", "", here, of_site))


def _resources(site: Site, asked: Asked) -> Iterator[Diagnostic]:
    """Yield what is wrong with a type of GPU, or another generic resource, that no node of the partition has."""
    role, partition, gpu_type = asked.role, asked.partition, asked.target.gpu_type
    types = {shape.gpu_type for shape in partition.nodes if shape.gpus}
    if gpu_type and partition.nodes and gpu_type not in types and "" not in types:
        message = f"no node of partition {partition.name} has GPUs of the type {gpu_type!r}; they have {_listed(types)}"
        others = _elsewhere(site, lambda shape: shape.gpu_type == gpu_type)
        hint = others or did_you_mean(gpu_type, types) or "name another type, or map it under nodeTypes in site.yaml"
        yield Diagnostic(code="E421", message=message, path=role.paths.node_type, hint=hint)
    if not partition.nodes or any(shape.gres is None for shape in partition.nodes):
        return
    infiniband = infiniband_of(role, site)
    wanted = [(site.gpus.gres, role.paths.role)] if role.resources.gpus and site.gpus.gres != "gpu" else []
    if infiniband and infiniband.gres:
        wanted.append((infiniband.gres.rpartition(":")[0], role.paths.infiniband))
    there = sorted({text.rpartition(":")[0] for shape in partition.nodes for text in shape.gres or ()})
    for name, path in wanted:
        if name not in there and name not in {text.partition(":")[0] for text in there}:
            message = f"no node of partition {partition.name} has the generic resource {name!r}; they have "
            hint = _OF_SITE + (did_you_mean(name, there) or _OUT_OF_DATE)
            yield Diagnostic(code="E421", message=message + _listed(there), path=path, hint=hint)


def _elsewhere(site: Site, has: Callable[[Shape], bool]) -> str:
    """Return which partitions have nodes with what one has not, "" for none."""
    names = [each.name for each in site.partitions.values() if any(map(has, each.nodes))]
    return f"partition {' or '.join(names)} has it: write `partition: {names[0]}` under extras.slurm" if names else ""


def _unknown(code: str, option: str, name: str, known: Iterable[str], path: tuple[str, bool]) -> Diagnostic:
    """Return the diagnostic of a name that the site does not have."""
    what = "QOS" if option == "qos" else option
    message = f"the site has no {what} {name!r}; it has {_listed(known)}"
    return Diagnostic(code=code, message=message, path=path[0], hint=_hint(option, name, known, path[1]))


def _hint(option: str, name: str, known: Iterable[str], of_site: bool) -> str:
    """Say what to write instead: the nearest name, else any that there is."""
    names = sorted(known)
    near = did_you_mean(name, names) or (f"write `{option}: {names[0]}` under extras.slurm." if names else "")
    return (_OF_SITE if of_site else "") + (f"{near} Or {_OUT_OF_DATE}" if near else _OUT_OF_DATE)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(name for name in names if name)) or "none"


def _path(job: Job, asked: Asked, option: str) -> tuple[str, bool]:
    """Return where an option comes from, and whether that is the site profile, by a name of the job file."""
    role = asked.role
    if option in role.slurm_options.pass_through:
        return f"$.extras.slurm.taskRoles.{role.name}.{option}", False
    if option in job.slurm_options.job.pass_through:
        return f"$.extras.slurm.{option}", False
    if option == "constraint":
        return role.paths.infiniband if role.node_type is None else role.paths.node_type, True
    return job.paths.virtual_cluster, True
