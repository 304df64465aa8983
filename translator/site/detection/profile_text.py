"""A detected site as the text of a profile, with comments for the person who keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .yaml_text import account_lines, comment, flow, infiniband_lines, limit, scalar, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from ..partitions import Partition, Shape
    from ..profile import Scheduler, Site
    from .answers import Detection

_HEAD = (
    "What Slurm says of this cluster, as `paislurm site detect` wrote it down. Change what you know better: "
    "docs/administrator/site-profile.md has every key, and `paislurm schema site` has them for editors."
)
_METHODS = {"getent": "getent", "node-address": "nodeAddress"}


def profile_text(detection: Detection) -> str:
    """Return the profile. What is read back from it is the site."""
    return "\n\n".join("\n".join(part) for part in _parts(detection) if part) + "\n"


def _parts(detection: Detection) -> Iterator[list[str]]:
    site, remarks = detection.site, detection.remarks

    def comments(key: str) -> list[str]:
        return [line for remark in remarks.get(key, ()) for line in comment(remark)]

    yield comment(_HEAD)
    first = (("name", site.name), ("host", site.host), ("slurmVersion", site.slurm_version))
    yield [f"{key}: {scalar(text)}" for key, text in first if text]
    yield [*comment("SchedulerType and bf_interval of Slurm."), f"scheduler: {_scheduler(site.scheduler)}"]
    if site.partitions:
        yield [
            *comments("partitions"),
            "partitions:",
            *(line for each in site.partitions.values() for line in _partition(each)),
        ]
    if site.default_partition:
        yield [f"defaultPartition: {scalar(site.default_partition)}"]
    if site.require_time_limit:
        yield [*comments("requireTimeLimit"), "requireTimeLimit: true"]
    yield [*comments("gpus"), *([f"gpus: {{vendor: {site.gpus.vendor}}}"] if site.gpus.vendor != "nvidia" else [])]
    yield [*comments("virtualClusters"), *_virtual_clusters(site)]
    if site.accounts is not None:
        yield [*comments("accounts"), *account_lines(site)]
    if site.reservations is not None:
        yield [*comments("reservations"), f"reservations: {flow(site.reservations)}"]
    yield [*comment("How tasks find the address of a node."), f"address: {_METHODS[site.address.method]}"]
    yield [*comments("ports"), f"ports: {{first: {site.ports.first}, last: {site.ports.last}}}"]
    yield [*comment("KillWait of Slurm."), f"time: {{killWait: {_seconds(site.time.kill_wait)}}}"]
    if site.mpi is not None:
        yield [*comments("mpi"), f"mpi: [{', '.join(map(scalar, site.mpi))}]"]
    yield comments("probe")
    if site.infiniband is not None:
        yield infiniband_lines(site.infiniband)
    if site.containers.installed is not None:
        yield [
            *comment("Container runtimes of the node. Name one beside them as `runtime`, and tasks run in it."),
            f"containers: {{installed: {flow(site.containers.installed)}}}",
        ]
    elif detection.runtimes:
        found = f"This machine has {', '.join(detection.runtimes)}. No node was looked at: what nodes have, too, is for"
        yield [*comment(f"{found} you to take."), f"# containers: {{runtime: {detection.runtimes[0]}}}"]
    yield _gaps(detection)


def _scheduler(scheduler: Scheduler) -> str:
    interval = scheduler.backfill_interval
    return f"{{type: {scheduler.type}{'' if interval is None else f', backfillInterval: {interval}'}}}"


def _partition(partition: Partition) -> list[str]:
    lines = [f"    timeLimit: {scalar(limit(partition.time_limit))}"] if partition.time_limit else []
    lines += [f"    maxNodes: {partition.max_nodes}"] if partition.max_nodes else []
    lines += [f"    allowAccounts: {flow(partition.allow_accounts)}"] if partition.allow_accounts is not None else []
    lines += [f"    allowQos: {flow(partition.allow_qos)}"] if partition.allow_qos is not None else []
    if partition.nodes:
        lines = ["    nodes:", *(f"      - {{{_shape(shape)}}}" for shape in partition.nodes), *lines]
    return [f"  {scalar(partition.name)}:", *lines] if lines else [f"  {scalar(partition.name)}: {{}}"]


def _shape(shape: Shape) -> str:
    fields = [f"count: {shape.count}", f"cpus: {shape.cpus}", f"memoryMB: {shape.memory_mib}"]
    fields += [f"gpus: {shape.gpus}"] if shape.gpus else []
    fields += [f"gpuType: {scalar(shape.gpu_type)}"] if shape.gpu_type else []
    fields += [f"threadsPerCore: {shape.threads_per_core}"] if shape.threads_per_core > 1 else []
    fields += [f"features: {flow(shape.features)}"] if shape.features is not None else []
    fields += [f"gres: {flow(shape.gres)}"] if shape.gres is not None else []
    return ", ".join(fields)


def _virtual_clusters(site: Site) -> list[str]:
    rows = [
        f"  {scalar(name)}: {{partition: {scalar(vc.partition or '')}}}" for name, vc in site.virtual_clusters.items()
    ]
    return ["virtualClusters:", *rows] if rows else []


def _gaps(detection: Detection) -> list[str]:
    if not detection.gaps:
        return []
    lines = [f"# - {shown(f'{gap.key}: {gap.reason}; ask: {gap.command}')}" for gap in detection.gaps]
    return ["# Not learnt:", *lines]


def _seconds(span: timedelta) -> int:
    return int(span.total_seconds())
