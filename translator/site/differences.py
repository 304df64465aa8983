"""Comparison of a site profile with the cluster: names, limits and resources that it does not have."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from msgspec import Struct

from ..plural import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..reading.document import Path
    from .partitions import Partition, Shape
    from .profile import Site


class Difference(Struct, frozen=True, kw_only=True):
    """An outdated value of the profile; `near` are the existing names."""

    path: Path
    message: str
    name: str = ""
    near: tuple[str, ...] = ()


def differences(site: Site, found: Site) -> list[Difference]:
    """Return the differences between the profile and the detected cluster, in the order of the reference page."""
    return [
        *_version(site, found),
        *_scheduler(site, found),
        *_partitions(site, found),
        *_names(site, found),
        *_node_types(site, found),
        *_plugins(site, found),
    ]


def _version(site: Site, found: Site) -> Iterator[Difference]:
    if site.slurm_version and found.slurm_version and site.slurm_version != found.slurm_version:
        yield Difference(path=("slurmVersion",), message=f"Slurm is {found.slurm_version}, not {site.slurm_version}")


def _scheduler(site: Site, found: Site) -> Iterator[Difference]:
    """Yield a difference if Slurm cannot do what the profile says: start heterogeneous jobs, restart jobs at once."""
    why = found.scheduler.why_no_components
    if why and not site.scheduler.why_no_components:
        message = f"the cluster starts no job with a component for each role: {why}"
        yield Difference(path=("scheduler",), message=message)
    if site.scheduler.expedited_requeue and not found.scheduler.expedited_requeue:
        message = "expedited requeue is not enabled (SlurmctldParameters, enable_expedited_requeue, since 25.11)"
        yield Difference(path=("scheduler", "expeditedRequeue"), message=message)


def _partitions(site: Site, found: Site) -> Iterator[Difference]:
    known = found.partitions
    for partition in site.partitions.values():
        path = ("partitions", partition.name)
        if partition.name in known:
            yield from _partition(path, partition, known[partition.name])
        elif known:
            yield _gone(path, "partition", partition.name, known)
    for name, each in site.virtual_clusters.items():
        for wanted in each.partition.split(",") if each.partition and known else ():
            if wanted not in known:
                yield _gone(("virtualClusters", name, "partition"), "partition", wanted, known)


def _partition(path: Path, ours: Partition, theirs: Partition) -> Iterator[Difference]:
    if not theirs.nodes:
        return
    if ours.node_count > theirs.node_count:
        message = f"partition {ours.name} has {counted(theirs.node_count, 'node')}, not {ours.node_count}"
        yield Difference(path=(*path, "nodes"), message=message)
    if theirs.time_limit is not None and ours.nodes and (ours.time_limit or theirs.time_limit) > theirs.time_limit:
        message = f"partition {ours.name} allows {theirs.time_limit}, not {ours.time_limit}"
        yield Difference(path=(*path, "timeLimit"), message=message)
    types = {name for shape in theirs.nodes for name in shape.gpus_by_type}
    features = {name for shape in theirs.nodes for name in shape.features or ()}
    gres = {text.rpartition(":")[0] for shape in theirs.nodes for text in shape.gres or ()}
    for position, shape in enumerate(ours.nodes):
        here = (*path, "nodes", position)
        named = {*shape.gpus_by_type, shape.gpu_type} - {""}
        gone = set() if "" in types else named - types
        if not gone and (less := _less(shape, theirs)):
            yield Difference(path=here, message=f"partition {ours.name} has {less}")
        key = "gpuTypes" if shape.gpu_types else "gpuType"
        for name in sorted(gone):
            yield _gone((*here, key), f"type of GPU in partition {ours.name}", name, types)
        for name in shape.features or ():
            if name not in features:
                yield _gone((*here, "features"), f"feature in partition {ours.name}", name, features)
        for name in (text.rpartition(":")[0] for text in shape.gres or ()):
            if name not in gres and all(each.gres is not None for each in theirs.nodes):
                yield _gone((*here, "gres"), f"generic resource in partition {ours.name}", name, gres)


def _less(shape: Shape, theirs: Partition) -> str:
    """Return which resources of a node no node of the partition has, "" if one has them all."""
    amounts = {"CPUs": shape.cpus, "MiB of memory": shape.memory_mib}
    amounts |= {f"GPUs{name and ' of type '}{name}": number for name, number in shape.gpus_by_type.items()}
    nodes = [(each.cpus, each.memory_mib, *(_gpus(each, name) for name in shape.gpus_by_type)) for each in theirs.nodes]
    for (what, wanted), per_node in zip(amounts.items(), zip(*nodes, strict=True), strict=True):
        if wanted > max(per_node):
            return f"at most {max(per_node)} {what} on a node, not {wanted}"
    if any(all(map(operator.le, amounts.values(), node)) for node in nodes):
        return ""
    return f"no node with all of {', '.join(f'{wanted} {what}' for what, wanted in amounts.items())}"


def _gpus(shape: Shape, gpu_type: str) -> int:
    """Return the GPUs of a node that may be of this type; "" is any type, and GPUs without a type may be of each."""
    found = shape.gpus_by_type
    return sum(found.values()) if not gpu_type or "" in found else found.get(gpu_type, 0)


def _names(site: Site, found: Site) -> Iterator[Difference]:
    """Yield accounts, QOS and reservations that no longer exist, wherever the profile names them."""
    accounts, qos, reservations = found.accounts, found.qos, found.reservations
    wanted: list[tuple[Path, str, str | None, Collection[str] | None]] = [
        *((("accounts", name), "account", name, accounts) for name in site.accounts or ()),
        (("defaultAccount",), "account", site.default_account, accounts),
        *((("qos", name), "QOS", name, qos) for name in site.qos or ()),
        *((("reservations",), "reservation", name, reservations) for name in site.reservations or ()),
        *((("priorities", name, "qos"), "QOS", each.qos, qos) for name, each in site.priorities.items()),
    ]
    for name, each in site.virtual_clusters.items():
        path = ("virtualClusters", name)
        wanted.append(((*path, "account"), "account", each.account, accounts))
        wanted.append(((*path, "qos"), "QOS", each.qos, qos))
        wanted.append(((*path, "reservation"), "reservation", each.reservation, reservations))
    for place, what, asked, known in wanted:
        if asked and known is not None and asked not in known:
            yield _gone(place, what, asked, known)


def _node_types(site: Site, found: Site) -> Iterator[Difference]:
    shapes = [shape for partition in found.partitions.values() for shape in partition.nodes]
    types = {name for shape in shapes for name in shape.gpus_by_type}
    for name, each in site.node_types.items():
        if each.gpu_type and shapes and each.gpu_type not in types and "" not in types:
            yield _gone(("nodeTypes", name, "gpuType"), "type of GPU", each.gpu_type, types)


def _plugins(site: Site, found: Site) -> Iterator[Difference]:
    for name in site.mpi or ():
        if found.mpi is not None and name not in found.mpi:
            yield _gone(("mpi",), "MPI plugin", name, found.mpi)


def _gone(path: Path, what: str, name: str, known: Collection[str]) -> Difference:
    near = tuple(sorted(each for each in known if each))
    message = f"the cluster has no {what} {name!r}; it has {', '.join(near) or 'none'}"
    return Difference(path=path, message=message, name=name, near=near)
