"""What is asked of Slurm: sbatch options of components, srun options of steps. Memory in MiB."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..job import Job, Role
    from ..site.profile import Site
    from .capacity import Nodes
    from .packing import Packing
    from .placement import Place

Options = tuple[tuple[str, str | None], ...]

WARNED_FROM = timedelta(minutes=5)
"""Jobs of this time limit or less get no warning signal: it comes up to a minute early. Source: sbatch(1), --signal."""


def batch_memory_mib(roles: int) -> int:
    """Return the memory that the batch script and its sruns need beside the tasks of the first node.

    Source: observed on Slurm 22.05: an srun is two processes of about 5 MB, all charged to component 0.
    """
    return 64 + 8 * roles


def role_component(
    job: Job,
    role: Role,
    site: Site,
    place: Place,
    nodes: Nodes | None,
    slots: int,
    *,
    by_node: bool,
    extra: int,
) -> Options:
    """Return the options of the component of one role; `extra` memory goes to component 0.

    `by_node`: memory is asked for each node, else for each CPU; one job must not mix the two. The job's raw options
    stand in every component, because Slurm forgets most of them from one to the next; mail comes once.
    Source: sbatch(1), --nodes --ntasks --ntasks-per-node --cpus-per-task --mem --mem-per-cpu --gres.
    """
    wanted = role.resources
    options: list[tuple[str, str | None]] = [*_where(place)]
    if nodes is not None:
        options.append(("nodes", str(nodes.count)))
    options.append(("ntasks", str(slots)))
    if nodes is not None:
        options.append(("ntasks-per-node", str(nodes.tasks_per_node)))
    options.append(("cpus-per-task", str(wanted.cpus)))
    if wanted.memory_mib and by_node and nodes is not None:
        options.append(("mem", f"{nodes.tasks_per_node * wanted.memory_mib + extra}M"))
    elif wanted.memory_mib:
        options.append(("mem-per-cpu", f"{-(-(wanted.memory_mib + extra) // wanted.cpus)}M"))
    if wanted.gpus and site.gres_style == "gpus-per-task":
        options.append(("gpus-per-task", str(wanted.gpus)))
    elif wanted.gpus:
        options.append(("gres", f"gpu:{wanted.gpus * (nodes.tasks_per_node if nodes else 1)}"))
    mailed = [option for option in job.wishes.job.options if not extra and option.startswith("--mail-")]
    return (*options, *_raw(o for o in job.wishes.job.options if o not in mailed), *_raw(role.wishes.options))


def shared_component(job: Job, place: Place, packing: Packing, *, extra: int) -> Options:
    """Return the options of the one component of the shared layout: equal nodes, each as the fullest needs."""
    options: list[tuple[str, str | None]] = [
        *_where(place),
        ("nodes", str(packing.nodes)),
        ("ntasks", str(packing.nodes)),
        ("ntasks-per-node", "1"),
        ("cpus-per-task", str(packing.cpus)),
    ]
    if packing.memory_mib:
        options.append(("mem", f"{packing.memory_mib + extra}M"))
    if packing.gpus:
        options.append(("gres", f"gpu:{packing.gpus}"))
    return (*options, *_raw(job.wishes.job.options))


def first_component(job: Job, time_limit: timedelta | None, warning: timedelta) -> Options:
    """Return the options that hold for the whole job and stand in its first component."""
    options: list[tuple[str, str | None]] = [("job-name", job.name)]
    if time_limit is not None:
        options.append(("time", slurm_time(time_limit)))
    if warning:
        options.append(("signal", f"B:USR1@{int(warning.total_seconds())}"))
    return tuple(options)


def _where(place: Place) -> list[tuple[str, str | None]]:
    """Return where a component goes. `--no-requeue` stands in every one: a part of a het job must not come back."""
    pairs = (
        ("partition", place.partition),
        ("account", place.account),
        ("qos", place.qos),
        ("reservation", place.reservation),
        ("constraint", place.constraint),
        ("nodelist", place.nodelist),
        ("exclude", place.exclude),
        ("nice", None if place.nice is None else str(place.nice)),
    )
    return [("no-requeue", None), *((name, value) for name, value in pairs if value)]


def _raw(options: Iterable[str]) -> Options:
    split = (option.removeprefix("--").partition("=") for option in options)
    return tuple((name, value if equals else None) for name, equals, value in split)


def step_options(role: Role, *, shared: bool, ranks: int = 1, per_node: int = 1) -> Options:
    """Return the srun options of a role's step: what its tasks take of the allocation.

    In the shared layout the step takes its own CPUs, memory and GPUs (`--exact`); else its component is all its own.
    Where a task is several ranks, they have its CPUs between them, and on a node with `per_node` tasks Slurm gives all
    GPUs to all: the script leaves each task its own. Source: srun(1), --exact --gpus-per-task --gres --mem-per-cpu.
    """
    wanted = role.resources
    cpus = wanted.cpus // ranks
    options: list[tuple[str, str | None]] = [("cpus-per-task", str(cpus))]
    if wanted.gpus and ranks > 1:
        options.append(("gres", f"gpu:{wanted.gpus * per_node}"))
    else:
        options.append(("gpus-per-task", str(wanted.gpus)) if wanted.gpus else ("gres", "none"))
    if shared:
        memory = ("mem-per-cpu", f"{-(-wanted.memory_mib // (cpus * ranks))}M") if wanted.memory_mib else ("mem", "0")
        options += [("exact", None), memory]
    return tuple(options)


def slurm_time(limit: timedelta) -> str:
    """Return a time limit as sbatch reads it, rounded up to whole minutes: `1-02:30:00`. Source: sbatch(1), --time."""
    minutes = -(-int(limit.total_seconds()) // 60)
    days, rest = divmod(minutes, 24 * 60)
    clock = f"{rest // 60:02d}:{rest % 60:02d}:00"
    return f"{days}-{clock}" if days else clock
