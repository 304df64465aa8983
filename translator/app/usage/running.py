"""What of a job runs: roles with their tasks, and where Slurm has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...state.kept_plan import kept_plan
from ...state.task_reports import read_peers, read_reports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...monitor.poll import View
    from ...monitor.task_status import TaskView
    from ...state.job_folder import JobFolder


class RunningRole(Struct, frozen=True, kw_only=True):
    """Hold the running tasks of a role. `component` is None unless the job is heterogeneous.

    `slots` are those of the tasks, by index; `step` is the number of the step that they are in.
    """

    position: int
    name: str
    folder: str
    instances: int
    component: int | None
    step: int
    tasks: Sequence[TaskView]
    slots: Mapping[int, int]


def running_roles(view: View) -> list[RunningRole]:
    """Return the roles that have running tasks, in the order of the job file."""
    known = view.history
    folder = view.folder.reports(known.attempt)
    reports, peers, components = read_reports(folder), read_peers(folder), _components(view.folder)
    found = []
    for position, role in enumerate(known.roles):
        tasks = [task for task in view.tasks if task.role == role.name and task.state in ("RUNNING", "STOPPING")]
        own = reports.get(position, {})
        if tasks and not view.job_status.ended:
            slots = {task.index: peers[position, task.index].slot for task in tasks if (position, task.index) in peers}
            steps = [own[task.index].step for task in tasks if task.index in own]
            found.append(
                RunningRole(
                    position=position, name=role.name, folder=role.folder, instances=role.instances,
                    component=components.get(role.name), step=max(steps, default=-1), tasks=tasks, slots=slots,
                )
            )  # fmt: skip
    return found


def _components(folder: JobFolder) -> dict[str, int]:
    """Return the components of roles, by the plan; none where the job is not heterogeneous."""
    plan = kept_plan(folder.path)
    pairs = [(role.name, role.component) for role in plan.roles if plan.layout.kind == "het"]
    return {name: number for name, number in pairs if number is not None}
