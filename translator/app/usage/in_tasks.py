"""Measure usage in the tasks themselves, by one srun that enters the tasks of each node like `exec`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.base import LOCAL, JobId
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.backend import check_cluster
from paislurm.backends.slurm.refusals import failure
from paislurm.backends.slurm.steps import srun_beside

from ...errors import Diagnostic, UnreachableError
from ...shipped import shipped_text
from ...state.safe_read import parse_int
from .usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from paislurm.backends.runner import Completed

    from ...state.history import History
    from ..session import Session
    from .running import RunningRole

SECONDS = 60.0
_SCRIPT = "templates/usage.sh"
_HUNDREDTHS = 100


def usages_in_tasks(session: Session, known: History, folder: Path, roles: Sequence[RunningRole]) -> list[Usage]:
    """Return the usage of each task that answers; `folder` is the job's folder on the cluster.

    Raises UnreachableError if none answers.
    """
    names = {
        f"{role.position}.{role.slots.get(task.index, task.index)}": (role, task.index, task.node)
        for role in roles
        for task in role.tasks
    }
    places = [f"{node}:{name}" for name, (_, _, node) in names.items()]
    words = ["bash", "-c", shipped_text(_SCRIPT), "usage", str(folder), str(known.attempt), *places]
    nodes = sorted({node for _, _, node in names.values()})
    components = sorted({role.component for role in roles if role.component is not None})
    argv = srun_beside(commands.number_of(JobId(known.job_id)), nodes, components, words)
    done = run_beside(session, known, argv)
    found = _parsed(done.stdout, names)
    if not found:
        if done.status:
            raise failure(argv, done)
        message = "no task answers: they have ended, or have not started yet"
        hint = f"see: paislurm status {known.full_name}"
        raise UnreachableError(Diagnostic(code="E566", message=message, hint=hint), argv=tuple(argv))
    return found


def run_beside(session: Session, known: History, argv: Sequence[str]) -> Completed:
    """Run a program that reaches tasks of a job, by srun or its stand-in, and return its result."""
    if known.backend == LOCAL:
        from paislurm.backends.local.job import called_environment

        folder = (session.store.home / LOCAL / known.job_id).absolute()
        return session.runner.run(argv, env=called_environment(session.environment, folder), timeout=SECONDS)
    check_cluster(JobId(known.job_id))
    return session.slurm_runner(known.backend).run(argv, timeout=SECONDS)


def _parsed(text: str, names: Mapping[str, tuple[RunningRole, int, str]]) -> list[Usage]:
    figures: dict[str, list[int]] = {}
    gpus: dict[str, list[tuple[int, int]]] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        kind, *words = rest.split(" ")
        numbers = [number for number in map(parse_int, words) if number is not None]
        if name not in names or len(numbers) < len(words):
            continue
        if kind == "usage" and len(numbers) == 5:
            figures[name] = numbers
        elif kind == "gpu" and len(numbers) == 3:
            gpus.setdefault(name, []).append((numbers[1], numbers[2]))
    return [_usage(*names[name], figures[name], gpus.get(name, ())) for name in names if name in figures]


def _usage(role: RunningRole, index: int, node: str, figures: Sequence[int], gpus: Sequence[tuple[int, int]]) -> Usage:
    _, ticks, between, lasted, memory_kib = figures
    return Usage(
        role=role.name,
        index=index,
        running_tasks=1,
        node=node or None,
        cpus_busy=round(between / lasted, 2) if lasted > 0 else None,
        cpu_time=ticks // _HUNDREDTHS,
        used_memory_mib=memory_kib // 1024,
        gpu_percent=round(sum(busy for busy, _ in gpus) / len(gpus)) if gpus else None,
        gpu_memory_mib=sum(memory for _, memory in gpus) if gpus else None,
    )
