"""The site profile: one frozen model of what `site.yaml` says, with every default. Memory in MiB."""

# ruff: noqa: RUF012 - models are frozen
from __future__ import annotations

import re
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import PrivateAttr

from ..protocol.extras_slurm import HostList, Plugin, SbatchText, SlurmCompat, Time, Workdir
from ..slurm_options import CompatOptions
from ..validation.strict_model import (
    Boolean,
    StrictModel,
    Text,
    Validator,
    choice,
    expected,
    int_range,
    integer,
    pattern,
)
from .containers import Containers
from .devices import CpuUnit, Gpus, Infiniband
from .partitions import Account, Partition, Qos, Shape
from .policies import ExitRow, Jobs, Logs, Monitor, MonitorOrNone, Notifications, Retry
from .slurm_version import slurm_version

if TYPE_CHECKING:
    from ..exit_codes.table import SiteRow

VERSION = 1
"""Of the keys of a profile and what they mean."""
GresStyle = Literal["gres", "gpus-per-task"]
AddressMethod = Literal["getent", "node-address", "suffix"]
Transport = Literal["auto", "fabric", "ssh"]
"""How a login node is reached: by a library, by a program, or by whichever is there."""
PriorityClass = Annotated[Literal["crit", "prod", "test", "oppo"], choice("crit", "prod", "test", "oppo")]
UNLIMITED = 1_000_000
"""CPUs, GPUs and MiB * 1000 of this machine: the local backend tries out any job."""


class Address(NamedTuple):
    """Say how the address of a node is found; `suffix` ends the name that is looked up (`-ib0`)."""

    method: AddressMethod = "getent"
    suffix: str = ""


def _cluster(value: object) -> str:
    """Return the name of a cluster. Source: slurm.conf(5), ClusterName."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-]*", value, re.ASCII):
        raise expected("the name of a cluster: letters, digits, `-` and `_`")
    return value


def _address(value: object) -> Address:
    if value == "getent":
        return Address()
    if value == "nodeAddress":
        return Address("node-address")
    suffix = value.get("suffix") if isinstance(value, dict) and len(value) == 1 else None
    if isinstance(suffix, str) and suffix and all(char.isalnum() or char in "-." for char in suffix):
        return Address("suffix", suffix)
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


def _seconds(longest: int) -> Validator:
    def check(value: object) -> timedelta:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= longest:
            raise expected(f"a number of seconds, above 0 and at most {longest}")
        return timedelta(seconds=value)

    return Validator(check, {"type": "number", "exclusiveMinimum": 0, "maximum": longest})


LoginNode = Annotated[str, pattern("HOST, USER@HOST or USER@HOST:PORT", r"([\w.][\w.-]*@)?\w[\w.-]*(:\d{1,5})?")]
Port = Annotated[int, int_range(1024, 65535)]
Seconds = Annotated[timedelta, _seconds(24 * 3600)]
Week = Annotated[timedelta, _seconds(7 * 24 * 3600)]
NodeAddress = Annotated[
    Address, Validator(_address, {"oneOf": [{"enum": ["getent", "nodeAddress"]}, {"type": "object"}]})
]


class VirtualCluster(StrictModel):
    """Where the jobs of an OpenPAI virtual cluster go. Source: sbatch(1), options of these names."""

    partition: SbatchText | None = None
    """The partition."""
    account: SbatchText | None = None
    """The account that is charged."""
    qos: SbatchText | None = None
    """The quality of service."""
    reservation: SbatchText | None = None
    """The reservation."""


class Ports(StrictModel):
    """The ports that tasks are given, both ends included."""

    first: Port = 15000
    """The first port."""
    last: Port = 32000
    """The last port."""


class Scheduler(StrictModel):
    """Slurm's scheduler, which decides whether a job may have a component for each role.

    Source: slurm.conf(5), SchedulerType, SchedulerParameters.
    """

    type: Annotated[Literal["backfill", "builtin"], choice("backfill", "builtin")] = "backfill"
    """Slurm's SchedulerType without `sched/`. `builtin` starts no heterogeneous job, so roles share an allocation."""
    backfill_interval: Annotated[int, int_range(-1, 10800)] | None = None
    """Seconds between two looks of Slurm's backfill scheduler (slurm.conf, bf_interval); -1 if it is off."""

    @property
    def why_no_components(self) -> str:
        """Why Slurm starts no job with a component for each role, "" if it does."""
        if self.type == "builtin":
            return "its scheduler is sched/builtin, and only sched/backfill starts such jobs"
        return "its backfill scheduler, which alone starts such jobs, is off" if self.backfill_interval == -1 else ""


class Times(StrictModel):
    """`default` is in sbatch's forms, the others are in seconds. Source: sbatch(1), --time; slurm.conf(5), KillWait."""

    default: Time | None = None
    """The time limit of jobs that name none."""
    warning: Seconds = timedelta(seconds=120)
    """Seconds before the time limit at which tasks get TERM."""
    grace: Seconds = timedelta(seconds=20)
    """Seconds from TERM to KILL when the job's end is decided."""
    kill_wait: Seconds = timedelta(seconds=30)
    """Seconds from TERM to KILL when Slurm ends a job (slurm.conf, KillWait)."""
    debug_hold: Week = timedelta(days=7)
    """Seconds for which a failed task of a job with `isDebug` is held, at most."""


class SiteStorage(StrictModel):
    """A storage of OpenPAI."""

    path: Annotated[str, pattern("a path such as `/data`, from `/` on and without tabs", r"/[^\t\n]*")]
    """Where it is on all nodes."""
    shared: Boolean = True
    """Whether all users share it; in any other, each user has the folder of their name."""
    default: Boolean = False
    """Whether it belongs to the default storages of every user."""


class Priority(StrictModel):
    """What a priority class of OpenPAI is to Slurm. Source: sbatch(1), --qos, --nice."""

    qos: SbatchText | None = None
    """The quality of service."""
    nice: Annotated[int, int_range(0, 2147483645)] | None = None
    """By how much the priority of the job is lowered (sbatch --nice)."""


class NodeType(StrictModel):
    """The nodes behind a SKU or a pinned cell. Source: sbatch(1), --constraint, --nodelist, --gres."""

    constraint: SbatchText | None = None
    """Features that the nodes have (sbatch --constraint)."""
    nodelist: HostList | None = None
    """The nodes themselves (sbatch --nodelist)."""
    gpu_type: SbatchText | None = None
    """The gres type of their GPUs, asked for with the GPUs (sbatch --gres)."""


class Site(StrictModel):
    """A cluster, as its profile describes it. Source: this project's docs, site profile."""

    version: Annotated[int, Validator(_format, {"const": VERSION})] = VERSION
    """The version of the profile's keys; there is one so far."""
    name: Text = ""
    """What the site is called."""
    extends: Text = ""
    """Path of the profile to extend. Default for a user's profile: the system's."""
    locked: tuple[Text, ...] = ()
    """Keys, such as `containers.runtime`, that no profile above this one and no job may change."""
    host: LoginNode = ""
    """For a machine without Slurm: the login node at which jobs are submitted by SSH, such as `alice@login1:2222`."""
    transport: Annotated[Transport, choice("auto", "fabric", "ssh")] = "auto"
    """How that login node is reached: `fabric`, `ssh`, or `auto` (an open connection of ssh, else fabric)."""
    cluster: Annotated[str, Validator(_cluster, {"type": "string", "pattern": "^[A-Za-z0-9_-]*$"})] = ""
    """Cluster to submit to (`sbatch -M`). Default: this machine's."""
    slurm_version: Annotated[str, Validator(_version, {"type": "string"})] = ""
    """The version of its Slurm, such as `24.11.5`. Default: `submit` asks."""
    scheduler: Scheduler = Scheduler()
    """Slurm's scheduler, which decides whether a job may have a component for each role."""
    partitions: dict[str, Partition] = {}
    """The partitions by name."""
    default_partition: SbatchText | None = None
    """The partition of jobs whose virtual cluster names none."""
    virtual_clusters: dict[str, VirtualCluster] = {}
    """Where the jobs of each OpenPAI virtual cluster go."""
    accounts: dict[str, Account] | None = None
    """The accounts that jobs may name. Default: any."""
    default_account: SbatchText | None = None
    """The account of jobs that name none."""
    qos: dict[str, Qos] | None = None
    """The qualities of service that jobs may name. Default: any."""
    reservations: tuple[SbatchText, ...] | None = None
    """The reservations that jobs may name. Default: any."""
    require_time_limit: Boolean = False
    """Whether Slurm refuses a job without a time limit."""
    gres_style: Annotated[GresStyle, choice("gres", "gpus-per-task")] = "gres"
    """Whether GPUs are asked for with --gres and a layout, or with --gpus-per-task."""
    gpus: Gpus = Gpus.of()
    """What Slurm calls the GPUs, and who makes them."""
    cpu_unit: Annotated[CpuUnit, choice("thread", "core")] = "thread"
    """Whether a CPU of a job file is a hardware thread, as on OpenPAI, or a core."""
    infiniband: Infiniband | None = None
    """The InfiniBand, for jobs that ask for it and against those that do not."""
    address: NodeAddress = Address()
    """How the address of a node is found."""
    ports: Ports = Ports.of()
    """The ports that tasks are given."""
    time: Times = Times.of()
    """Time limits and grace."""
    storages: dict[str, SiteStorage] = {}
    """The storages by name."""
    priorities: dict[PriorityClass, Priority] = {}
    """What each priority class of OpenPAI is to Slurm."""
    node_types: dict[str, NodeType] = {}
    """The nodes behind each SKU or pinned cell of OpenPAI."""
    containers: Containers = Containers.of()
    """The containers that tasks run in."""
    mpi: tuple[Plugin, ...] | None = None
    """The plugins of `srun --mpi`, the usual one first."""
    default_file_system: Annotated[str, Validator(_file_system, {"type": "string"})] = ""
    """What `$PAI_DEFAULT_FS_URI` means in job files, such as `hdfs://host:9000` or a folder."""
    retry: Retry = Retry.of()
    """Bounds of retries."""
    exit_spec: tuple[ExitRow, ...] = ()
    """Rows that change what exit codes and Slurm's states mean."""
    logs: Logs = Logs.of()
    """In how many files a task keeps what it prints."""
    jobs: Jobs = Jobs.of()
    """For how long jobs that have ended are kept."""
    monitor: MonitorOrNone = Monitor.of()
    """The background monitor; `none` where no process may stay on a login node."""
    notifications: Notifications = Notifications.of()
    """Where job notifications are sent."""
    workdir: Workdir = "task"
    """Where commands start by default: in the task's own folder, in that of the submit, or in any other."""
    compat: SlurmCompat = SlurmCompat.of()
    """The site's choices between readings of OpenPAI, which jobs can overrule."""

    _is_known: bool = PrivateAttr(default=False)
    _takes_any_name: bool = PrivateAttr(default=False)

    def model_post_init(self, context: Any, /) -> None:
        """Tell partitions their names."""
        super().model_post_init(context)
        for name, each in self.partitions.items():
            each.named(name)

    @property
    def is_known(self) -> bool:
        """Whether there is a profile: false for the built-in defaults."""
        return self._is_known

    def known(self) -> Site:
        """Return the site, which knows from now on that there is a profile."""
        self._is_known = True
        return self

    @property
    def takes_any_name(self) -> bool:
        """Whether every partition and every virtual cluster is the site's first partition, whatever it is called."""
        return self._takes_any_name

    @cached_property
    def compat_options(self) -> CompatOptions:
        """The site's defaults for `extras.slurm.compat` of job files."""
        return self.compat.over(CompatOptions())

    @property
    def exit_rows(self) -> tuple[SiteRow, ...]:
        """The site's rows of the exit specification."""
        return tuple(each.row() for each in self.exit_spec)

    def partition(self, name: str | None) -> Partition | None:
        """Return the partition of that name (the default one for None), None where it is not known."""
        if self.takes_any_name:
            return next(iter(self.partitions.values()))
        wanted = name if name is not None else self.default_partition
        return self.partitions.get(wanted or "")

    def virtual_cluster(self, name: str) -> VirtualCluster | None:
        """Return where the jobs of a virtual cluster go, None where the profile does not say it."""
        return VirtualCluster() if self.takes_any_name else self.virtual_clusters.get(name)


def local_site() -> Site:
    """Return this machine as a site of one node that takes any job: the local backend queues nothing."""
    shape = Shape.of(count=1, cpus=UNLIMITED, memory_mib=UNLIMITED * 1000, gpus=UNLIMITED)
    site = Site.of(
        name="local",
        mpi=(),
        partitions={"local": Partition.of(nodes=(shape,))},
        address=Address("node-address"),
        retry=Retry.of(max_restarts=Retry().max_transient_retries),
    )
    site._takes_any_name = True  # noqa: SLF001 - of this module
    return site.known()
