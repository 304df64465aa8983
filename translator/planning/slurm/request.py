"""The request of a job to a site, independent of the layout, and checks of the names in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, did_you_mean
from ..infiniband import infiniband_of, joined_constraint
from ..layout.capacity import features_of, is_satisfied
from .target import default_gpu_type, partition_of, targets_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import timedelta

    from ...job import Job, Role
    from ...site.partitions import Partition, Shape
    from ...site.profile import Site, VirtualCluster
    from ..images import ImagePlan
    from ..job_plan import Hazard, Mount
    from .target import SlurmTarget


class Asked(Struct, frozen=True, kw_only=True):
    """The request of one role; `account` and `qos` include Slurm's defaults."""

    role: Role
    target: SlurmTarget
    partition: Partition
    account: str | None
    qos: str | None

    @property
    def named(self) -> dict[str, str]:
        """Return the requested options by name."""
        return dict(self.target.options)

    def constraint(self, site: Site) -> str:
        """Return the required features of the role's nodes, "" for none."""
        return joined_constraint(self.named.get("constraint"), infiniband_of(self.role, site)) or ""


class Request(Struct, frozen=True, kw_only=True):
    """A job, its site, and all decisions before the layout.

    `sized` is the job with tasks of whole cores, as Slurm allocates them. `hazards` are the bugs of the site's Slurm
    that the job could trigger with a component for each role.
    """

    job: Job
    site: Site
    sized: Job
    asked: tuple[Asked, ...]
    limit: timedelta | None
    mounts: tuple[Mount, ...]
    images: tuple[ImagePlan, ...]
    hazards: tuple[Hazard, ...]

    @property
    def targets(self) -> list[SlurmTarget]:
        """Return the target of each role."""
        return [each.target for each in self.asked]

    @property
    def partitions(self) -> list[Partition]:
        """Return the partition of each role."""
        return [each.partition for each in self.asked]

    @property
    def whole_nodes(self) -> bool:
        """Whether the job gets whole nodes: by the site, by its partitions, or by `--exclusive`."""
        of_job = self.job.slurm_options.job.options
        return self.site.whole_nodes or all(
            each.partition.whole_nodes or "--exclusive" in (*of_job, *each.role.slurm_options.options)
            for each in self.asked
        )


def asked_of(job: Job, cluster: VirtualCluster, site: Site) -> tuple[Asked, ...]:
    """Return the request of each role, with the site's defaults."""
    found = []
    for role, target in zip(job.roles, targets_of(job, cluster, site), strict=True):
        named = dict(target.options)
        account = named.get("account", site.default_account)
        known = (site.accounts or {}).get(account or "")
        qos = named.get("qos", known.default_qos if known else None)
        partition = partition_of(target, site)
        asked = Asked(role=role, target=target, partition=partition, account=account, qos=qos)
        if role.resources.gpus and not target.gpu_type:
            able = [shape for shape in partition.nodes if is_satisfied(asked.constraint(site), shape.features)]
            asked = replace(asked, target=replace(target, gpu_type=default_gpu_type(able or partition.nodes)))
        found.append(asked)
    return tuple(found)


_OUT_OF_DATE = "update the site profile with `paislurm site detect`"
_OF_SITE = "the name comes from the site profile: "


def refusals(job: Job, site: Site, asked: Sequence[Asked], limit: timedelta | None) -> tuple[Diagnostic, ...]:
    """Return why Slurm would always refuse the job, whatever its size. Unknown names refuse nothing."""
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
        message = f"the container runtime {settings.runtime} is not on the nodes; they have {has}"
        hint = "choose another `containers.runtime` in the site profile, or correct `containers.installed`"
        yield Diagnostic(code="E426", message=message, path=job.paths.images, hint=hint)
    if site.require_time_limit and limit is None:
        message = "the site refuses jobs without a time limit"
        hint = (
            "write `time: 1:00:00` under extras.slurm, or for all jobs `time: {default: 1:00:00}` in the site profile"
        )
        yield Diagnostic(code="E422", message=message, path="$.extras.slurm", hint=hint)
    ports = site.ports
    for role in job.roles:
        wanted, most = sum(each.count for each in role.ports if not each.first), ports.last + 1 - ports.first
        if wanted > most:
            has = f"the site has {most} ({ports.first} to {ports.last})"
            message = f"a task of role {role.name} needs {wanted} ports, but {has}"
            hint = "the values of `ports` are numbers of ports that a task needs, not the ports themselves"
            yield Diagnostic(code="E410", message=message, path=role.paths.role, hint=hint)


def _names(job: Job, site: Site, asked: Asked) -> Iterator[Diagnostic]:
    """Yield diagnostics for names that the site does not have."""
    account = asked.named.get("account")
    if account and site.accounts is not None and account not in site.accounts:
        yield _unknown("E407", "account", account, site.accounts, _path(job, asked, "account"))
    known = (site.accounts or {}).get(asked.account or "")
    for qos in asked.named.get("qos", "").split(","):
        if qos and site.qos is not None and qos not in site.qos:
            yield _unknown("E408", "qos", qos, site.qos, _path(job, asked, "qos"))
        elif qos and known is not None and known.qos is not None and qos not in known.qos:
            message = f"the account {asked.account} cannot use the QOS {qos!r}; it can use {_listed(known.qos)}"
            path = _path(job, asked, "qos")
            yield Diagnostic(code="E408", message=message, path=path[0], hint=_hint("qos", qos, known.qos, path[1]))
    for reservation in asked.named.get("reservation", "").split(","):
        if reservation and site.reservations is not None and reservation not in site.reservations:
            path = _path(job, asked, "reservation")
            yield _unknown("E409", "reservation", reservation, site.reservations, path)


def _in_partition(job: Job, asked: Asked) -> Iterator[Diagnostic]:
    """Yield diagnostics for an account or a QOS that the partition refuses, and for a missing reservation."""
    partition = asked.partition
    rows = (
        ("account", "account", asked.account, partition.allow_accounts),
        ("qos", "QOS", asked.qos, partition.allow_qos),
    )
    for option, what, name, allowed in rows:
        if name and allowed is not None and name not in allowed:
            path, of_site = _path(job, asked, option)
            message = f"partition {partition.name} refuses the {what} {name!r}; it accepts {_listed(allowed)}"
            yield Diagnostic(code="E425", message=message, path=path, hint=_hint(option, name, allowed, of_site))
    if partition.requires_reservation and not asked.named.get("reservation"):
        message = f"partition {partition.name} accepts only jobs with a reservation"
        hint = "write `reservation: NAME` or another `partition` under extras.slurm; `scontrol show res` lists them"
        yield Diagnostic(code="E425", message=message, path=_path(job, asked, "partition")[0], hint=hint)


def _features(job: Job, site: Site, asked: Asked) -> Iterator[Diagnostic]:
    """Yield diagnostics for features that no node has, or no node of the partition together."""
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
        others = _partition_hint(site, lambda s: s.features is not None and is_satisfied(expression, s.features))
        message = f"no node of partition {asked.partition.name} has {expression}; they have {_listed(here)}"
        yield Diagnostic(code="E420", message=message, path=path, hint=others or _hint("constraint", "", here, of_site))


def _resources(site: Site, asked: Asked) -> Iterator[Diagnostic]:
    """Yield diagnostics for GPU types and other generic resources that no node of the partition has."""
    role, partition, gpu_type = asked.role, asked.partition, asked.target.gpu_type
    types = {name for shape in partition.nodes for name in shape.gpus_by_type}
    if gpu_type and partition.nodes and gpu_type not in types and "" not in types:
        message = f"no node of partition {partition.name} has GPUs of the type {gpu_type!r}; they have {_listed(types)}"
        others = _partition_hint(site, lambda shape: gpu_type in shape.gpus_by_type)
        hint = (
            others or did_you_mean(gpu_type, types) or "use another type, or add it under nodeTypes of the site profile"
        )
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
            message = f"the nodes of partition {partition.name} have no generic resource {name!r}; they have "
            hint = _OF_SITE + (did_you_mean(name, there) or _OUT_OF_DATE)
            yield Diagnostic(code="E421", message=message + _listed(there), path=path, hint=hint)


def _partition_hint(site: Site, has: Callable[[Shape], bool]) -> str:
    """Return a hint at partitions with such nodes, "" for none."""
    names = [each.name for each in site.partitions.values() if any(map(has, each.nodes))]
    return f"partition {' or '.join(names)} has it: write `partition: {names[0]}` under extras.slurm" if names else ""


def _unknown(code: str, option: str, name: str, known: Iterable[str], path: tuple[str, bool]) -> Diagnostic:
    what = "QOS" if option == "qos" else option
    message = f"the site has no {what} {name!r}; it has {_listed(known)}"
    return Diagnostic(code=code, message=message, path=path[0], hint=_hint(option, name, known, path[1]))


def _hint(option: str, name: str, known: Iterable[str], of_site: bool) -> str:
    """Return the hint with the nearest known name, else with any."""
    names = sorted(known)
    near = did_you_mean(name, names) or (f"write `{option}: {names[0]}` under extras.slurm." if names else "")
    return (_OF_SITE if of_site else "") + (f"{near} Or {_OUT_OF_DATE}" if near else _OUT_OF_DATE)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(name for name in names if name)) or "none"


def _path(job: Job, asked: Asked, option: str) -> tuple[str, bool]:
    """Return the path in the job file that selects an option, and whether the option comes from the site profile."""
    role = asked.role
    if option in role.slurm_options.pass_through:
        return f"$.extras.slurm.taskRoles.{role.name}.{option}", False
    if option in job.slurm_options.job.pass_through:
        return f"$.extras.slurm.{option}", False
    if option == "constraint":
        return role.paths.infiniband if role.node_type is None else role.paths.node_type, True
    return job.paths.virtual_cluster, True
