"""The CPUs and GPUs of the tasks of a role on one node: Slurm's choice of CPUs, then the runtime's choice of GPUs.

Source: srun(1), --cpu-bind --distribution; slurm.conf(5), CR_CORE_DEFAULT_DIST_BLOCK; nearest_gpus.sh. Observed on
22.05 with a synthetic topology of 2 sockets: tasks of a host file that use all CPUs of a node get consecutive CPUs of
one socket, and the sockets take turns, with one and two threads per core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...job import Resources
    from ...site.partitions import Shape
    from ..plan import RolePlan

_OF_PLANNER = ("cpus-per-task", "gres", "gres-flags", "gpus-per-task", "exact", "mem", "mem-per-cpu", "mem-bind")
_BOUND = (None, "cores", "threads")
"""Values of --cpu-bind with which tasks get the CPUs of the default."""

_UNBOUND = "no task is bound to CPUs"


class Seat(NamedTuple):
    """The CPUs of a rank: their domains, and the first of them in Slurm's order; None if it is unknown."""

    domains: tuple[int, ...]
    first: int | None


class Chosen(NamedTuple):
    """The seats of ranks and the GPUs of tasks, in order; None, and a reason, if they are chosen later."""

    seats: list[Seat] | None
    gpus: list[tuple[int, ...]] | None
    reasons: tuple[str, ...]


NOTHING = Chosen(None, None, ())


def chosen(shape: Shape, role: RolePlan, tasks: int, wanted: Resources) -> Chosen:
    """Return the CPUs and GPUs of the tasks of a role on a node; `wanted` are those of one task."""
    found, why_cpus = _seats(shape, role, tasks, wanted)
    gpus, why_gpus = _gpus(shape, role, tasks, wanted.gpus, found)
    return Chosen(found, gpus, tuple(filter(None, (why_cpus, why_gpus))))


def _seats(shape: Shape, role: RolePlan, tasks: int, wanted: Resources) -> tuple[list[Seat] | None, str]:
    ranks = max(role.ranks, 1)
    cpus, rest = divmod(wanted.cpus, ranks)
    options = dict(role.step_options)
    own = next((name for name in options if name not in (*_OF_PLANNER, "cpu-bind", "gpu-bind", "hint")), None)
    sockets = shape.sockets or 1
    in_socket, uneven = divmod(shape.cpus, sockets)
    why = ""
    if options.get("cpu-bind") == "none":
        why = _UNBOUND
    elif options.get("cpu-bind") not in _BOUND:
        why = f"--cpu-bind={options['cpu-bind']}"
    elif own is not None:
        why = f"--{own}"
    elif role.mpi_world and len(role.mpi_world.roles) > 1:
        why = "its MPI world has several roles"
    elif tasks * ranks * cpus != shape.cpus or rest:
        why = "its tasks do not use all CPUs of the node"
    elif tasks * ranks == 1:
        return [Seat(tuple(range(len(shape.domains))), 0)], ""
    elif shape.sockets is None:
        why = "the site profile has no `sockets` for these nodes"
    elif uneven or in_socket % cpus or len(shape.domains) % sockets or cpus % shape.threads_per_core:
        why = "the CPUs of a task are not within one socket"
    elif sum(_sizes(shape)) != shape.cpus:
        why = "the domains have CPUs that Slurm does not count"
    if why:
        # With a single domain there is nothing to choose.
        return (
            ([Seat((0,), None)] * (tasks * ranks), "")
            if len(shape.domains) == 1
            else (None, why if why == _UNBOUND else f"Slurm chooses the CPUs ({why})")
        )
    firsts = [k % sockets * in_socket + k // sockets * cpus for k in range(tasks * ranks)]
    return [Seat(_domains_of(shape, first, cpus), first) for first in firsts], ""


def _sizes(shape: Shape) -> list[int]:
    """Return how many of Slurm's CPUs each domain has: those of Linux, or cores. An uneven rest counts as one more."""
    counts = [len(each.cpu_numbers) for each in shape.domains]
    of_linux = max(sum(counts) // shape.cpus, 1)
    return [-(-count // of_linux) for count in counts]


def _domains_of(shape: Shape, first: int, cpus: int) -> tuple[int, ...]:
    """Return the domains of consecutive CPUs in Slurm's order, which is that of the domains."""
    found: list[int] = []
    start = 0
    for number, size in enumerate(_sizes(shape)):
        if first < start + size and start < first + cpus:
            found.append(number)
        start += size
    return tuple(found)


def _gpus(
    shape: Shape, role: RolePlan, tasks: int, want: int, seats: Sequence[Seat] | None
) -> tuple[list[tuple[int, ...]] | None, str]:
    """Return the GPUs of each task; the tasks in the order of their CPUs take them in the order of their domains."""
    if not want:
        return [()] * tasks, ""
    options = dict(role.step_options)
    by_slurm = next((name for name in ("gpu-bind", "gpus-per-task") if name in options), None)
    every = tuple(range(shape.gpus))
    if tasks * want != shape.gpus:
        return None, "Slurm chooses the GPUs (its tasks do not use all GPUs of the node)"
    if tasks == 1:
        return [every], ""
    if by_slurm:
        return None, f"Slurm divides the GPUs (--{by_slurm})"
    by_domain = [gpu for each in shape.domains for gpu in each.gpu_numbers]
    if options.get("cpu-bind") == "none":
        order, by_domain = list(range(tasks)), list(every)
    elif seats is None or any(seat.first is None for seat in seats) or len(by_domain) != shape.gpus:
        return None, "each task takes the GPUs nearest to its CPUs"
    else:
        ranks = max(role.ranks, 1)
        order = sorted(range(tasks), key=lambda task: (seats[task * ranks].domains[0], seats[task * ranks].first))
    places = {task: place for place, task in enumerate(order)}
    return [tuple(by_domain[places[task] * want : (places[task] + 1) * want]) for task in range(tasks)], ""
