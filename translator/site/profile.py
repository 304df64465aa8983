"""The site profile: a frozen model of `site.yaml` with all defaults. Memory in MiB."""

# ruff: noqa: RUF012 - models are frozen
import re
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import PrivateAttr

from ..protocol.binding import BindingChoice, SlurmBinding
from ..protocol.extras_slurm import HostList, Plugin, SbatchText, SlurmCompat, Time, Workdir
from ..protocol.preflight_schema import AvoidNodes, SlurmPreflight
from ..protocol.retry_with import RetryWith
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
"""The version of the keys of a profile and their meanings."""
GresStyle = Literal["gres", "gpus-per-task"]
AddressMethod = Literal["getent", "node-address", "suffix"]
Transport = Literal["auto", "fabric", "ssh"]
"""The connection to a login node: a library, a program, or the one that is available."""
PriorityClass = Annotated[Literal["crit", "prod", "test", "oppo"], choice("crit", "prod", "test", "oppo")]
UNLIMITED = 1_000_000
"""CPUs and GPUs of this machine, and its memory in 1000 MiB: the local backend accepts any job."""


class Address(NamedTuple):
    """How to find the address of a node; `suffix` is appended to its name (`-ib0`)."""

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
        raise expected("the beginning of a path such as `hdfs://host:9000`, without a trailing `/`")
    return value


def _version(value: object) -> str:
    found = slurm_version(value) if isinstance(value, str) else None
    if found is None:
        raise expected("a version of Slurm with three numbers, such as `24.11.5`")
    return str(found)


def _format(value: object) -> int:
    if integer(value) != VERSION:
        raise expected(f"the version {VERSION} of site profiles", "install a newer paislurm for a later version")
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
    """The target of an OpenPAI virtual cluster. Source: sbatch(1), options of these names."""

    partition: SbatchText | None = None
    """The partition."""
    account: SbatchText | None = None
    """The account to charge."""
    qos: SbatchText | None = None
    """The QOS."""
    reservation: SbatchText | None = None
    """The reservation."""


class Ports(StrictModel):
    """The ports for tasks, both ends included."""

    first: Port = 15000
    """The first port."""
    last: Port = 32000
    """The last port."""


class Scheduler(StrictModel):
    """Slurm's scheduler, which decides whether heterogeneous jobs are possible.

    Source: slurm.conf(5), SchedulerType, SchedulerParameters.
    """

    type: Annotated[Literal["backfill", "builtin"], choice("backfill", "builtin")] = "backfill"
    """Slurm's SchedulerType without `sched/`. `builtin` starts no heterogeneous job, so roles share an allocation."""
    backfill_interval: Annotated[int, int_range(-1, 10800)] | None = None
    """Seconds between two runs of Slurm's backfill scheduler (slurm.conf, bf_interval); -1 if it is off."""

    expedited_requeue: bool = False
    """Whether Slurm restarts jobs that lose a node before others (SlurmctldParameters, enable_expedited_requeue)."""

    @property
    def why_no_components(self) -> str:
        """Why Slurm starts no heterogeneous jobs, "" if it does."""
        if self.type == "builtin":
            return "its scheduler is sched/builtin, but only sched/backfill starts such jobs"
        return "its backfill scheduler is off, but only that starts such jobs" if self.backfill_interval == -1 else ""


class Times(StrictModel):
    """`default` is in a format of sbatch, others in seconds. Source: sbatch(1), --time; slurm.conf(5), KillWait."""

    default: Time | None = None
    """The time limit of jobs that name none."""
    warning: Seconds = timedelta(seconds=120)
    """Seconds before the time limit at which tasks get TERM."""
    grace: Seconds = timedelta(seconds=20)
    """Seconds from TERM to KILL when a decision stops tasks."""
    kill_wait: Seconds = timedelta(seconds=30)
    """Seconds from TERM to KILL when Slurm ends a job (slurm.conf, KillWait)."""
    debug_hold: Week = timedelta(days=7)
    """The most seconds for which a failed task of a job with `isDebug` is held."""


class SiteStorage(StrictModel):
    """A storage of OpenPAI."""

    path: Annotated[str, pattern("a path such as `/data`, from `/` on and without tabs", r"/[^\t\n]*")]
    """Its path on all nodes."""
    shared: Boolean = True
    """Whether all users share it; otherwise each user has a folder with the user's name."""
    default: Boolean = False
    """Whether it is one of the default storages of every user."""


class Priority(StrictModel):
    """Slurm's settings for a priority class of OpenPAI. Source: sbatch(1), --qos, --nice."""

    qos: SbatchText | None = None
    """The QOS."""
    nice: Annotated[int, int_range(0, 2147483645)] | None = None
    """The decrease of the job's priority (sbatch --nice)."""


class NodeType(StrictModel):
    """The nodes behind a SKU or a pinned cell. Source: sbatch(1), --constraint, --nodelist, --gres."""

    constraint: SbatchText | None = None
    """Features of the nodes (sbatch --constraint)."""
    nodelist: HostList | None = None
    """The nodes by name (sbatch --nodelist)."""
    gpu_type: SbatchText | None = None
    """The gres type to request with the GPUs (sbatch --gres)."""


class Site(StrictModel):
    """A cluster, as its profile describes it. Source: this project's docs, site profile."""

    version: Annotated[int, Validator(_format, {"const": VERSION})] = VERSION
    """The version of the profile's keys; so far only 1."""
    name: Text = ""
    """The name of the site."""
    extends: Text = ""
    """Path of the profile to extend. Default for a user's profile: the system's."""
    locked: tuple[Text, ...] = ()
    """Keys, such as `containers.runtime`, that profiles above this one and jobs cannot change."""
    host: LoginNode = ""
    """For a machine without Slurm: the login node to submit jobs from by SSH, such as `alice@login1:2222`."""
    transport: Annotated[Transport, choice("auto", "fabric", "ssh")] = "auto"
    """The transport to that login node: `fabric`, `ssh`, or `auto` (an open connection of ssh, else fabric)."""
    cluster: Annotated[str, Validator(_cluster, {"type": "string", "pattern": "^[A-Za-z0-9_-]*$"})] = ""
    """Cluster to submit to (`sbatch -M`). Default: this machine's."""
    slurm_version: Annotated[str, Validator(_version, {"type": "string"})] = ""
    """The version of Slurm, such as `24.11.5`. Default: `submit` asks Slurm."""
    scheduler: Scheduler = Scheduler.of()
    """Slurm's scheduler, which decides whether heterogeneous jobs are possible."""
    partitions: dict[str, Partition] = {}
    """The partitions by name."""
    default_partition: SbatchText | None = None
    """The partition of jobs whose virtual cluster has none."""
    virtual_clusters: dict[str, VirtualCluster] = {}
    """The target of each OpenPAI virtual cluster."""
    accounts: dict[str, Account] | None = None
    """The accounts that jobs may name. Default: any."""
    default_account: SbatchText | None = None
    """The account of jobs that name none."""
    qos: dict[str, Qos] | None = None
    """The QOS that jobs may name. Default: any."""
    reservations: tuple[SbatchText, ...] | None = None
    """The reservations that jobs may name. Default: any."""
    require_time_limit: Boolean = False
    """Whether Slurm refuses a job without a time limit."""
    layout: Annotated[Literal["auto", "het", "shared"], choice("auto", "het", "shared")] = "auto"
    """The layout of jobs of several roles that name none: `het`, `shared`, or `auto`, the better one for each job."""
    whole_nodes: Boolean = False
    """Whether jobs get whole nodes in all partitions, so that idle GPUs of a node cost nothing."""
    gres_style: Annotated[GresStyle, choice("gres", "gpus-per-task")] = "gres"
    """Whether to request GPUs with --gres and a layout, or with --gpus-per-task."""
    gpus: Gpus = Gpus.of()
    """The gres name and the vendor of the GPUs."""
    cpu_unit: Annotated[CpuUnit, choice("thread", "core")] = "thread"
    """Whether a CPU of a job file is a hardware thread, as on OpenPAI, or a core."""
    binding: BindingChoice = SlurmBinding.of()
    """What Slurm binds tasks to: `auto` by default, `none`, or options of srun, which jobs can override."""
    preflight: SlurmPreflight = SlurmPreflight.of()
    """What jobs with `extras.slurm.preflight` check on each node before tasks start; their own keys override it."""
    avoid_nodes: AvoidNodes | None = None
    """Which nodes of a user's ledger of bad nodes jobs avoid, unless they set `extras.slurm.avoidNodes`."""
    infiniband: Infiniband | None = None
    """The InfiniBand, for jobs that use it, and to keep other jobs off it."""
    address: NodeAddress = Address()
    """How tasks find the address of a node."""
    ports: Ports = Ports.of()
    """The ports for tasks."""
    time: Times = Times.of()
    """Time limits and grace times."""
    storages: dict[str, SiteStorage] = {}
    """The storages by name."""
    priorities: dict[PriorityClass, Priority] = {}
    """Slurm's settings for each priority class of OpenPAI."""
    node_types: dict[str, NodeType] = {}
    """The nodes behind each SKU or pinned cell of OpenPAI."""
    containers: Containers = Containers.of()
    """The containers of tasks."""
    mpi: tuple[Plugin, ...] | None = None
    """The plugins of `srun --mpi`, the default first."""
    default_file_system: Annotated[str, Validator(_file_system, {"type": "string"})] = ""
    """The value of `$PAI_DEFAULT_FS_URI` in job files, such as `hdfs://host:9000` or a folder."""
    retry: Retry = Retry.of()
    """Bounds of retries."""
    retry_with: RetryWith | None = None
    """What the next attempts of jobs request more of, unless they set `extras.slurm.retryWith`."""
    exit_spec: tuple[ExitRow, ...] = ()
    """Rows that change the meanings of exit codes and Slurm's states."""
    logs: Logs = Logs.of()
    """The output files of a task."""
    jobs: Jobs = Jobs.of()
    """How long finished jobs are kept."""
    monitor: MonitorOrNone = Monitor.of()
    """The background monitor; `none` if login nodes must run no process."""
    notifications: Notifications = Notifications.of()
    """The notifier for changes of jobs."""
    workdir: Workdir = "task"
    """The default working directory of commands: `task`, `submit`, or an absolute path."""
    compat: SlurmCompat = SlurmCompat.of()
    """The site's choices between two readings of OpenPAI, which jobs can override."""

    _is_known: bool = PrivateAttr(default=False)
    _takes_any_name: bool = PrivateAttr(default=False)

    def model_post_init(self, context: Any, /) -> None:
        """Set the names of partitions."""
        super().model_post_init(context)
        for name, each in self.partitions.items():
            each.named(name)

    @property
    def is_known(self) -> bool:
        """Whether the site comes from a profile, not from the built-in defaults."""
        return self._is_known

    def known(self) -> "Site":
        """Mark the site as coming from a profile, and return it."""
        self._is_known = True
        return self

    @property
    def takes_any_name(self) -> bool:
        """Whether any name of a partition or virtual cluster means the site's first partition."""
        return self._takes_any_name

    @cached_property
    def compat_options(self) -> CompatOptions:
        """The site's defaults for `extras.slurm.compat` of job files."""
        return self.compat.over(CompatOptions())

    @property
    def exit_rows(self) -> "tuple[SiteRow, ...]":
        """The site's rows of the exit specification."""
        return tuple(each.row() for each in self.exit_spec)

    def partition(self, name: str | None) -> "Partition | None":
        """Return the partition with a name (the default partition for None), None if it is unknown."""
        if self.takes_any_name:
            return next(iter(self.partitions.values()))
        wanted = name if name is not None else self.default_partition
        return self.partitions.get(wanted or "")

    def virtual_cluster(self, name: str) -> VirtualCluster | None:
        """Return the target of a virtual cluster, None if the profile has none."""
        return VirtualCluster.of() if self.takes_any_name else self.virtual_clusters.get(name)


def local_site() -> "Site":
    """Return this machine as a site of one node that accepts any job: the local backend has no queue."""
    shape = Shape.of(count=1, cpus=UNLIMITED, memory_mib=UNLIMITED * 1000, gpus=UNLIMITED)
    site = Site.of(
        name="local",
        mpi=(),
        partitions={"local": Partition.of(nodes=(shape,))},
        address=Address("node-address"),
        retry=Retry.of(max_restarts=Retry.of().max_transient_retries),
    )
    site._takes_any_name = True  # noqa: SLF001 - same module
    return site.known()
