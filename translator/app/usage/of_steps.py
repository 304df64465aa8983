"""Query the usage of a job's steps from Slurm, with one sstat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.base import LOCAL, JobId
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.backend import check_cluster
from paislurm.backends.slurm.steps import sstat, step_usages

from ...errors import BackendError, ThrottledError
from .usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paislurm.backends.runner import CommandRunner
    from paislurm.backends.slurm.steps import StepUsage

    from ...monitor.poll import View
    from ..session import Session
    from .running import RunningRole

SECONDS = 60.0


def slurm_usages(session: Session, view: View, roles: Sequence[RunningRole], now: int) -> list[Usage] | None:
    """Return the usage of each role; None if Slurm does not report it, or for a job without Slurm."""
    known = view.history
    if known.backend == LOCAL:
        return None
    check_cluster(JobId(known.job_id))
    number = int(commands.number_of(JobId(known.job_id)))
    return usages_of_steps(session.slurm_runner(known.backend), number, roles, now)


def usages_of_steps(runner: CommandRunner, number: int, roles: Sequence[RunningRole], now: int) -> list[Usage] | None:
    """Return the usage of each role; None if sstat does not know all of them, or cannot separate them.

    For sstat, a component of a heterogeneous job is a job with the next number. Source: Slurm, heterogeneous
    jobs; observed on 22.05, 24.11 and 26.05.
    """
    numbers = {role.folder: number + (role.component or 0) for role in roles}
    steps = [(numbers[role.folder], role.step) for role in roles]
    if len(set(steps)) < len(steps):
        return None
    argv = sstat(str(each) for each in sorted(set(numbers.values())))
    try:
        # sstat reports unknown jobs and continues.
        known = step_usages(runner.run(argv, timeout=SECONDS).stdout)
    except ThrottledError:
        raise
    except BackendError:
        return None
    found = [_usage(role, known, numbers[role.folder], now) for role in roles]
    return None if None in found else [usage for usage in found if usage is not None]


def _usage(role: RunningRole, known: Mapping[tuple[int, int], StepUsage], number: int, now: int) -> Usage | None:
    step = known.get((number, role.step))
    if step is None:
        return None
    # For Slurm, a task of several ranks is several tasks.
    each = step.tasks / len(role.tasks)
    lasted = now - min(task.started_at or now for task in role.tasks)
    nodes = {task.node for task in role.tasks}
    return Usage(
        role=role.name,
        index=role.tasks[0].index if role.instances == 1 else None,
        running_tasks=len(role.tasks),
        node=(nodes.pop() or None) if len(nodes) == 1 else f"{len(nodes)} nodes",
        cpus_busy=round(step.cpu_seconds * each / lasted, 2) if lasted > 0 else None,
        cpu_time=round(step.cpu_seconds * each),
        used_memory_mib=round(step.memory_mib * each),
        max_memory_mib=step.max_memory_mib,
        gpu_percent=step.gpu_percent,
        gpu_memory_mib=step.gpu_memory_mib,
    )
