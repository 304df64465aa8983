"""The srun commands of a job, as the head of its script shows them: one for each task role, or for an MPI world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .shell import ShellWord, option, our_own

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..planning.plan import Plan, RolePlan

WIDTH = 100
"""Characters of a line of the script."""
_EVERY_STEP = tuple(
    our_own([word])
    for word in (
        "--export=ALL",
        "--kill-on-bad-exit=0",
        "--wait=0",
        "--distribution=arbitrary",
        '--chdir="$PSL_ATTEMPT_FOLDER"',
    )
)
"""A task that fails does not end the others, and the host file says where each task runs. Source: srun(1)."""


def started_by(role: RolePlan) -> int:
    """Return the position of the role whose srun starts this one: the first of its MPI world, or itself."""
    return role.mpi_world.roles[0] if role.mpi_world else role.position


def srun(role: RolePlan, plan: Plan) -> list[ShellWord]:
    """Return the lines of the srun that starts a role and those of its MPI world, as bash reads them."""
    together = [plan.roles[position] for position in role.mpi_world.roles] if role.mpi_world else [role]
    if plan.layout.kind == "het" and role.mpi_world:
        parts = [list(_words(each, [each], together, plan)) for each in together]
        words = parts[0] + [word for part in parts[1:] for word in (our_own([":"]), *part)]
        return _wrapped(our_own(["exec srun"]), words)
    start = our_own([f'SLURM_HOSTFILE="$PSL_SCRATCH/hosts.{role.position}" exec srun'])
    return _wrapped(start, list(_words(role, together, together, plan)))


def _words(
    role: RolePlan, counted: Sequence[RolePlan], together: Sequence[RolePlan], plan: Plan
) -> Iterator[ShellWord]:
    """Yield the words for one role's part of the allocation: what differs from role to role comes first."""
    if plan.layout.kind == "het":
        yield option("het-group", str(role.position))
    yield option("job-name", "-".join(each.name for each in together))
    yield option("ntasks", str(sum(each.slots * max(each.ranks, 1) for each in counted)))
    for name, value in role.step_options:
        yield option(name, value)
    yield option("mpi", role.mpi_world.plugin if role.mpi_world else "none")
    if plan.layout.kind == "het" and role.mpi_world:
        yield our_own([f'--nodelist="$PSL_SCRATCH/hosts.{role.position}"'])
    if plan.layout.kind == "het" and len(together) > 1:
        yield our_own(["--input=none"])
    yield from _EVERY_STEP
    yield our_own([f'bash -p "$PSL_SCRIPT" --task "$PSL_FOLDER" "$PSL_ATTEMPT" {started_by(role)}'])


def _wrapped(start: ShellWord, words: Sequence[ShellWord]) -> list[ShellWord]:
    """Return lines of a command in a function, none longer than `WIDTH` unless one word is."""
    lines, line = [], f"  {start}"
    for word in words:
        if len(line) + 1 + len(word) + 2 > WIDTH:
            lines.append(f"{line} \\")
            line = f"    {word}"
        else:
            line += f" {word}"
    return [our_own([each]) for each in (*lines, line)]
