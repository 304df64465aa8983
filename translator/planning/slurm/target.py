"""Where on the site a role goes: partition, account, qos, reservation; and how long it may run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, PlanError, did_you_mean
from ...site.partitions import Partition
from ...site.profile import NodeType, Priority, VirtualCluster
from ...slurm_options import PASS_THROUGH

if TYPE_CHECKING:
    from ...job import Job, Role
    from ...site.profile import Site


class SlurmTarget(Struct, frozen=True, kw_only=True):
    """Say what to ask for; None leaves it to Slurm's own default.

    `options` are those of `PASS_THROUGH` that have a value, in its order.
    """

    options: tuple[tuple[str, str], ...]
    nice: int | None
    gpu_type: str | None

    @property
    def partition(self) -> str | None:
        """Return the partition, None for Slurm's default one."""
        return dict(self.options).get("partition")


def virtual_cluster(job: Job, site: Site) -> VirtualCluster:
    """Return where the job's virtual cluster goes, by the profile or by a partition of the same name.

    Raises PlanError where a profile is there and knows neither. Source: PAI protocol v2, defaults.virtualCluster.
    """
    name = job.virtual_cluster
    mapped = site.virtual_cluster(name)
    if mapped is not None:
        return mapped
    if name in site.partitions:
        return VirtualCluster.of(partition=name)
    if _needs_no_cluster(job) or not site.is_known:
        return VirtualCluster()
    known = [*site.virtual_clusters, *site.partitions]
    raise PlanError(
        Diagnostic(
            code="E401",
            message=f"the site has no virtual cluster {name!r}; it has {', '.join(known) or 'none'}",
            path=job.paths.virtual_cluster,
            hint=did_you_mean(name, known) or "map it to a partition under virtualClusters in site.yaml",
        )
    )


def _needs_no_cluster(job: Job) -> bool:
    return job.virtual_cluster == "default" or "partition" in job.slurm_options.job.pass_through


def cluster_warnings(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of a virtual cluster where no site profile says what it is."""
    if site.is_known or _needs_no_cluster(job):
        return ()
    message = f"virtual cluster {job.virtual_cluster!r} is not known here; the job goes to Slurm's default partition"
    hint = "write a site profile that maps virtual clusters to partitions, or set extras.slurm.partition"
    return (Diagnostic(code="W401", message=message, path=job.paths.virtual_cluster, hint=hint),)


def targets_of(job: Job, cluster: VirtualCluster, site: Site) -> list[SlurmTarget]:
    """Return where each role goes. What roles ask for alike is looked up once."""
    found: dict[tuple[object, ...], SlurmTarget] = {}
    targets = []
    for role in job.roles:
        asked = (role.node_type, role.resources.gpus > 0, *role.slurm_options.pass_through.items())
        if asked not in found:
            found[asked] = _target(role, job, cluster, site)
        targets.append(found[asked])
    return targets


def _target(role: Role, job: Job, cluster: VirtualCluster, site: Site) -> SlurmTarget:
    """Return where a role goes: its own words before the job's, and those before what the site has for its names.

    Raises PlanError for a node type that the site does not have, where it is known which it has.
    """
    own, whole = role.slurm_options.pass_through, job.slurm_options.job.pass_through
    priority, kind = _priority(job, site) or Priority(), _node_type(role, job, site) or NodeType()
    values = {
        name: own.get(name) or whole.get(name) or _of_site(name, priority, kind, cluster) for name in PASS_THROUGH
    }
    return SlurmTarget(
        options=tuple((name, value) for name, value in values.items() if value),
        nice=priority.nice,
        gpu_type=kind.gpu_type if role.resources.gpus else None,
    )


def _of_site(name: str, *rows: Priority | NodeType | VirtualCluster) -> str | None:
    """Return what the site profile has for an option; of several rows the first that has something."""
    return next((value for row in rows if (value := getattr(row, name, None))), None)


def compatible(job: Job, site: Site, targets: list[SlurmTarget]) -> bool:
    """Tell whether one allocation can have what all roles ask for. Tasks divide GPUs only among those of one role."""
    types = {target.gpu_type for target, role in zip(targets, job.roles, strict=True) if role.resources.gpus}
    elsewhere = {replace(target, gpu_type=None) for target in set(targets)}
    return len(elsewhere) == 1 and len(types) <= 1 and (not types or site.gpus.gres == "gpu")


_DEFAULT_PRIORITIES = {"test": Priority(), "oppo": Priority.of(nice=1000)}
"""What any Slurm can do: `test` is OpenPAI's own default, and `oppo` is to wait for everybody else."""


def _priority(job: Job, site: Site) -> Priority | None:
    """Return what the job's priority class is to Slurm, None where nothing can be done for it."""
    name = job.priority or "test"
    return site.priorities.get(name) or _DEFAULT_PRIORITIES.get(name)


def _node_type(role: Role, job: Job, site: Site) -> NodeType | None:
    """Return the nodes that a role's node type means: by the profile's own word, else by the type of their GPUs."""
    if role.node_type is None:
        return None
    found = site.node_types.get(role.node_type)
    if found is not None:
        return found
    same = [each for each in _gpu_types(site) if each.casefold() == role.node_type.casefold()]
    if same:
        return NodeType.of(gpu_type=same[0])
    known = [*site.node_types, *_gpu_types(site)]
    if not known or job.compat.gpu_type == "any":
        return None
    near = did_you_mean(role.node_type, known)
    raise PlanError(
        Diagnostic(
            code="E405",
            message=f"the site has no node type {role.node_type!r}; it has {', '.join(known)}",
            path=role.paths.node_type,
            hint=(f"{near} Or " if near else "") + "map it under nodeTypes in site.yaml; "
            "`gpuType: any` under extras.slurm.compat takes any nodes",
        )
    )


def _gpu_types(site: Site) -> list[str]:
    return sorted(
        {shape.gpu_type for partition in site.partitions.values() for shape in partition.nodes if shape.gpu_type}
    )


def ignored_hints(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of what OpenPAI's scheduler was told, and the site profile says nothing about."""
    diagnostics: list[Diagnostic] = []
    if _priority(job, site) is None:
        message = f"the priority class {job.priority!r} has no effect: the site profile does not map it"
        path = "$.extras.hivedScheduler.jobPriorityClass"
        hint = "map it under priorities in site.yaml, or set extras.slurm.qos"
        diagnostics.append(Diagnostic(code="W407", message=message, path=path, hint=hint))
    for role in job.roles:
        if role.node_type is not None and _node_type(role, job, site) is None:
            known = ", ".join([*site.node_types, *_gpu_types(site)])
            why = (
                f"the site has {known}, and `gpuType: any` takes any nodes"
                if known
                else "no type of nodes is known here"
            )
            message = f"the node type {role.node_type!r} has no effect: {why}"
            hint = "map it under nodeTypes in site.yaml, or set extras.slurm.constraint"
            diagnostics.append(Diagnostic(code="W408", message=message, path=role.paths.node_type, hint=hint))
    return tuple(dict.fromkeys(diagnostics))


_ONE_PARTITION = "name one partition, not a list: a job is planned for the nodes of one"


def partition_of(target: SlurmTarget, site: Site) -> Partition:
    """Return what the site knows of a place's partition; nothing but the name where it knows none."""
    found = site.partition(target.partition)
    if found is not None:
        return found
    if site.partitions and target.partition is not None:
        names = list(site.partitions)
        raise PlanError(
            Diagnostic(
                code="E402",
                message=f"the site has no partition {target.partition!r}; it has {', '.join(names)}",
                path="$.extras.slurm.partition",
                hint=_ONE_PARTITION
                if "," in target.partition
                else did_you_mean(target.partition, names)
                or f"write `partition: {site.default_partition or names[0]}` under extras.slurm",
            )
        )
    return Partition().named(target.partition or "")
