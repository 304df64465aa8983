"""The plan as text for users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..job import RESTART_ALWAYS
from ..plural import counted
from ..terminal_text import columns_text, pairs_text
from ..times import elapsed_text
from .preflight import preflight_text
from .slurm.components import BINDING_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..job import PortRequest
    from .job_plan import HookScript, MpiWorld, Plan, RetryPlan, RolePlan
    from .layout.layout import OtherLayout

_COLUMNS = ("ROLE", "TASKS", "AT ONCE", "PER NODE", "CPUS", "MEMORY", "GPUS", "PORTS", "COMPLETION", "IMAGE")

_AFTER = {"failure": " that fails", "end": ""}
_CODE, _OUTPUT = "PAI_CODE_DIR", "PAI_OUTPUT_DIR"
_PATHS = {"PAI_DATA_DIR": "data", _OUTPUT: "output", _CODE: "code"}
_USER = "$PAI_USER_NAME"


def plan_text(plan: Plan, avoided: Sequence[str] = ()) -> str:
    """Return the plan as text: the job, its roles, and the request to Slurm for each component.

    `avoided` are the bad nodes that a submit would avoid now.
    """
    turns = "all at once" if plan.gang else "as slots become free"
    head = [
        ("job", f"{plan.job_name} ({plan.source}, PAI protocol v{plan.protocol})"),
        ("layout", f"{plan.layout.kind}: {plan.layout.reason}"),
        *([("instead", _other(plan.layout.other))] if plan.layout.other else []),
        ("tasks", f"{plan.task_count} in {counted(len(plan.roles), 'role')}, {turns}"),
        *(
            [("complete", f"with {counted(plan.min_succeeded, 'succeeded task')} of all roles")]
            if plan.min_succeeded > 0
            else []
        ),
        *([("spare", _spare(plan))] if plan.spare else []),
        *([("requeue", _REQUEUE)] if plan.requeues else []),
        *([("avoids", f"{', '.join(avoided)}: see `paislurm nodes`")] if avoided else []),
        *([("slurm", plan.slurm.version)] if plan.slurm.version else []),
        ("time limit", _time(plan)),
        ("ports", f"{plan.nodes.first_port} to {plan.nodes.last_port}"),
    ]
    head.append(("retries", _retries(plan.retry_policy)))
    if when := plan.retry_policy.monitor_after:
        head.append(("monitor", f"at the end of each attempt{_AFTER[when]}; cron or scrontab for everything else"))
    notes = {
        _CODE: ", a copy for each task",
        _OUTPUT: ", made if it is missing" if plan.environment.makes_output else "",
    }
    paths = ((name, _USER.join(parts)) for name, parts in plan.environment.paths if any(parts))
    head += [(_PATHS[name], path + notes.get(name, "")) for name, path in paths]
    if plan.notify:
        head.append(("notify", ", ".join(plan.notify)))
    if plan.times.debug_hold:
        head.append(("debug", f"a failed task is held for up to {plan.times.debug_hold}"))
    if plan.environment.exported is not None:
        head.append(("exports", f"of the submitting shell: {', '.join(plan.environment.exported) or 'nothing'}"))
    head += [("preflight", line) for role in plan.roles if (line := preflight_text(role))]
    head += [("binding", line) for role in plan.roles if (line := _binding(role))]
    folders = dict.fromkeys(role.workdir for role in plan.roles)
    head += [("workdir", _workdir(plan, folder)) for folder in folders if folder != "task"]
    if plan.secrets:
        head.append(("secrets", ", ".join(plan.secrets)))
    rows = [_COLUMNS, *(_row(role) for role in plan.roles)]
    asked: list[str] = []
    for number, component in enumerate(plan.components):
        options = " ".join(
            f"--{name}" if value is None else f"--{name}={value}" for name, value in component.directives
        )
        asked.append(f"component {number}: {options}")
        if component.note:
            asked.append(f"  {component.note}")
    groups = dict.fromkeys(role.mpi_world for role in plan.roles if role.mpi_world)
    asked += [f"srun --mpi={mpi_world.plugin} starts {_ranks(plan, mpi_world)} as one world" for mpi_world in groups]
    around = [*_hazards(plan), *_fabric(plan), *(line for role in plan.roles for line in _hook_lines(role))]
    return "\n".join([pairs_text(head), "", columns_text(rows), "", *around, *asked]) + "\n"


_REQUEUE = "after the loss of a node, Slurm restarts the job before all that wait, and all tasks start anew"


def _spare(plan: Plan) -> str:
    """Return the cost and the use of the spare nodes as text."""
    nodes = plan.components[0].nodes
    return (
        f"{plan.spare} of {nodes} nodes without tasks; after the loss of a node, except the first, all tasks stop and "
        "start anew on the rest, in the same Slurm job"
    )


def _other(other: OtherLayout) -> str:
    """Return the layout that is not chosen as text."""
    if other.why_not:
        return f"{other.kind} is impossible: {other.why_not}"
    return f"`layout: {other.kind}` would use {counted(other.node_count or 0, 'node')}"


def _ranks(plan: Plan, mpi_world: MpiWorld) -> str:
    roles = [plan.roles[position] for position in mpi_world.roles]
    return " and ".join(f"{counted(role.instances * role.ranks, 'rank')} of {role.name}" for role in roles)


def _workdir(plan: Plan, folder: str) -> str:
    """Return the roles that start in a folder, "" for all."""
    names = [role.name for role in plan.roles if role.workdir == folder]
    of = f" for {', '.join(names)}" if len(names) < len(plan.roles) else ""
    return ("the submit folder" if folder == "submit" else folder) + of


def _binding(role: RolePlan) -> str:
    """Return the binding options of a role's srun, "" for Slurm's default."""
    bound = " ".join(f"--{name}={value}" for name, value in role.step_options if name in BINDING_OPTIONS)
    return f"{bound} for {role.name}" if bound else ""


def _retries(policy: RetryPlan) -> str:
    """Return the retry limits as text. Source: PAI protocol v1, retryCount, for the numbers below 0."""
    if policy.retry_limit == RESTART_ALWAYS:
        return f"at most {policy.max_restarts}, after any end"
    most = policy.max_transient_retries
    transient = f"{f'up to {most}' if most else 'none'} after transient failures"
    if policy.retry_limit < 0:
        return f"{transient}, any number after failures of unknown cause"
    return f"{transient}, {policy.retry_limit or 'none'} after failures of unknown cause"


def _time(plan: Plan) -> str:
    if plan.times.limit is None:
        return "the partition's default"
    warned = f", TERM {int(plan.times.warning.total_seconds())} s before it" if plan.times.warning else ""
    return f"{elapsed_text(int(plan.times.limit.total_seconds()))}{warned}"


def _row(role: RolePlan) -> tuple[str, ...]:
    wanted, completion = role.resources, role.completion
    fails = f"{completion.min_failed} failed" if completion.min_failed > 0 else ""
    succeeds = f"{completion.min_succeeded} succeeded" if completion.min_succeeded > 0 else ""
    return (
        role.name,
        str(role.instances),
        str(role.slots),
        "Slurm's choice" if role.tasks_per_node is None and not role.placement else _per_node(role),
        str(wanted.cpus),
        f"{wanted.memory_mib} MiB",
        str(wanted.gpus),
        " ".join(_port(port) for port in role.ports),
        " or ".join(part for part in (fails, succeeds) if part) or "never decides",
        role.image.uri,
    )


def _port(port: PortRequest) -> str:
    return f"{port.label}:{port.count}" + (f" from {port.first}" if port.first else "")


def _per_node(role: RolePlan) -> str:
    if not role.placement:
        return str(role.tasks_per_node)
    return "+".join(_repeated(nodes.slots, nodes.last - nodes.first + 1) for nodes in role.placement)


def _repeated(slots: int, nodes: int) -> str:
    """Return the slots of some equal nodes in Slurm's form: `3(x2)`."""
    return str(slots) if nodes == 1 else f"{slots}(x{nodes})"


def _fabric(plan: Plan) -> list[str]:
    """Return the InfiniBand settings of roles; roles with the same settings share a line."""
    named: dict[str, list[str]] = {}
    for role in plan.roles:
        if role.infiniband:
            named.setdefault(role.infiniband.summary, []).append(role.name)
    return [*(f"{', '.join(names)} {summary}" for summary, names in named.items()), *([""] if named else [])]


def _hazards(plan: Plan) -> list[str]:
    """Return the bugs of the site's Slurm that the job can trigger or that its layout avoids, with their sources."""
    known = [
        f"Slurm {plan.slurm.version}: {hazard.what}"
        f"{'; this layout avoids it' if hazard.avoids_het and plan.layout.kind == 'shared' else ''} ({hazard.source})"
        for hazard in plan.slurm.hazards
        if plan.layout.kind == "het" or hazard.concerns == "jobs" or hazard.avoids_het
    ]
    return [*known, *([""] if known else [])]


def _hook_lines(role: RolePlan) -> list[str]:
    """Return the hooks and commands of a task in order, if the role has hooks."""
    if not (role.before or role.after):
        return []
    steps = [*map(_step, role.before), "the commands", *map(_step, role.after)]
    return [f"each task of {role.name} runs", *(f"  {number}. {step}" for number, step in enumerate(steps, 1)), ""]


def _step(step: HookScript) -> str:
    when = {"start": "start", "success": "after success", "failure": "after a failure", "exit": "after any end"}
    what = f"plugin {step.name}" if step.kind == "plugin" else step.name
    return f"{what}, {when[step.phase]}" + (", failure ignored" if step.ignore_failure else "")
