"""Records of a placement: the tasks on each node, and the NUMA domains of their CPUs and GPUs."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..layout.layout import LayoutKind

Far = Literal["gpu", "adapter"]


class PlacedDomain(Struct, frozen=True, kw_only=True, rename={"cpus": "cpu_list", "gpus": "gpu_numbers"}):
    """A NUMA domain of a node, from the site profile."""

    number: int
    """The position of the domain in the site profile, from 0."""
    cpus: str
    """Its CPUs by Linux's numbers."""
    gpus: tuple[int, ...]
    """The numbers of its GPUs."""
    adapters: tuple[str, ...]
    """Its adapters."""


class PlacedTask(Struct, frozen=True, kw_only=True):
    """A task on a node."""

    role: str
    """The name of the role."""
    index: int
    """The index of the task; without gang allocation that of a slot, in which tasks take turns."""
    cpus: int
    """The number of its CPUs."""
    gpus: int
    """The number of its GPUs."""
    rank_domains: tuple[tuple[int, ...], ...] | None = None
    """The NUMA domains of the CPUs of each rank, a single one without `mpi`; null if Slurm chooses them."""
    gpu_numbers: tuple[int, ...] | None = None
    """The numbers of its GPUs; null if they are chosen on the node."""
    far: tuple[Far, ...] = ()
    """What is in other NUMA domains: `gpu` than the CPUs of a rank, or `adapter` than the GPUs, or else the CPUs."""

    @property
    def name(self) -> str:
        """The name of the task, `worker-0`."""
        return f"{self.role}-{self.index}"

    @property
    def cpu_domains(self) -> tuple[int, ...]:
        """The domains of the CPUs of all ranks, () if they are unknown."""
        return tuple(sorted({domain for domains in self.rank_domains or () for domain in domains}))


class PlacedNode(Struct, frozen=True, kw_only=True):
    """A node of the job with its tasks."""

    number: int
    """The number of the node in the job, from 1; it has no name before the job starts."""
    component: int
    """The number of its component, from 0."""
    cpus: int | None
    """The CPUs of the node that Slurm counts; null if the site profile does not tell which node it is."""
    gpus: int | None
    """The GPUs of the node; null like `cpus`."""
    domains: tuple[PlacedDomain, ...]
    """Its NUMA domains; empty if they are unknown."""
    tasks: tuple[PlacedTask, ...]
    """The tasks, role by role."""
    notes: tuple[str, ...] = ()
    """What is chosen when the tasks start, by role, and why."""

    @property
    def unused(self) -> tuple[int, int]:
        """The CPUs and GPUs of the node that the job does not use, as far as they are known."""
        cpus, gpus = (sum(task.cpus for task in self.tasks), sum(task.gpus for task in self.tasks))
        return (max((self.cpus or 0) - cpus, 0), max((self.gpus or 0) - gpus, 0))


class JobPlacement(Struct, frozen=True, kw_only=True, rename={"layout": "layout_kind", "nodes": "placed_nodes"}):
    """The placement of a job before its start."""

    job: str
    """The job's name."""
    layout: LayoutKind
    """`plain`, `het` or `shared`."""
    whole_nodes: bool
    """Whether the job gets whole nodes, so that their other CPUs and GPUs stay idle."""
    nodes: tuple[PlacedNode, ...]
    """The nodes in order."""
    notes: tuple[str, ...]
    """What Slurm chooses: the nodes of some roles, or which nodes have fewer tasks."""
