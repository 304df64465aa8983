"""The parts of a site profile about partitions, their nodes, and limits of accounts and QOS. Memory in MiB."""

from typing import Annotated

from pydantic import Field, PrivateAttr

from ..protocol.extras_slurm import SbatchText, Time, sbatch_value
from ..validation.strict_model import Boolean, StrictModel, Validator, int_range, pattern

WORD = r"[A-Za-z][A-Za-z0-9_.-]*"
GRES_PATTERN = rf"{WORD}(?::{WORD})?:[1-9]\d{{0,5}}"
Gres = Annotated[str, pattern("a generic resource of a node, such as `hca:1`", GRES_PATTERN)]
"""A generic resource of a node with its number. Source: sbatch(1), --gres."""
_GPU_TYPE = {"type": ["string", "null"], "pattern": r"^[^\s\"'`\\#]+$"}
GpuType = Annotated[str, Validator(lambda value: "" if value is None else sbatch_value(value), _GPU_TYPE)]
TypedGpus = Annotated[
    str, pattern("a type of GPU with its number, such as `a100:2`", r"[^\s\"'`\\\\#:,]+:[1-9]\d{0,5}")
]
Count = Annotated[int, int_range(0)]
Positive = Annotated[int, int_range(1)]


class Shape(StrictModel):
    """Equal nodes of a partition; memory is the amount for jobs. Source: slurm.conf(5), NodeName."""

    count: Positive
    """The number of these nodes."""
    cpus: Positive
    """CPUs of one node, as Slurm counts them: hardware threads, or cores."""
    memory_mib: Annotated[Positive, Field(alias="memoryMB")]
    """Memory of one node in MiB."""
    gpus: Count = 0
    """GPUs of one node."""
    gpu_type: GpuType = ""
    """The gres type of its GPUs."""
    gpu_types: tuple[TypedGpus, ...] = ()
    """GPUs of one node that has several types, MIG slices for instance, each `a100:2`, instead of `gpus`."""
    threads_per_core: Annotated[int, int_range(1, 8)] = 1
    """Hardware threads per core, if Slurm counts them as CPUs."""
    features: tuple[SbatchText, ...] | None = None
    """The features of these nodes; a job that requests others is refused."""
    gres: tuple[Gres, ...] | None = None
    """Generic resources of one node other than GPUs, each `hca:2`."""

    @property
    def gpus_by_type(self) -> dict[str, int]:
        """The number of GPUs of one node by their type, "" for GPUs without a type."""
        if not self.gpu_types:
            return {self.gpu_type: self.gpus} if self.gpus else {}
        return {name: int(number) for name, _, number in (text.rpartition(":") for text in self.gpu_types)}

    def of_gpu_type(self, gpu_type: str) -> "Shape":
        """Return the nodes as requests for one type of GPU find them; "" is any type."""
        if not self.gpu_types:
            return self
        found = self.gpus_by_type
        gpus = found.get(gpu_type, 0) if gpu_type else sum(found.values())
        return self.model_copy(update={"gpus": gpus, "gpu_type": gpu_type, "gpu_types": ()})


class Partition(StrictModel):
    """A partition. Source: slurm.conf(5), PartitionName."""

    nodes: tuple[Shape, ...] = ()
    """The nodes of the partition, in groups of equal ones."""
    time_limit: Time | None = None
    """The partition's time limit."""
    max_nodes: Positive | None = None
    """The most nodes of a job in the partition."""
    allow_accounts: tuple[SbatchText, ...] | None = None
    """The accounts that the partition accepts. Default: all."""
    allow_qos: tuple[SbatchText, ...] | None = None
    """The QOS that the partition accepts. Default: all."""
    requires_reservation: Boolean = False
    """Whether the partition accepts only jobs with a reservation (ReqResv of Slurm)."""

    whole_nodes: Boolean = False
    """Whether its jobs get whole nodes (OverSubscribe=EXCLUSIVE of Slurm)."""

    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """Its key in the profile."""
        return self._name

    def named(self, name: str) -> "Partition":
        """Set the partition's name, and return the partition."""
        self._name = name
        return self

    @property
    def node_count(self) -> int:
        """The number of nodes of all shapes, 0 if unknown."""
        return sum(shape.count for shape in self.nodes)

    @property
    def threads_per_core(self) -> int:
        """The most hardware threads per core."""
        return max((shape.threads_per_core for shape in self.nodes), default=1)


class Amounts(StrictModel):
    """Amounts of resources. Source: sacctmgr(1), MaxTRESPerJob, MaxTRESPerUser and GrpTRES."""

    nodes: Count | None = None
    """Nodes."""
    cpus: Count | None = None
    """CPUs."""
    memory_mib: Annotated[Count | None, Field(alias="memoryMB")] = None
    """Memory in MiB."""
    gpus: Count | None = None
    """GPUs."""


class Limits(StrictModel):
    """Limits for the jobs of an account or a QOS.

    Slurm counts each component of a heterogeneous job as a job; since 25.05 not in the queue.
    Source: sacctmgr(1), limits of associations and of QOS.
    """

    max_jobs: Count | None = None
    """How many jobs may run at a time; each component of a heterogeneous job counts."""
    max_submit_jobs: Count | None = None
    """How many jobs may be in the queue; up to Slurm 24.11 each component of a heterogeneous job counts."""
    max_time: Time | None = None
    """The longest time limit of a job."""
    per_job: Amounts = Amounts.of()
    """The limits of one job."""
    total: Amounts = Amounts.of()
    """The limits of all jobs together."""


class Qos(Limits):
    """A QOS. Source: sacctmgr(1), specifications for QOS."""

    per_user: Amounts = Amounts.of()
    """The limits of all jobs of a user together."""
    over_partition_time: Boolean = False
    """Whether its jobs may exceed the time limit of their partition (sacctmgr, PartitionTimeLimit)."""
    over_partition_nodes: Boolean = False
    """Whether its jobs may exceed the most nodes of their partition (sacctmgr, PartitionMaxNodes)."""


class Account(Limits):
    """An account of the profile's users. Source: sacctmgr(1), specifications for associations."""

    qos: tuple[SbatchText, ...] | None = None
    """The QOS that its jobs may name. Default: any."""
    default_qos: SbatchText | None = None
    """The QOS of jobs that name none."""
