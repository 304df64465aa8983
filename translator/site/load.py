"""Load a site profile: YAML text becomes a `Site`, or all that is wrong with it becomes one error."""

# ruff: noqa: RUF012 - pydantic copies the defaults
from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field

from ..errors import ProtocolError, Severity, SiteError
from ..protocol.collect import Collector
from ..protocol.extras import HostList, Plugin, SbatchText, SlurmCompat, Time
from ..protocol.faults import mirror
from ..protocol.fields import Boolean, Check, Closed, Text, expected, one_of, whole, words
from ..protocol.read import read
from ..wishes import Switches
from .containers import Containers
from .fabric import CpuUnits, GpuSettings, Infiniband
from .policies import ExitRow, Monitor, Notifications, Retry, check_exit_spec, check_notifications
from .profile import (
    AddressMethod,
    GresStyle,
    NodeType,
    Partition,
    PortRange,
    Priority,
    Shape,
    Site,
    SiteStorage,
    VirtualCluster,
)

_DEFAULTS = Site()
_FIRST_CODE = 450
Count = Annotated[int, whole(0)]
Positive = Annotated[int, whole(1)]
Port = Annotated[int, whole(1024, 65535)]


def _address(value: object) -> tuple[AddressMethod, str]:
    if value == "getent":
        return "getent", ""
    if value == "nodeAddress":
        return "node-address", ""
    suffix = value.get("suffix") if isinstance(value, dict) and len(value) == 1 else None
    if isinstance(suffix, str) and suffix and all(char.isalnum() or char in "-." for char in suffix):
        return "suffix", suffix
    raise expected("`getent`, `nodeAddress` or a mapping such as `{suffix: -ib0}`")


def _file_system(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable() or value.endswith("/"):
        raise expected("the beginning of a path such as `hdfs://host:9000`, without a `/` at its end")
    return value


def _seconds(longest: int) -> Check:
    def check(value: object) -> timedelta:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= longest:
            raise expected(f"a number of seconds, above 0 and at most {longest}")
        return timedelta(seconds=value)

    return Check(check, {"type": "number", "exclusiveMinimum": 0, "maximum": longest})


Seconds = Annotated[timedelta, _seconds(24 * 3600)]
Week = Annotated[timedelta, _seconds(7 * 24 * 3600)]
Address = Annotated[
    tuple[AddressMethod, str],
    Check(_address, {"oneOf": [{"enum": ["getent", "nodeAddress"]}, {"type": "object"}]}),
]


class _Nodes(Closed):
    """Equal nodes; memory in MiB is what Slurm may give away. Source: slurm.conf(5), NodeName."""

    count: Positive
    cpus: Positive
    memory_mb: Annotated[Positive, Field(alias="memoryMB")]
    gpus: Count = 0
    gpu_type: SbatchText | None = None
    threads_per_core: Annotated[int, whole(1, 8)] = 1


class _Partition(Closed):
    """Source: slurm.conf(5), PartitionName."""

    nodes: list[_Nodes] = []
    time_limit: Time | None = None


class _VirtualCluster(Closed):
    """Where the jobs of an OpenPAI virtual cluster go. Source: sbatch(1), options of these names."""

    partition: SbatchText | None = None
    account: SbatchText | None = None
    qos: SbatchText | None = None
    reservation: SbatchText | None = None


class _Ports(Closed):
    first: Port = _DEFAULTS.ports.first
    last: Port = _DEFAULTS.ports.last


class _Time(Closed):
    """`default` is in sbatch's forms, the others are in seconds.

    Source: sbatch(1), --time; slurm.conf(5), KillWait.
    """

    default: Time | None = None
    warning: Seconds = _DEFAULTS.warning
    grace: Seconds = _DEFAULTS.grace
    kill_wait: Seconds = _DEFAULTS.kill_wait
    debug: Week = _DEFAULTS.debug


class _Storage(Closed):
    path: Annotated[str, words("a path such as `/data`, from `/` on and without tabs", r"/[^\t\n]*")]
    shared: Boolean = True
    default: Boolean = False


class _Priority(Closed):
    """Source: sbatch(1), --qos, --nice."""

    qos: SbatchText | None = None
    nice: Annotated[int, whole(0, 2147483645)] | None = None


class _Priorities(Closed):
    """Source: PAI protocol v2, hivedScheduler."""

    crit: _Priority | None = None
    prod: _Priority | None = None
    test: _Priority | None = None
    oppo: _Priority | None = None


class _NodeType(Closed):
    """Source: sbatch(1), --constraint, --nodelist, --gres."""

    constraint: SbatchText | None = None
    nodelist: HostList | None = None
    gpu_type: SbatchText | None = None


class SiteFile(Closed):
    """A site profile as it is written. Source: this project's docs, site profile."""

    name: Text = ""
    partitions: dict[str, _Partition] = {}
    default_partition: SbatchText | None = None
    virtual_clusters: dict[str, _VirtualCluster] = {}
    gres_style: Annotated[GresStyle, one_of("gres", "gpus-per-task")] = _DEFAULTS.gres_style
    gpus: GpuSettings = GpuSettings()
    cpu_unit: CpuUnits = _DEFAULTS.cpu_unit
    infiniband: Infiniband | None = None
    address: Address = ("getent", "")
    ports: _Ports = _Ports()
    time: _Time = _Time()
    storages: dict[str, _Storage] = {}
    priorities: _Priorities = _Priorities()
    node_types: dict[str, _NodeType] = {}
    containers: Containers = Containers()
    mpi: list[Plugin] | None = None
    default_file_system: Annotated[str, Check(_file_system, {"type": "string"})] = ""
    retry: Retry = Retry()
    exit_spec: list[ExitRow] = []
    monitor: Monitor = Monitor()
    notifications: Notifications = Notifications()
    compat: SlurmCompat = SlurmCompat()


def load_site(text: str | bytes, *, file: str) -> Site:
    """Return the site that a profile describes. Raises `SiteError` with all that is wrong."""
    try:
        document = read(text, file=file)
    except ProtocolError as error:
        # The hint for an empty file is about job files.
        raise SiteError(replace(f, hint="") if f.code == "E111" else f for f in error.faults) from None
    collector = Collector(document)
    profile = mirror(SiteFile, collector, codes=_FIRST_CODE)
    if document.secrets is not None:
        collector.add("E113", (), "a site profile is one document, without `---`")
    _check_partitions(collector)
    check_exit_spec(collector)
    check_notifications(collector)
    ports = profile.ports if profile else _Ports()
    if ports.first > ports.last:
        collector.add("E462", ("ports",), f"the ports end at {ports.last}, before they begin at {ports.first}")
    errors = collector.of(Severity.ERROR)
    if errors or profile is None:
        raise SiteError(errors)
    return _site(profile)


def _check_partitions(collector: Collector) -> None:
    """Add a fault for each partition that is named but not listed, where the profile lists any."""
    document = collector.document
    listed = document.mapping(("partitions",))
    for name in listed:
        if not name or not name.isprintable() or any(char.isspace() or char in "\"'\\,#" for char in name):
            message = f"expected the name of a partition, found {name!r}"
            collector.add("E453", ("partitions", name), message, key=True)
    clusters = document.mapping(("virtualClusters",))
    paths = [("virtualClusters", cluster, "partition") for cluster in clusters]
    for path in (("defaultPartition",), *paths):
        wanted = document.at(path)
        for name in wanted.split(",") if isinstance(wanted, str) and listed else ():
            if name not in listed:
                message = f"`partitions` does not list `{name}`"
                collector.add("E461", path, message, near=(name, listed))


def _site(profile: SiteFile) -> Site:
    method, suffix = profile.address
    return Site(
        known=True,
        name=profile.name,
        partitions=tuple(_partition(name, each) for name, each in profile.partitions.items()),
        default_partition=profile.default_partition,
        virtual_clusters={name: _virtual_cluster(each) for name, each in profile.virtual_clusters.items()},
        gres_style=profile.gres_style,
        gpus=profile.gpus.settings(),
        cpu_unit=profile.cpu_unit,
        fabric=profile.infiniband.settings() if profile.infiniband else None,
        address=method,
        node_suffix=suffix,
        ports=PortRange(first=profile.ports.first, last=profile.ports.last),
        default_time=profile.time.default,
        warning=profile.time.warning,
        grace=profile.time.grace,
        kill_wait=profile.time.kill_wait,
        debug=profile.time.debug,
        storages={
            name: SiteStorage(path=each.path, shared=each.shared, default=each.default)
            for name, each in profile.storages.items()
        },
        priorities={
            name: Priority(qos=each.qos, nice=each.nice) for name, each in profile.priorities if each is not None
        },
        node_types={
            name: NodeType(constraint=each.constraint, nodelist=each.nodelist, gpu_type=each.gpu_type)
            for name, each in profile.node_types.items()
        },
        containers=profile.containers.settings(),
        mpi=None if profile.mpi is None else tuple(profile.mpi),
        default_file_system=profile.default_file_system,
        retry=profile.retry.settings(),
        exit_rows=tuple(each.row() for each in profile.exit_spec),
        monitor=profile.monitor.settings(),
        notifier=profile.notifications.notifier(),
        compat=profile.compat.over(Switches()),
    )


def _partition(name: str, partition: _Partition) -> Partition:
    shapes = tuple(
        Shape(
            count=nodes.count,
            cpus=nodes.cpus,
            memory_mib=nodes.memory_mb,
            gpus=nodes.gpus,
            gpu_type=nodes.gpu_type or "",
            threads_per_core=nodes.threads_per_core,
        )
        for nodes in partition.nodes
    )
    return Partition(name=name, shapes=shapes, time_limit=partition.time_limit)


def _virtual_cluster(cluster: _VirtualCluster) -> VirtualCluster:
    return VirtualCluster(
        partition=cluster.partition,
        account=cluster.account,
        qos=cluster.qos,
        reservation=cluster.reservation,
    )
