"""The target of a role on the site: partition, account, QOS, reservation; and its time limit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ...errors import Diagnostic, PlanError, did_you_mean
from ...site.partitions import Partition
from ...site.profile import NodeType, Priority, VirtualCluster
from ...slurm_options import PASS_THROUGH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...job import Job, Role
    from ...site.partitions import Shape
    from ...site.profile import Site


class SlurmTarget(Struct, frozen=True, kw_only=True):
    """The target of a role; None selects Slurm's default.

    `options` are the options of `PASS_THROUGH` with a value, in its order.
    """

    options: tuple[tuple[str, str], ...]
    nice: int | None
    gpu_type: str | None

    @property
    def partition(self) -> str | None:
        """Return the partition, None for Slurm's default."""
        return dict(self.options).get("partition")


def virtual_cluster(job: Job, site: Site) -> VirtualCluster:
    """Return the target of the job's virtual cluster from the profile, or the partition of the same name.

    Raises PlanError if the profile maps virtual clusters, but not this one.
    Source: PAI protocol v2, defaults.virtualCluster.
    """
    name = job.virtual_cluster
    mapped = site.virtual_cluster(name)
    if mapped is not None:
        return mapped
    if name in site.partitions:
        return VirtualCluster.of(partition=name)
    if _needs_no_cluster(job) or not site.virtual_clusters:
        return VirtualCluster.of()
    known = [*site.virtual_clusters, *site.partitions]
    message = f"the site has no virtual cluster {name!r}; it has {', '.join(known) or 'none'}"
    hint = (
        did_you_mean(name, known)
        or "use one of these, or ask the administrator to add it under virtualClusters of the site profile"
    )
    raise PlanError(Diagnostic(code="E401", message=message, path=job.paths.virtual_cluster, hint=hint))


def _needs_no_cluster(job: Job) -> bool:
    return job.virtual_cluster == "default" or "partition" in job.slurm_options.job.pass_through


def cluster_warnings(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of a virtual cluster if the site profile maps none."""
    name = job.virtual_cluster
    is_mapped = site.virtual_cluster(name) is not None or name in site.partitions
    if site.virtual_clusters or is_mapped or _needs_no_cluster(job):
        return ()
    message = f"unknown virtual cluster {name!r}; the job goes to Slurm's default partition"
    hint = did_you_mean(name, list(site.partitions)) or (
        "map it under `virtualClusters` of a site profile, or set extras.slurm.partition"
    )
    return (Diagnostic(code="W401", message=message, path=job.paths.virtual_cluster, hint=hint),)


def targets_of(job: Job, cluster: VirtualCluster, site: Site) -> list[SlurmTarget]:
    """Return the target of each role; equal requests are looked up once."""
    found: dict[tuple[object, ...], SlurmTarget] = {}
    targets = []
    for role in job.roles:
        asked = (role.node_type, role.resources.gpus > 0, *role.slurm_options.pass_through.items())
        if asked not in found:
            found[asked] = _target(role, job, cluster, site)
        targets.append(found[asked])
    return targets


def _target(role: Role, job: Job, cluster: VirtualCluster, site: Site) -> SlurmTarget:
    """Return the target of a role. The role's options override the job's, and these those of the site profile.

    Raises PlanError for an unknown node type if the site's node types are known.
    """
    own, whole = role.slurm_options.pass_through, job.slurm_options.job.pass_through
    priority, kind = _priority(job, site) or Priority.of(), _node_type(role, job, site) or NodeType.of()
    values = {
        name: own.get(name) or whole.get(name) or _site_value(name, priority, kind, cluster) for name in PASS_THROUGH
    }
    return SlurmTarget(
        options=tuple((name, value) for name, value in values.items() if value),
        nice=priority.nice,
        gpu_type=kind.gpu_type if role.resources.gpus else None,
    )


def _site_value(name: str, *rows: Priority | NodeType | VirtualCluster) -> str | None:
    """Return the value of an option in the site profile, from the first of the rows that has it."""
    return next((value for row in rows if (value := getattr(row, name, None))), None)


def compatible(job: Job, site: Site, targets: list[SlurmTarget]) -> bool:
    """Whether one allocation can meet the requests of all roles. Only tasks of the same role can divide GPUs."""
    types = {target.gpu_type for target, role in zip(targets, job.roles, strict=True) if role.resources.gpus}
    elsewhere = {replace(target, gpu_type=None) for target in set(targets)}
    return len(elsewhere) == 1 and len(types) <= 1 and (not types or site.gpus.gres == "gpu")


_DEFAULT_PRIORITIES = {"test": Priority.of(), "oppo": Priority.of(nice=1000)}
"""Defaults for any Slurm: `test` is OpenPAI's default; `oppo` waits for all other jobs."""


def _priority(job: Job, site: Site) -> Priority | None:
    """Return the site's settings for the job's priority class, None without any."""
    name = job.priority or "test"
    return site.priorities.get(name) or _DEFAULT_PRIORITIES.get(name)


def _node_type(role: Role, job: Job, site: Site) -> NodeType | None:
    """Return the nodes of a role's node type: from the profile, else by their GPU type."""
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
    message = f"the site has no node type {role.node_type!r}; it has {', '.join(known)}"
    hint = (
        (f"{near} Or " if near else "") + "ask the administrator to add it under nodeTypes of the site "
        "profile; set `gpuType: any` under extras.slurm.compat to use any nodes"
    )
    raise PlanError(Diagnostic(code="E405", message=message, path=role.paths.node_type, hint=hint))


def _gpu_types(site: Site) -> list[str]:
    shapes = (shape for partition in site.partitions.values() for shape in partition.nodes)
    return sorted({name for shape in shapes for name in shape.gpus_by_type if name})


_SLICE = re.compile(r"\dg\.\d+gb")
"""Part of the type of a MIG slice, `1g.10gb` or `a100_3g.20gb`. Source: gres.conf(5), MultipleFiles."""


def default_gpu_type(shapes: Sequence[Shape]) -> str | None:
    """Return the type of GPU for jobs that name none, None for any: Slurm would mix types, and slices with whole GPUs.

    It is one of whole GPUs, if there are any, of which a node has the most.
    """
    nodes = [shape.gpus_by_type for shape in shapes]
    most = {name: max(each.get(name, 0) for each in nodes) for each in nodes for name in each}
    slices = {name for name in most if _SLICE.search(name)}
    if not (slices and slices != set(most)) and all(len(each) < 2 for each in nodes):
        return None
    return min(most, key=lambda name: (name in slices, -most[name], name)) or None


def ignored_hints(job: Job, site: Site) -> tuple[Diagnostic, ...]:
    """Warn of settings for OpenPAI's scheduler that the site profile does not map."""
    diagnostics: list[Diagnostic] = []
    if _priority(job, site) is None:
        message = f"the priority class {job.priority!r} has no effect: the site profile does not map it"
        path = "$.extras.hivedScheduler.jobPriorityClass"
        hint = (
            "write `qos` under `extras.slurm`, or ask the administrator to add the class under priorities of the site "
            "profile"
        )
        diagnostics.append(Diagnostic(code="W407", message=message, path=path, hint=hint))
    for role in job.roles:
        if role.node_type is not None and _node_type(role, job, site) is None:
            known = ", ".join([*site.node_types, *_gpu_types(site)])
            why = (
                f"the site has {known}, and `gpuType: any` permits any nodes" if known else "the site has no node types"
            )
            message = f"the node type {role.node_type!r} has no effect: {why}"
            hint = "set extras.slurm.constraint, or ask the administrator to add it under nodeTypes of the site profile"
            diagnostics.append(Diagnostic(code="W408", message=message, path=role.paths.node_type, hint=hint))
    return tuple(dict.fromkeys(diagnostics))


_ONE_PARTITION = "write one partition, not a list: a plan is for the nodes of one partition"


def partition_of(target: SlurmTarget, site: Site) -> Partition:
    """Return the site's partition of a target; only its name if the site profile has no partitions."""
    found = site.partition(target.partition)
    if found is not None:
        return found
    if site.partitions and target.partition is not None:
        names = list(site.partitions)
        message = f"the site has no partition {target.partition!r}; it has {', '.join(names)}"
        hint = (
            _ONE_PARTITION
            if "," in target.partition
            else did_you_mean(target.partition, names)
            or f"write `partition: {site.default_partition or names[0]}` under extras.slurm"
        )
        raise PlanError(Diagnostic(code="E402", message=message, path="$.extras.slurm.partition", hint=hint))
    return Partition.of().named(target.partition or "")
