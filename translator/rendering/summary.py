"""What a person who reviews a script is told first, in a few sentences: what it does, needs, writes and starts."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..planning.plan import Plan

_WIDTH = 98


def summary(plan: Plan) -> list[str]:
    """Return comment lines, without their `# `."""
    return [line for sentence in _sentences(plan) for line in wrap(sentence, _WIDTH, break_on_hyphens=False)]


def _sentences(plan: Plan) -> Iterator[str]:
    roles = _count(len(plan.roles), "task role")
    yield (
        f"Job {plan.job_name}: {_count(plan.task_count, 'task')} in {roles}, compiled by paislurm {plan.version} "
        f"from {plan.source} (PAI protocol v{plan.protocol})."
    )
    yield _ALLOCATION[plan.layout.kind]
    yield (
        "On the first node the script makes a run folder, finds the addresses and ports of the tasks, starts one srun "
        "for each task role, follows the tasks, decides when the job is complete, stops the others and writes "
        "result.json."
    )
    yield (
        "It runs nothing of the job but the commands and steps below, as the user who submits it, and writes to the "
        f"run folder, to /tmp/paislurm-* of its nodes{_more_writes(plan)}."
    )
    if plan.containers.runtime != "none":
        yield f"Tasks run in containers of {plan.containers.runtime}; what they see of a node is in PSL_MOUNTS."
    if plan.secrets:
        yield "Secrets are in no line of it: tasks read them from files that only the user can read."
    yield (
        "`paislurm submit` gives it a run folder; `sbatch` alone makes one below the current folder. Nodes need Slurm, "
        "bash 4.2, coreutils, grep, sed and getent."
    )
    yield (
        "The job's own part ends at the line \"paislurm runtime\"; what follows is no job's own, and "
        "`paislurm verify` checks both."
    )


_ALLOCATION = {
    "plain": "Slurm gives it one allocation.",
    "het": "Slurm gives it one allocation in parts, a component for each task role.",
    "shared": "Slurm gives it one allocation, which all task roles share.",
}


def _more_writes(plan: Plan) -> str:
    if plan.fetches_images and plan.containers.runtime != "none":
        where = plan.containers.cache or "the store of podman"
        return f" and to {where}, where it puts images that it fetches"
    return ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
