"""The variables of a job's tasks that are known before the job runs.

What depends on nodes, ports, users or attempts is added by the script: `templates/runtime/batch/environment.sh`.
Source: OpenPAI environment variables, protocol v1 and v2.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..job import NEVER

if TYPE_CHECKING:
    from ..job import Job, Role
    from ..site.profile import Site

Variables = tuple[tuple[str, str], ...]
_PART = re.compile(r"\w+", re.ASCII)
"""A part of the name of a shell variable."""


def job_variables(job: Job, site: Site) -> Variables:
    """Return the variables that every task of every role has, in the order in which they are exported."""
    names = ",".join(role.name for role in job.roles)
    tasks, roles = str(job.task_count), str(len(job.roles))
    variables = [
        ("PAI_JOB_NAME", job.name),
        ("PAI_JOB_VC_NAME", job.virtual_cluster),
        ("PAI_VIRTUAL_CLUSTER", job.virtual_cluster),
        ("PAI_DEFAULT_FS_URI", site.default_file_system),
        ("PAI_JOB_TASK_COUNT", tasks),
        ("PAI_TASKS_NUM", tasks),
        ("PAI_TASK_ROLE_COUNT", roles),
        ("PAI_JOB_TASK_ROLE_COUNT", roles),
        ("PAI_TASK_ROLES_NUM", roles),
        ("PAI_TASK_ROLE_LIST", names),
        ("PAI_JOB_TASK_ROLE_LIST", names),
    ]
    if job.min_succeeded != NEVER:
        variables.append(("PAI_KILL_ALL_ON_COMPLETED_TASK_NUM", str(job.min_succeeded)))
    for role, names_of_role in zip(job.roles, variable_names(job), strict=True):
        if not names_of_role:
            continue
        name = names_of_role[0]
        resources = role.resources
        amounts = (resources.gpus, resources.cpus, resources.memory_mib, resources.declared_shm_mib)
        variables += [
            (f"PAI_TASK_ROLE_TASK_COUNT_{name}", str(role.instances)),
            (f"PAI_RESOURCE_{name}", ",".join(str(amount) for amount in amounts)),
            (f"PAI_MIN_FAILED_TASK_COUNT_{name}", _threshold(job, role.completion.min_failed)),
            (f"PAI_MIN_SUCCEEDED_TASK_COUNT_{name}", _threshold(job, role.completion.min_succeeded)),
        ]
    return tuple(variables)


def _threshold(job: Job, threshold: int) -> str:
    """Return a threshold as tasks see it."""
    return job.unset_threshold if threshold == NEVER else str(threshold)


def role_variables(job: Job, role: Role) -> Variables:
    """Return the variables that every task of one role has."""
    resources, completion = role.resources, role.completion
    instances, cpus, memory = str(role.instances), str(resources.cpus), str(resources.memory_mib)
    gpus = str(resources.gpus)
    return (
        ("PAI_CURRENT_TASK_ROLE_NAME", role.name),
        ("PAI_TASK_ROLE_NAME", role.name),
        ("FC_TASKROLE_NAME", role.controller_name),
        ("PAI_CURRENT_TASK_ROLE_TASK_COUNT", instances),
        ("PAI_TASK_ROLE_NUM", instances),
        ("PAI_CURRENT_TASK_ROLE_CPU_COUNT", cpus),
        ("PAI_TASK_CPU_NUM", cpus),
        ("PAI_CURRENT_TASK_ROLE_MEM_MB", memory),
        ("PAI_TASK_MEM_MB", memory),
        ("PAI_CURRENT_TASK_ROLE_GPU_COUNT", gpus),
        ("PAI_TASK_GPU_NUM", gpus),
        ("PAI_CURRENT_TASK_ROLE_SHM_MB", str(resources.shm_mib)),
        ("PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT", _threshold(job, completion.min_failed)),
        ("PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT", _threshold(job, completion.min_succeeded)),
    )


def variable_names(job: Job) -> tuple[tuple[str, ...], ...]:
    """Return under what names each role stands in the variables of tasks: its own, and the controller's name for it.

    The second is left out where it is the same, or is another role's own name; and the first where no shell variable
    can have it in its name, as a name of protocol v1 with a `.` in it.
    """
    taken = {"", *(role.name for role in job.roles)}
    return tuple(
        (
            *((role.name,) if can_be_in_a_variable(role.name) else ()),
            *((role.controller_name,) if role.controller_name not in taken else ()),
        )
        for role in job.roles
    )


def can_be_in_a_variable(name: str) -> bool:
    """Tell whether the name of a shell variable can have this in it."""
    return _PART.fullmatch(name) is not None
