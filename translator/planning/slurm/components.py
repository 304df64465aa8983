"""sbatch options of components, and srun options of steps. Memory in MiB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...site.slurm_version import slurm_version
from ...slurm_options import PASS_THROUGH
from ...times import slurm_time
from ..infiniband import infiniband_gres, infiniband_of, infiniband_options, joined_constraint
from ..job_plan import Component
from ..layout.capacity import ceil_div
from ..limits import requeues, time_plan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...job import Job, Resources, Role
    from ...site.devices import Infiniband
    from ...site.profile import Site
    from ...slurm_options import OnMismatch
    from ..layout.capacity import Nodes
    from ..layout.layout import Allocation, LayoutKind, Packing
    from .request import Request
    from .target import SlurmTarget

Options = tuple[tuple[str, str | None], ...]
OPENS_GPUS_OF_SIBLINGS = (24, 5, 0)
"""`--gres-flags=allow-task-sharing` exists since this version and lists the right GPUs. Source: Slurm, CHANGELOG."""

FREES_CORES_AFTER_LOSS = (24, 11, 0)
"""Since this version at the latest, Slurm frees the cores of steps that end after the loss of a node."""


def batch_memory_mib(roles: int) -> int:
    """Return the memory of the batch script and its sruns on the first node.

    Source: observed on Slurm 22.05: an srun is two processes of about 5 MB, all charged to component 0.
    """
    return 64 + 8 * roles


def components(request: Request, allocation: Allocation) -> tuple[Component, ...]:
    """Return the components: one for each role, or one for all."""
    job, packing = request.sized, allocation.packing
    first, extra = _first_component(request), batch_memory_mib(len(job.roles))
    if packing is not None:
        options = _shared_component(request, packing, extra)
        note = _memory_note(job.roles[0], options, packing.nodes, extra)
        roles = tuple(range(len(job.roles)))
        return (Component(directives=(*first, *options), roles=roles, nodes=packing.nodes, note=note or None),)
    by_node = all(allocation.nodes) and not any(
        _is_uneven(job, role, nodes, slots, request.site)
        for role, nodes, slots in zip(job.roles, allocation.nodes, allocation.slots, strict=True)
    )
    made: list[Component] = []
    for position, role in enumerate(job.roles):
        added = 0 if made else extra
        options = _role_component(request, allocation, position, by_node=by_node, extra=added)
        nodes = allocation.nodes[position]
        count = nodes.count if nodes else None
        directives = options if made else (*first, *options)
        note = _memory_note(role, options, count, added)
        made.append(Component(directives=directives, roles=(position,), nodes=count, note=note or None))
    return tuple(made)


def _memory_note(role: Role, options: Options, nodes: int | None, extra: int) -> str:
    """Return the comment about the `extra` memory of a component, "" for none; a role divides it among its CPUs."""
    each = {"mem": " of each node" if nodes and nodes > 1 else "", "mem-per-cpu": " of each CPU"}
    asked = next((name for name, _ in options if name in each), None)
    if not asked or not extra:
        return ""
    wanted = role.resources
    added = extra if asked == "mem" else _memory_per_cpu(wanted, extra) - _memory_per_cpu(wanted)
    return f"memory{each[asked]} raised by {added} MiB for the batch script and its sruns"


def _role_component(request: Request, allocation: Allocation, position: int, *, by_node: bool, extra: int) -> Options:
    """Return the options of the component of one role; `extra` memory goes to component 0.

    `by_node` requests memory by node, otherwise by CPU; one job must not mix the two. The job's raw options
    are in every component, because Slurm does not pass most of them on to the next; mail options are in the first only.
    If the last node has fewer tasks than the others, GPUs are requested by task. Then Slurm gives the last node only
    its own GPUs; a fixed number of tasks per node would give whole nodes (observed on 22.05). Without a
    number of nodes, GPUs are requested by task too, and Slurm fills each node by its GPUs. A role with `tasksPerNode`
    needs the number of tasks per node. Slurm 26.05 never starts a job that states it, has a last node with fewer tasks
    and requests GPUs by task, so GPUs are requested by node then (observed).
    Source: sbatch(1), --nodes --ntasks --ntasks-per-node --cpus-per-task --mem --mem-per-cpu --gres --gpus-per-task.
    """
    job, site, target = request.sized, request.site, request.asked[position].target
    role, nodes, slots = job.roles[position], allocation.nodes[position], allocation.slots[position]
    wanted, infiniband = role.resources, infiniband_of(role, site)
    stated = nodes is not None and job.most_per_node(role) is not None and slots % nodes.tasks_per_node > 0
    counted_by_task = nodes is None or site.gres_style == "gpus-per-task" or _is_uneven(job, role, nodes, slots, site)
    by_task = wanted.gpus > 0 and counted_by_task and not stated
    options: list[tuple[str, str | None]] = [*_where(request, target, infiniband, allocation.layout.kind)]
    if nodes is not None:
        options.append(("nodes", str(nodes.count)))
    options.append(("ntasks", str(slots)))
    if nodes is not None and not (by_task and slots % nodes.tasks_per_node):
        options.append(("ntasks-per-node", str(nodes.tasks_per_node)))
    options += _cpus(wanted.cpus, site)
    if wanted.memory_mib and by_node and nodes is not None:
        options.append(("mem", f"{nodes.tasks_per_node * wanted.memory_mib + extra}M"))
    elif wanted.memory_mib:
        options.append(("mem-per-cpu", f"{_memory_per_cpu(wanted, extra)}M"))
    gres = list(infiniband_gres(infiniband))
    if by_task:
        options.append(("gpus-per-task", _typed(target.gpu_type, wanted.gpus)))
    elif wanted.gpus:
        assert nodes is not None
        gres.insert(0, f"{site.gpus.gres}:{_typed(target.gpu_type, wanted.gpus * nodes.tasks_per_node)}")
    if gres:
        options.append(("gres", ",".join(gres)))
    mailed = [option for option in job.slurm_options.job.options if not extra and option.startswith("--mail-")]
    return (
        *options,
        *infiniband_options(infiniband),
        *_raw(o for o in job.slurm_options.job.options if o not in mailed),
        *_raw(role.slurm_options.options),
    )


def _is_uneven(job: Job, role: Role, nodes: Nodes | None, slots: int, site: Site) -> bool:
    """Whether an equal number of GPUs per node would leave some of the last node idle, and need not.

    `tasksPerNode` accepts that. Slurm can count only the gres `gpu` by task. Source: sbatch(1), --gpus-per-task.
    """
    uneven = nodes is not None and slots % nodes.tasks_per_node > 0 and job.most_per_node(role) is None
    return uneven and role.resources.gpus > 0 and site.gpus.gres == "gpu"


def _memory_per_cpu(wanted: Resources, extra: int = 0) -> int:
    """Return the MiB for each CPU of a task, rounded up, with `extra` MiB for the task."""
    return ceil_div(wanted.memory_mib + extra, wanted.cpus)


def _shared_component(request: Request, packing: Packing, extra: int) -> Options:
    """Return the options of the one component of the shared layout: equal nodes, each as large as the fullest."""
    job, site, targets = request.sized, request.site, request.targets
    target = next((each for each in targets if each.gpu_type), targets[0])
    asking = [infiniband for role in job.roles if (infiniband := infiniband_of(role, site))]
    infiniband = asking[0] if asking else None
    options: list[tuple[str, str | None]] = [
        *_where(request, target, infiniband, "shared"),
        ("nodes", str(packing.nodes)),
        *([("no-kill", None)] if job.slurm_options.spare else []),
        ("ntasks", str(packing.nodes)),
        ("ntasks-per-node", "1"),
        *_cpus(packing.cpus, site),
    ]
    if packing.memory_mib:
        options.append(("mem", f"{packing.memory_mib + extra}M"))
    gres = [f"{site.gpus.gres}:{_typed(target.gpu_type, packing.gpus)}"] if packing.gpus else []
    gres += infiniband_gres(infiniband, len(asking))
    if gres:
        options.append(("gres", ",".join(gres)))
    return (*options, *infiniband_options(infiniband), *_raw(job.slurm_options.job.options))


def _cpus(cpus: int, site: Site) -> Options:
    """Return CPUs of a task: hardware threads, or cores whose other threads stay idle.

    Source: sbatch(1), --cpus-per-task --hint.
    """
    count = ("cpus-per-task", str(cpus))
    return (count, ("hint", "nomultithread")) if site.cpu_unit == "core" else (count,)


def _typed(gpu_type: str | None, number: int) -> str:
    return f"{gpu_type}:{number}" if gpu_type else str(number)


def _first_component(request: Request) -> Options:
    """Return the options of the whole job, which belong to its first component."""
    options: list[tuple[str, str | None]] = [("job-name", request.job.name)]
    if request.site.cluster:
        options.append(("clusters", request.site.cluster))
    times = time_plan(request.job, request.site, request.limit)
    if times.limit is not None:
        options.append(("time", slurm_time(times.limit)))
    if times.warning:
        options.append(("signal", f"B:USR1@{int(times.warning.total_seconds())}"))
    return tuple(options)


def _where(
    request: Request, target: SlurmTarget, infiniband: Infiniband | None, layout: LayoutKind
) -> list[tuple[str, str | None]]:
    """Return the target of a component, and whether Slurm may restart the job, never a part of a het job."""
    values: dict[str, str | None] = dict(target.options)
    values["constraint"] = joined_constraint(values.get("constraint"), infiniband)
    nice = None if target.nice is None else str(target.nice)
    pairs = [*((name, values.get(name)) for name in PASS_THROUGH), ("nice", nice)]
    restarts = ("requeue", "expedite") if requeues(request.job, request.site, layout) else ("no-requeue", None)
    return [restarts, *((name, value) for name, value in pairs if value)]


def _raw(options: Iterable[str]) -> Options:
    split = (option.removeprefix("--").partition("=") for option in options)
    return tuple((name, value if equals else None) for name, equals, value in split)


def step_options(
    role: Role,
    site: Site,
    *,
    shared: bool,
    gpu_type: str | None = None,
    tasks_per_node: int = 1,
    even: bool = True,
    ranks: int = 1,
) -> Options:
    """Return the srun options of a role's step: the resources of its tasks.

    In the shared layout the step takes its own CPUs, memory and GPUs (`--exact`); otherwise it has the whole component.
    The ranks of a task share its CPUs. `even` says whether each node holds `tasks_per_node` tasks; then
    the tasks of a node get its GPUs together and divide them. Each sees its own GPUs and can open those of the
    others, which CUDA IPC needs. Before 24.05, tasks cannot open each other's GPUs if Slurm counts them by task.
    Source: srun(1), --exact --gpus-per-task --gres --gres-flags --mem-per-cpu --hint.
    """
    wanted = role.resources
    cpus_of_rank = wanted.cpus // ranks
    options: list[tuple[str, str | None]] = [*_cpus(cpus_of_rank, site)]
    gres = list(infiniband_gres(infiniband_of(role, site)))
    if wanted.gpus and site.gpus.gres == "gpu" and ranks == 1 and not (even and tasks_per_node > 1):
        options.append(("gpus-per-task", _typed(gpu_type, wanted.gpus)))
        found = slurm_version(site.slurm_version)
        if not even and found is not None and found >= OPENS_GPUS_OF_SIBLINGS:
            options.append(("gres-flags", "allow-task-sharing"))
    elif wanted.gpus:
        gres.insert(0, f"{site.gpus.gres}:{_typed(gpu_type, wanted.gpus * tasks_per_node)}")
    if gres or not wanted.gpus:
        options.append(("gres", ",".join(gres) or "none"))
    if shared:
        # CPUs left over by the division among ranks are not part of the step, and add no memory to it.
        memory = ceil_div(wanted.memory_mib, cpus_of_rank * ranks)
        options += [("exact", None), ("mem-per-cpu", f"{memory}M") if memory else ("mem", "0")]
    return tuple(options)


def with_spare_nodes(job: Job, site: Site, options: Options, own: Options) -> Options:
    """Return a role's step options, which differ if the job has spare nodes: its steps outlive the loss of a node.

    Older Slurms do not free the cores and the memory of steps that end after it, so steps must share them.
    Source: observed on 22.05; 24.11 and 26.05 free both.
    """
    if not job.slurm_options.spare:
        return (*options, *own)
    version = slurm_version(site.slurm_version)
    if version is None or version < FREES_CORES_AFTER_LOSS:
        kept = [pair for pair in options if pair[0] not in ("exact", "mem-per-cpu", "mem")]
        options = (*kept, ("overlap", None), ("mem", "0"))
    return (*options, ("no-kill", None), *own)


BINDING_OPTIONS = ("cpu-bind", "mem-bind", "gpu-bind", "ntasks-per-socket")
"""The srun options that `binding` sets."""


def mismatch_action(job: Job, role: Role, site: Site) -> OnMismatch:
    """Return what a task does that did not get what its binding plans."""
    chosen = (role.slurm_options.on_mismatch, job.slurm_options.job.on_mismatch, site.binding.on_mismatch)
    return next(each for each in chosen if each is not None)


def own_step_options(job: Job, role: Role, site: Site) -> Options:
    """Return the srun options of a role's binding, and the job file's, the job's first.

    srun uses the last of two equal options, so a raw option overrides `binding`. Roles without GPUs bind none.
    """
    chosen = (role.slurm_options.binding, job.slurm_options.job.binding, site.binding.step_options)
    binding = next(each for each in chosen if each is not None)
    bound = tuple(pair for pair in binding if role.resources.gpus or pair[0] != "gpu-bind")
    return bound + _raw((*job.slurm_options.job.srun, *role.slurm_options.srun))
