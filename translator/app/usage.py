"""CPU, memory and GPU use of a job's running tasks, from one sstat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.base import LOCAL, JobId
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.backend import check_cluster
from paislurm.backends.slurm.steps import sstat, step_usages

from ..errors import BackendError
from ..state.kept_plan import KeptRole, kept_plan
from ..state.task_reports import read_reports
from ..times import seconds_since_1970
from ..view.task import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paislurm.backends.runner import CommandRunner
    from paislurm.backends.slurm.steps import StepUsage

    from ..monitor.poll import View
    from ..state.kept_plan import KeptResources
    from ..view.task import TaskView
    from .session import Session

SECONDS = 60.0


class RunningRole(Struct, frozen=True, kw_only=True):
    """The running tasks of a role, and their Slurm step; `component` is None unless the job is heterogeneous."""

    name: str
    component: int | None
    step: int
    tasks: Sequence[TaskView]
    requested: KeptResources


def running_roles(view: View) -> list[RunningRole]:
    """Return the roles with running tasks, in the order of the job file."""
    known, plan = view.history, kept_plan(view.folder.path)
    kept, reports = plan.roles_by_name, read_reports(view.folder.reports(known.attempt))
    found = []
    for position, role in enumerate(known.roles):
        tasks = [task for task in view.tasks if task.role == role.name and task.state in ("RUNNING", "STOPPING")]
        if tasks and not view.job_status.ended:
            own, planned = reports.get(position, {}), kept.get(role.name, KeptRole(name=role.name))
            found.append(
                RunningRole(
                    name=role.name,
                    component=planned.component if plan.layout.kind == "het" else None,
                    step=max((own[task.index].step for task in tasks if task.index in own), default=-1),
                    tasks=tasks,
                    requested=planned.resources,
                )
            )
    return found


def usages_of(session: Session, view: View) -> tuple[Usage, ...]:
    """Return the use of each role; none if Slurm does not report it. Raises BackendError if Slurm does not answer."""
    known, roles = view.history, running_roles(view)
    if known.backend == LOCAL or not roles:
        return ()
    check_cluster(JobId(known.job_id))
    number = int(commands.number_of(JobId(known.job_id)))
    return usages_of_steps(session.slurm_runner(known.backend), number, roles, session.now())


def usages_of_jobs(session: Session, views: Sequence[View]) -> list[tuple[Usage, ...]]:
    """Return the use of each job's roles, with an event if Slurm does not report that of a running job."""
    found: list[tuple[Usage, ...]] = []
    for view in views:
        usages: tuple[Usage, ...] = ()
        why = "Slurm gathers none (JobAcctGatherType), or cannot separate the roles"
        try:
            usages = usages_of(session, view)
        except BackendError as error:
            why = error.diagnostics[0].message
        if not usages and running_roles(view):
            session.say(f"the usage of {view.folder.name} is unknown: {why}")
        found.append(usages)
    return found


def usages_of_steps(runner: CommandRunner, number: int, roles: Sequence[RunningRole], now: int) -> tuple[Usage, ...]:
    """Return the use of each role; none if sstat does not know all of them, or cannot separate them.

    For sstat, a component of a heterogeneous job is a job with the next number. Source: Slurm, heterogeneous
    jobs; observed on 22.05, 24.11 and 26.05.
    """
    steps = [(number + (role.component or 0), role.step) for role in roles]
    if len(set(steps)) < len(steps):
        return ()
    # sstat reports unknown jobs and continues.
    done = runner.run(sstat(map(str, sorted({each for each, _ in steps}))), timeout=SECONDS)
    found = [_usage(role, step_usages(done.stdout), step, now) for role, step in zip(roles, steps, strict=True)]
    return () if None in found else tuple(usage for usage in found if usage is not None)


def _usage(
    role: RunningRole, known: Mapping[tuple[int, int], StepUsage], key: tuple[int, int], now: int
) -> Usage | None:
    step = known.get(key)
    if step is None:
        return None
    # For Slurm, a task of several ranks is several tasks.
    each = step.tasks / len(role.tasks)
    lasted = now - min(seconds_since_1970(task.started_at) or now for task in role.tasks)
    return Usage(
        role=role.name,
        running_tasks=len(role.tasks),
        requested_cpus=role.requested.cpus,
        requested_memory_mib=role.requested.memory_mib,
        cpus_busy=round(step.cpu_seconds * each / lasted, 2) if lasted > 0 else None,
        used_memory_mib=round(step.memory_mib * each),
        max_memory_mib=step.max_memory_mib,
        gpu_percent=step.gpu_percent,
        gpu_memory_mib=step.gpu_memory_mib,
    )
