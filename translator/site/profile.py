"""The site profile as the planner sees it: frozen, every default filled in. Memory in MiB."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from ..lazy import dataclass
from ..slurm_options import CompatOptions
from .container_runtimes import CONTAINER_RUNTIMES, NO_CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..exit_codes.table import SiteRow
    from .container_runtimes import ContainerRuntime
    from .limits import Account, Limits

GresStyle = Literal["gres", "gpus-per-task"]
AddressMethod = Literal["getent", "node-address", "suffix"]
GpuVendor = Literal["nvidia", "amd"]
CpuUnit = Literal["thread", "core"]
Transport = Literal["auto", "fabric", "ssh"]
"""How a login node is reached: by a library, by a program, or by whichever is there."""
SchedulerKind = Literal["backfill", "builtin"]
Overrides = tuple[tuple[str, str | None], ...]
"""Variables of a site, by name; None takes one away."""
WORD = r"[A-Za-z][A-Za-z0-9_.-]*"
GRES = rf"{WORD}(?::{WORD})?:[1-9]\d{{0,5}}"
"""A generic resource of a node with its number, `hca:1`. Source: sbatch(1), --gres."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Describe `count` equal nodes of a partition; `gpus` is those of one node, `gpu_type` its gres type.

    `cpus` is what Slurm counts as CPUs: hardware threads, of which each core has `threads_per_core`, or cores.
    `features` and the other generic resources, `gres`, each `hca:2`, are None where they are not known.
    """

    count: int
    cpus: int
    memory_mib: int
    gpus: int = 0
    gpu_type: str = ""
    threads_per_core: int = 1
    features: tuple[str, ...] | None = None
    gres: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Describe a partition. `shapes` is empty where the nodes are not known.

    A job may have `max_nodes`, None for all. `allow_accounts` and `allow_qos` are those whose jobs it takes, None for
    all.
    """

    name: str
    shapes: tuple[Shape, ...] = ()
    time_limit: timedelta | None = None
    max_nodes: int | None = None
    allow_accounts: tuple[str, ...] | None = None
    allow_qos: tuple[str, ...] | None = None

    @property
    def node_count(self) -> int:
        """Return the number of nodes of all shapes, 0 where they are not known."""
        return sum(shape.count for shape in self.shapes)

    @property
    def threads_per_core(self) -> int:
        """Return the most hardware threads that a core has."""
        return max((shape.threads_per_core for shape in self.shapes), default=1)


@dataclass(frozen=True, kw_only=True)
class VirtualCluster:
    """Say where the jobs of an OpenPAI virtual cluster go."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    reservation: str | None = None


@dataclass(frozen=True, kw_only=True)
class SiteStorage:
    """Say where a storage is on all nodes; of one that is not shared, each user has the folder of their name."""

    path: str
    shared: bool = True
    default: bool = False


@dataclass(frozen=True, kw_only=True)
class Priority:
    """Say what a priority class of OpenPAI is to Slurm; `nice` lowers the priority by so much."""

    qos: str | None = None
    nice: int | None = None


@dataclass(frozen=True, kw_only=True)
class NodeType:
    """Say which nodes a SKU or a pinned cell of OpenPAI's scheduler means; `gpu_type` is a gres type."""

    constraint: str | None = None
    nodelist: str | None = None
    gpu_type: str | None = None


@dataclass(frozen=True, kw_only=True)
class Gpus:
    """Say what Slurm calls the site's GPUs, and whose they are: that decides by which variables tasks see them."""

    gres: str = "gpu"
    vendor: GpuVendor = "nvidia"


@dataclass(frozen=True, kw_only=True)
class InfinibandSettings:
    """Describe the site's InfiniBand.

    `adapters` are the ones that jobs may use, each with a port (`mlx5_0:1`) or without. `interface` is the network
    interface on them, `ethernet` that of jobs which keep off; "" where not known. `constraint`, `gres`, `network` and
    `switches` are asked of Slurm for roles on the fabric. `memlock_mib` is the memory that a task must be able to
    lock, None for all. `sysfs` is where nodes have their folders `infiniband` and `net`.
    """

    adapters: tuple[str, ...]
    interface: str = ""
    ethernet: str = ""
    constraint: str | None = None
    gres: str | None = None
    network: str | None = None
    switches: str | None = None
    memlock_mib: int | None = None
    sysfs: str = "/sys/class"
    variables_enabled: Overrides = ()
    variables_disabled: Overrides = ()


@dataclass(frozen=True, kw_only=True)
class ContainerSettings:
    """Name the container runtime (or `none`), the paths of images by their references, and the folders that tasks see.

    Images of registries are kept below `cache` ("": nowhere), once for all nodes if it is shared; `certificates` is a
    file of what is trusted of registries, "" for what the nodes trust. `installed` are the runtimes that nodes have,
    None where they are not known.
    """

    runtime: str = NO_CONTAINERS
    images: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[str, ...] = ()
    cache: str = ""
    cache_shared: bool = True
    certificates: str = ""
    installed: tuple[str, ...] | None = None

    @property
    def row(self) -> ContainerRuntime | None:
        """Return the row of the runtime, None where tasks run on the node itself."""
        return CONTAINER_RUNTIMES.get(self.runtime)

    @property
    def fetches(self) -> bool:
        """Tell whether images come from registries too."""
        return bool(self.cache) or (self.row is not None and self.row.own_store)


@dataclass(frozen=True, kw_only=True)
class PortRange:
    """Give the ports that tasks are served from: `first` to `last`, both included."""

    first: int = 15000
    last: int = 32000


@dataclass(frozen=True, kw_only=True)
class RetrySettings:
    """Bound retries. `max_transient_retries` is for the transient retries of one task, and of one job.

    `max_restarts` bounds the restarts of jobs and tasks with a retry count of -2; without one such a job is refused.
    `on_root_cancel` says whether a job that root cancelled is stopped, as one that its user did, or retried.
    `submit_wait` is how long `submit` waits for room where an account may have no more jobs in the queue, in seconds.
    `max_attempts_per_hour` is how many attempts are submitted in an hour for all jobs of a user.
    """

    max_transient_retries: int = 10
    max_attempts_per_hour: int = 60
    max_restarts: int | None = None
    submit_wait: int = 600
    on_root_cancel: Literal["stop", "retry"] = "stop"

    @property
    def most_restarts(self) -> int:
        """Return how often anything is restarted that has no limit of its own."""
        return self.max_transient_retries if self.max_restarts is None else self.max_restarts


@dataclass(frozen=True, kw_only=True)
class MonitorSettings:
    """Say whether `submit` leaves a monitor behind, and the time between two of its questions to Slurm, in seconds.

    With `at_end` no process may stay on a login node: an attempt takes a step of the monitor at its own end.
    """

    background: bool = True
    max_poll_interval: int = 180
    at_end: bool = False

    @property
    def way(self) -> Literal["background", "commands", "none"]:
        """Say who looks after jobs: a monitor, commands that show them, or the ends of their attempts."""
        if self.at_end:
            return "none"
        return "background" if self.background else "commands"


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """Describe Slurm's scheduler. `backfill_interval` is in seconds, -1 if backfill is off, None if it is not known.

    Source: slurm.conf(5), SchedulerType, bf_interval.
    """

    kind: SchedulerKind = "backfill"
    backfill_interval: int | None = None

    @property
    def why_no_components(self) -> str:
        """Why Slurm starts no job with a component for each role, "" if it does."""
        if self.kind == "builtin":
            return "its scheduler is sched/builtin, and only sched/backfill starts such jobs"
        return "its backfill scheduler, which alone starts such jobs, is off" if self.backfill_interval == -1 else ""


@dataclass(frozen=True, kw_only=True)
class Notifier:
    """Name the program that gets an event on its standard input: as JSON, or as a mail to the user."""

    argv: tuple[str, ...]
    mail: bool


@dataclass(frozen=True, kw_only=True)
class Site:
    """Describe a cluster. `known` is false for the built-in defaults, when no profile was found.

    `cpu_unit` is what a CPU of a job file is; `infiniband` is None where the site has no InfiniBand, or says nothing of
    it. `node_suffix` is what the address method `suffix` appends to a node's name (`-ib0`).
    `default_time` is used for a job that names no time limit; None leaves it to the partition.
    `debug_hold` is how long a failed task of a job with `isDebug` is held, at most.
    `warning` is how long before the time limit tasks get TERM; `grace` is the time between TERM and KILL.
    `exit_rows` change the exit specification; `notifier` is None where nobody is told of changes.
    """

    known: bool = False
    takes_any_name: bool = False
    """Whether every partition and every virtual cluster is the site's first partition, whatever it is called."""
    name: str = ""
    locked: tuple[str, ...] = ()
    """The keys that neither profiles above it nor jobs change, `compat.gpuType`."""
    host: str = ""
    """The login node at which jobs are submitted by SSH; "" where they are on the machine that is used."""
    transport: Transport = "auto"
    cluster: str = ""
    """The cluster to which sbatch hands jobs (`--clusters`), "" for that of the machine."""
    slurm_version: str = ""
    """The version of the site's Slurm, such as `24.11.5`; "" where it is not known."""
    scheduler: Scheduler = field(default_factory=Scheduler)
    partitions: tuple[Partition, ...] = ()
    default_partition: str | None = None
    virtual_clusters: Mapping[str, VirtualCluster] = field(default_factory=dict)
    accounts: Mapping[str, Account] | None = None
    """The accounts of the profile's users, None where they are not known."""
    default_account: str | None = None
    qos: Mapping[str, Limits] | None = None
    """The qualities of service of the profile's users, None where they are not known."""
    reservations: tuple[str, ...] | None = None
    require_time_limit: bool = False
    """Whether Slurm takes no job that does not say how long it may run."""
    gres_style: GresStyle = "gres"
    gpus: Gpus = field(default_factory=Gpus)
    cpu_unit: CpuUnit = "thread"
    infiniband: InfinibandSettings | None = None
    address: AddressMethod = "getent"
    node_suffix: str = ""
    ports: PortRange = field(default_factory=PortRange)
    default_time: timedelta | None = None
    warning: timedelta = timedelta(seconds=120)
    grace: timedelta = timedelta(seconds=20)
    kill_wait: timedelta = timedelta(seconds=30)
    debug_hold: timedelta = timedelta(days=7)
    storages: Mapping[str, SiteStorage] = field(default_factory=dict)
    priorities: Mapping[str, Priority] = field(default_factory=dict)
    node_types: Mapping[str, NodeType] = field(default_factory=dict)
    containers: ContainerSettings = field(default_factory=ContainerSettings)
    mpi: tuple[str, ...] | None = None
    """The plugins of `srun --mpi`, the one to be taken where a job names none first; None where they are not known."""
    default_file_system: str = ""
    """What `$PAI_DEFAULT_FS_URI` stands for, `hdfs://host:port` or the path of a folder."""
    retry: RetrySettings = field(default_factory=RetrySettings)
    exit_rows: tuple[SiteRow, ...] = ()
    monitor: MonitorSettings = field(default_factory=MonitorSettings)
    notifier: Notifier | None = None
    one_log: bool = False
    """Whether both streams of a task go to one file."""
    workdir: str = "task"
    """Where the commands of jobs start that do not say it: `task`, `submit`, or a path."""
    remove_after: int | None = None
    """Seconds after its end until a job's folder is removed; None where it is not."""
    compat: CompatOptions = field(default_factory=CompatOptions)
    """The site's defaults for the switches under `extras.slurm.compat` of job files."""

    def partition(self, name: str | None) -> Partition | None:
        """Return the partition of that name (the default one for None), or None where it is not known."""
        if self.takes_any_name:
            return self.partitions[0]
        wanted = name if name is not None else self.default_partition
        return next((partition for partition in self.partitions if partition.name == wanted), None)

    def virtual_cluster(self, name: str) -> VirtualCluster | None:
        """Return where the jobs of a virtual cluster go, or None where the profile does not say it."""
        return VirtualCluster() if self.takes_any_name else self.virtual_clusters.get(name)
