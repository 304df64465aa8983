"""The comment for reviewers of a script: its actions, needs, writes and starts. Pure."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from ..job import NEVER
from ..planning.mounts import is_of_submit
from ..plural import counted, verb
from ..site.containers import CONTAINER_RUNTIMES, NO_CONTAINERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..planning.job_plan import Component, Plan, RolePlan

_WIDTH = 98


def summary(plan: Plan) -> list[str]:
    """Return comment lines on the whole script, without their `# `."""
    return [line for sentence in _sentences(plan) for line in wrap(sentence, _WIDTH, break_on_hyphens=False)]


_STEP_AFTER = {"failure": "Where the job fails", "end": "Unless Slurm ends the job"}


def _sentences(plan: Plan) -> Iterator[str]:
    roles = counted(len(plan.roles), "task role")
    yield (
        f"Job {plan.job_name}: {counted(plan.task_count, 'task')} in {roles}, compiled by paislurm {plan.version} "
        f"from {plan.source} (PAI protocol v{plan.protocol}). {_ends(plan)}"
    )
    yield (
        f"The first node finds the nodes' addresses, starts {_starts(plan)} with the srun below, supervises the "
        "tasks, stops the remaining ones when the job is complete, and writes result.json."
    )
    if plan.spare:
        yield (
            f"{counted(plan.spare, 'node')} of the job {verb(plan.spare, 'has', 'have')} no tasks. If the job loses a "
            "node, except the first, the script stops all tasks and starts them anew on the remaining nodes."
        )
    if plan.requeues:
        yield (
            "If the job loses a node, Slurm restarts it before all jobs that wait, at most "
            f"{counted(plan.most_losses, 'time')}; all tasks then start anew in the same attempt."
        )
    if when := plan.retry_policy.monitor_after:
        yield (
            f"{_STEP_AFTER[when]}, the script last runs `paislurm monitor --once` for this job, as written by "
            "`paislurm submit` to monitor-call in the run folder: it may submit the next attempt, or jobs that wait "
            "for this one."
        )
    yield (
        "It runs as the submitting user. The script itself writes to the run folder, which all nodes must see, and "
        "to private folders on its nodes: paislurm-* in /tmp and /dev/shm, and paislurm.* in TMPDIR"
        f"{_more_writes(plan)}; {_may_write(plan)}"
    )
    if plan.containers.runtime == NO_CONTAINERS:
        images = list(dict.fromkeys(role.image.uri for role in plan.roles))
        which = f"image {images[0]} is" if len(images) == 1 else f"images {', '.join(images)} are"
        yield f"The {which} not used: tasks run on the nodes themselves, without containers."
    if plan.secrets:
        yield "It contains no values of secrets: tasks read them from files that only the user can read."
    yield (
        "`paislurm submit` makes its run folder; with `sbatch` alone the script makes one below the current folder. "
        f"Nodes need Slurm 20.11, bash 4.2, coreutils, grep and sed{_needs(plan)}."
    )
    yield "Only the lines above `paislurm runtime` differ between jobs; `paislurm verify` checks both parts."


def _ends(plan: Plan) -> str:
    """Return sentences on the completion and the time limit of the job."""
    if plan.min_succeeded > 0:
        tasks, have = counted(plan.min_succeeded, "task"), _have(plan.min_succeeded)
        end = f"It succeeds when {tasks} of all roles {have} succeeded."
    elif all(role.completion.min_succeeded == NEVER for role in plan.roles):
        end = "It succeeds when all tasks have ended, unless a role's completion rule fails it first."
    else:
        end = "The completion rules are with the task roles below."
    limit = "" if plan.times.limit else "The job sets no time limit, so that of the partition applies."
    return f"{end} {limit}".strip()


def _starts(plan: Plan) -> str:
    groups = {role.mpi_world.roles for role in plan.roles if role.mpi_world}
    if groups:
        return "each task role, or the roles of one MPI world together,"
    return "each task role"


def _may_write(plan: Plan) -> str:
    if plan.containers.runtime == NO_CONTAINERS:
        return "the commands may write wherever the user may."
    where = ["the paths in PSL_MOUNTS"] * bool(plan.containers.mounts)
    where += ["the submit folder"] * any(is_of_submit(role.workdir) for role in plan.roles)
    more = f"also to {' and to '.join(where)}" if where else "to no other folder of the nodes"
    return f"the commands, in containers of {plan.containers.runtime}, {more}."


def _more_writes(plan: Plan) -> str:
    if plan.fetches_images and plan.containers.runtime != "none":
        where = plan.containers.cache or f"the store of {plan.containers.runtime}"
        return f", and to {where}, for fetched images"
    return ""


def _needs(plan: Plan) -> str:
    row = CONTAINER_RUNTIMES.get(plan.containers.runtime)
    return f", and {row.name if row.program else row.bash}" if row else ""


def component_comment(component: Component, plan: Plan) -> list[str]:
    """Return comment lines on the request for one component: its roles, and the sources of numbers."""
    names = ", ".join(_share(plan.roles[position]) for position in component.roles)
    which = f"Component {component.roles[0]}, for" if len(plan.components) > 1 else "For"
    note = f" {component.note[0].upper()}{component.note[1:]}." if component.note else ""
    return wrap(f"{which} {names}.{note}", _WIDTH, break_on_hyphens=False)


def _share(role: RolePlan) -> str:
    wanted = role.resources
    gpus = f" and {counted(wanted.gpus, 'GPU')}" if wanted.gpus else ""
    return (
        f"task role {role.name}: {counted(role.slots, 'task')} of {counted(wanted.cpus, 'CPU')}, "
        f"{wanted.memory_mib} MiB{gpus}"
    )


def completion_sentence(role: RolePlan) -> str:
    """Return how tasks of a role decide the job. Source: PAI protocol v2, completion."""
    failed, succeeded = role.completion.min_failed, role.completion.min_succeeded
    fails = (
        "none of its failures fails the job" if failed == NEVER else f"the job fails when {_tasks_have(failed)} failed"
    )
    if succeeded == NEVER:
        return f"{fails[0].upper()}{fails[1:]}."
    return f"The job succeeds when {_tasks_have(succeeded)} succeeded; {fails}."


def _tasks_have(number: int) -> str:
    return f"{counted(number, 'task')} {_have(number)}"


def _have(number: int) -> str:
    return verb(number, "has", "have")
