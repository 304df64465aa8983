"""A site profile as it is written: a mirror of the file, which says what each key may be.

GPUs, InfiniBand, containers and policies have mirrors of their own beside this one.
"""

# ruff: noqa: RUF012 - nobody changes the defaults
from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from ..protocol.extras_slurm import HostList, Plugin, SbatchText, SlurmCompat, Time, Workdir
from ..slurm_options import CompatOptions
from ..validation.marks import Key, Validator
from ..validation.strict_model import (
    Boolean,
    StrictModel,
    Text,
    choice,
    expected,
    int_range,
    integer,
    pattern,
)
from .associations import AccountTable, Qos
from .containers import Containers
from .devices import CpuUnits, GpuSettings, Gres, Infiniband
from .policies import ExitRow, Jobs, Logs, Monitor, MonitorOrNone, Notifications, Retry
from .profile import (
    AddressMethod,
    GresStyle,
    NodeType,
    Partition,
    PortRange,
    Priority,
    Scheduler,
    SchedulerKind,
    Shape,
    Site,
    SiteStorage,
    Transport,
    VirtualCluster,
)
from .slurm_version import slurm_version

VERSION = 1
"""Of the keys of a profile and what they mean."""
_DEFAULTS = Site()

Count = Annotated[int, int_range(0)]
Positive = Annotated[int, int_range(1)]
Port = Annotated[int, int_range(1024, 65535)]


def _cluster(value: object) -> str:
    """Return the name of a cluster. Source: slurm.conf(5), ClusterName."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", value, re.ASCII):
        raise expected("the name of a cluster: letters, digits, `-` and `_`")
    return value


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


def _version(value: object) -> str:
    found = slurm_version(value) if isinstance(value, str) else None
    if found is None:
        raise expected("a version of Slurm with all its three numbers, such as `24.11.5`")
    return str(found)


def _format(value: object) -> int:
    if integer(value) != VERSION:
        raise expected(f"the version {VERSION} of site profiles", "a later version needs a newer paislurm")
    return VERSION


def _known(names: list[str] | None) -> tuple[str, ...] | None:
    """Return a list that may not be known as the planner has it."""
    return None if names is None else tuple(names)


def _seconds(longest: int) -> Validator:
    def check(value: object) -> timedelta:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= longest:
            raise expected(f"a number of seconds, above 0 and at most {longest}")
        return timedelta(seconds=value)

    return Validator(check, {"type": "number", "exclusiveMinimum": 0, "maximum": longest})


Seconds = Annotated[timedelta, _seconds(24 * 3600)]
Week = Annotated[timedelta, _seconds(7 * 24 * 3600)]
Address = Annotated[
    tuple[AddressMethod, str],
    Validator(_address, {"oneOf": [{"enum": ["getent", "nodeAddress"]}, {"type": "object"}]}),
]


class _Nodes(StrictModel):
    """Equal nodes; memory in MiB is what Slurm may give away. Source: slurm.conf(5), NodeName."""

    count: Positive
    cpus: Positive
    memory_mb: Annotated[Positive, Key("memoryMB")]
    gpus: Count = 0
    gpu_type: SbatchText | None = None
    threads_per_core: Annotated[int, int_range(1, 8)] = 1
    features: list[SbatchText] | None = None
    gres: list[Gres] | None = None

    def settings(self) -> Shape:
        """Return the settings as the planner sees them."""
        return Shape(
            count=self.count,
            cpus=self.cpus,
            memory_mib=self.memory_mb,
            gpus=self.gpus,
            gpu_type=self.gpu_type or "",
            threads_per_core=self.threads_per_core,
            features=_known(self.features),
            gres=_known(self.gres),
        )


class _Partition(StrictModel):
    """Source: slurm.conf(5), PartitionName."""

    nodes: list[_Nodes] = []
    time_limit: Time | None = None
    max_nodes: Positive | None = None
    allow_accounts: list[SbatchText] | None = None
    allow_qos: list[SbatchText] | None = None

    def settings(self, name: str) -> Partition:
        """Return the settings as the planner sees them."""
        return Partition(
            name=name,
            shapes=tuple(each.settings() for each in self.nodes),
            time_limit=self.time_limit,
            max_nodes=self.max_nodes,
            allow_accounts=_known(self.allow_accounts),
            allow_qos=_known(self.allow_qos),
        )


class _VirtualCluster(StrictModel):
    """Where the jobs of an OpenPAI virtual cluster go. Source: sbatch(1), options of these names."""

    partition: SbatchText | None = None
    account: SbatchText | None = None
    qos: SbatchText | None = None
    reservation: SbatchText | None = None

    def settings(self) -> VirtualCluster:
        """Return the settings as the planner sees them."""
        return VirtualCluster(
            partition=self.partition, account=self.account, qos=self.qos, reservation=self.reservation
        )


class _Ports(StrictModel):
    first: Port = _DEFAULTS.ports.first
    last: Port = _DEFAULTS.ports.last

    def settings(self) -> PortRange:
        """Return the settings as the planner sees them."""
        return PortRange(first=self.first, last=self.last)


class _Scheduler(StrictModel):
    """Source: slurm.conf(5), SchedulerType, SchedulerParameters."""

    type: Annotated[SchedulerKind, choice("backfill", "builtin")] = _DEFAULTS.scheduler.kind
    backfill_interval: Annotated[int, int_range(-1, 10800)] | None = None

    def settings(self) -> Scheduler:
        """Return the settings as the planner sees them."""
        return Scheduler(kind=self.type, backfill_interval=self.backfill_interval)


class _Time(StrictModel):
    """`default` is in sbatch's forms, the others are in seconds.

    Source: sbatch(1), --time; slurm.conf(5), KillWait.
    """

    default: Time | None = None
    warning: Seconds = _DEFAULTS.warning
    grace: Seconds = _DEFAULTS.grace
    kill_wait: Seconds = _DEFAULTS.kill_wait
    debug_hold: Week = _DEFAULTS.debug_hold


class _Storage(StrictModel):
    path: Annotated[str, pattern("a path such as `/data`, from `/` on and without tabs", r"/[^\t\n]*")]
    shared: Boolean = True
    default: Boolean = False

    def settings(self) -> SiteStorage:
        """Return the settings as the planner sees them."""
        return SiteStorage(path=self.path, shared=self.shared, default=self.default)


class _Priority(StrictModel):
    """Source: sbatch(1), --qos, --nice."""

    qos: SbatchText | None = None
    nice: Annotated[int, int_range(0, 2147483645)] | None = None

    def settings(self) -> Priority:
        """Return the settings as the planner sees them."""
        return Priority(qos=self.qos, nice=self.nice)


class _Priorities(StrictModel):
    """Source: PAI protocol v2, hivedScheduler."""

    crit: _Priority | None = None
    prod: _Priority | None = None
    test: _Priority | None = None
    oppo: _Priority | None = None


class _NodeType(StrictModel):
    """Source: sbatch(1), --constraint, --nodelist, --gres."""

    constraint: SbatchText | None = None
    nodelist: HostList | None = None
    gpu_type: SbatchText | None = None

    def settings(self) -> NodeType:
        """Return the settings as the planner sees them."""
        return NodeType(constraint=self.constraint, nodelist=self.nodelist, gpu_type=self.gpu_type)


class SiteFile(StrictModel):
    """A site profile as it is written. Source: this project's docs, site profile."""

    version: Annotated[int, Validator(_format, {"const": VERSION})] = VERSION
    name: Text = ""
    extends: Text = ""
    locked: list[Text] = []
    host: Annotated[str, pattern("HOST, USER@HOST or USER@HOST:PORT", r"([\w.][\w.-]*@)?\w[\w.-]*(:\d{1,5})?")] = ""
    transport: Annotated[Transport, choice("auto", "fabric", "ssh")] = _DEFAULTS.transport
    cluster: Annotated[str, Validator(_cluster, {"type": "string", "pattern": "^[A-Za-z0-9_-]*$"})] = ""
    slurm_version: Annotated[str, Validator(_version, {"type": "string"})] = ""
    scheduler: _Scheduler = _Scheduler()
    partitions: dict[str, _Partition] = {}
    default_partition: SbatchText | None = None
    virtual_clusters: dict[str, _VirtualCluster] = {}
    accounts: dict[str, AccountTable] | None = None
    default_account: SbatchText | None = None
    qos: dict[str, Qos] | None = None
    reservations: list[SbatchText] | None = None
    require_time_limit: Boolean = False
    gres_style: Annotated[GresStyle, choice("gres", "gpus-per-task")] = _DEFAULTS.gres_style
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
    default_file_system: Annotated[str, Validator(_file_system, {"type": "string"})] = ""
    retry: Retry = Retry()
    exit_spec: list[ExitRow] = []
    logs: Logs = Logs()
    jobs: Jobs = Jobs()
    monitor: MonitorOrNone = Monitor()
    notifications: Notifications = Notifications()
    workdir: Workdir = _DEFAULTS.workdir
    compat: SlurmCompat = SlurmCompat()

    def settings(self) -> Site:
        """Return the site as the planner and the monitor see it."""
        method, suffix = self.address
        return Site(
            known=True,
            name=self.name,
            locked=tuple(self.locked),
            host=self.host,
            transport=self.transport,
            cluster=self.cluster,
            slurm_version=self.slurm_version,
            scheduler=self.scheduler.settings(),
            partitions=tuple(each.settings(name) for name, each in self.partitions.items()),
            default_partition=self.default_partition,
            virtual_clusters={name: each.settings() for name, each in self.virtual_clusters.items()},
            accounts=None if self.accounts is None else {name: each.settings() for name, each in self.accounts.items()},
            default_account=self.default_account,
            qos=None if self.qos is None else {name: each.limits() for name, each in self.qos.items()},
            reservations=_known(self.reservations),
            require_time_limit=self.require_time_limit,
            gres_style=self.gres_style,
            gpus=self.gpus.settings(),
            cpu_unit=self.cpu_unit,
            infiniband=self.infiniband.settings() if self.infiniband else None,
            address=method,
            node_suffix=suffix,
            ports=self.ports.settings(),
            default_time=self.time.default,
            warning=self.time.warning,
            grace=self.time.grace,
            kill_wait=self.time.kill_wait,
            debug_hold=self.time.debug_hold,
            storages={name: each.settings() for name, each in self.storages.items()},
            priorities={name: each.settings() for name, each in self.priorities if each is not None},
            node_types={name: each.settings() for name, each in self.node_types.items()},
            containers=self.containers.settings(),
            mpi=None if self.mpi is None else tuple(self.mpi),
            default_file_system=self.default_file_system,
            retry=self.retry.settings(),
            exit_rows=tuple(each.row() for each in self.exit_spec),
            monitor=self.monitor.settings(),
            notifier=self.notifications.notifier(),
            one_log=self.logs.one_file_per_task,
            workdir=self.workdir,
            remove_after=self.jobs.remove_after,
            compat=self.compat.over(CompatOptions()),
        )
