"""plan -> script: the head from the template with quoted values, then the seal and the runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..planning.settings.of_role import RoleOfPlan, counts_half_cores
from ..site.containers import CONTAINER_RUNTIMES
from .engine import engine
from .head import (
    component_sections,
    environment,
    environment_of_every_role,
    role_section,
    settings,
    variables_of_every_role,
)
from .runtime_bundle import runtime, seal
from .summary import summary

if TYPE_CHECKING:
    from jinja2 import BytecodeCache

    from ..planning.job_plan import Plan, RolePlan
    from .lines import Line


_SHORT_REPORT = 900
"""The most characters that the ports of a task have in a report of one line; `report_ports` has the limit."""
_FEW_TASKS = 50
"""Up to this many tasks the script reads reports line by line: a block of lines takes a process."""


def render(plan: Plan, compiled: BytecodeCache | None = None) -> str:
    """Return the batch script of a plan: the same plan gives the same bytes, wherever templates are kept compiled."""
    head, uses = render_head(plan, compiled), uses_of(plan)
    body = runtime(uses)
    return f"{head}{seal(head, body, plan.version, uses)}{body}"


def render_head(plan: Plan, compiled: BytecodeCache | None = None, *, marks: list[Line] | None = None) -> str:
    """Return the job's own part of a script, up to the seal.

    With `marks`, which it fills, each line that varies begins with its number there between two NUL characters.
    """
    same = variables_of_every_role(plan)
    template = engine(compiled).get_template("job.sbatch.j2")
    return template.render(
        components=component_sections(plan),
        summary=summary(plan),
        settings=settings(plan),
        environment=environment(plan),
        environment_of_every_role=environment_of_every_role(plan, same),
        roles=[role_section(role, plan, same) for role in plan.roles],
        marks=marks,
    )


def uses_of(plan: Plan) -> tuple[str, ...]:
    """Return the sorted names of the runtime parts that a job needs beyond those of every job."""
    container_runtime = CONTAINER_RUNTIMES.get(plan.containers.runtime)
    steps = [step for role in plan.roles for step in (*role.before, *role.after)]
    needed = {
        container_runtime.bash if container_runtime else "": True,
        "registry": plan.fetches_images and container_runtime is not None,
        "hooks": bool(steps) or bool(plan.times.debug_hold),
        "gpus": bool(plan.nodes.gpu_gres) or any(role.resources.gpus for role in plan.roles),
        "binding": any(role.resources.gpus or role.on_mismatch == "error" for role in plan.roles),
        "gpu-gres": bool(plan.nodes.gpu_gres),
        "more-ports": any(_has_more_ports(role) for role in plan.roles),
        "min-succeeded": plan.min_succeeded > 0 or any(role.completion.min_succeeded > 0 for role in plan.roles),
        "odd-cpus": any(counts_half_cores(RoleOfPlan(role, plan)) for role in plan.roles),
        "secrets": bool(plan.secrets),
        "event-blocks": sum(role.instances for role in plan.roles) > _FEW_TASKS,
        "workdir": any(role.workdir != "task" for role in plan.roles),
        "progress": any(role.progress for role in plan.roles),
        "native-mpi": any(role.mpi_world for role in plan.roles),
        "slots": not plan.gang,
        "spare": plan.spare > 0,
        "requeue": plan.requeues,
        "restarts": plan.most_losses > 0,
        "infiniband": plan.checks_infiniband,
        "gpu-faults": any(role.preflight and "gpu" in role.preflight.checks for role in plan.roles),
        "preflight": any(role.preflight for role in plan.roles),
        "pairs": any(role.preflight and role.preflight.pair_commands for role in plan.roles),
        "code": plan.stages_code or plan.environment.makes_output,
        "monitor-step": bool(plan.retry_policy.monitor_after),
        "checkpoints": bool(plan.checkpoints),
        "export-env": plan.environment.exported is not None,
        "background": plan.background == "wait",
        "fixed-exit-rules": plan.exit_patterns == "fixed",
        **{f"plugin-{step.script.program}": True for step in steps if step.script.program},
    }
    return tuple(sorted(use for use, wanted in needed.items() if use and wanted))


def _has_more_ports(role: RolePlan) -> bool:
    """Return whether ports of a role are fixed, or too many for one line of a report."""
    longest = sum(len(f" {port.label}:") + port.count * len("65535,") for port in role.ports)
    return any(port.first for port in role.ports) or longest > _SHORT_REPORT
