"""Copy a job for a rehearsal: scale it down, and keep it away from the checkpoints of real runs."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.base import LOCAL
from paislurm.backends.registry import is_remote

from ...errors import Diagnostic, PlanError, UsageError
from ...plural import counted
from ...times import duration
from ..input.job_input import compile_source, load_source
from ..submit.prepare import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from ...pipeline import Compiled
    from ...slurm_options import SlurmOptions
    from ..input.source import Source
    from ..session import Session

DEFAULT_MINUTES = "10"


def chosen_backend(nodes: int | None, backend: str | None) -> str:
    """Return the backend for a number of nodes, None for this machine. Raises UsageError for another `backend`."""
    if backend == LOCAL and nodes is not None:
        hint = "leave out one of them"
        raise UsageError(Diagnostic(code="E547", message="--nodes cannot be used with --backend local", hint=hint))
    if backend not in (None, LOCAL) and nodes is None:
        message, hint = f"--backend {backend} needs the number of nodes", "add it, such as `--nodes 2 --time 10m`"
        raise UsageError(Diagnostic(code="E547", message=message, hint=hint))
    return LOCAL if nodes is None else "slurm"


def small_copy(session: Session, source: Source, nodes: int) -> Source:
    """Return the source of a copy that fits on some nodes, with the largest equal limit on the tasks of each role.

    The time limit is 10 minutes by default; it may also be a duration such as `10m`. Raises UsageError if one task of
    each role needs more nodes, and for a login node: the checkpoints are read from here.
    """
    time = dict(source.slurm).get("time", DEFAULT_MINUTES)
    seconds = duration(time)
    time = time if seconds is None else str(-(-seconds // 60))
    source = replace(source, slurm=(*(each for each in source.slurm if each[0] != "time"), ("time", time)))
    least = replace(source, most_tasks=1)
    (prepared,) = prepare(session, [least], keep=True)
    if is_remote(prepared.source.backend):
        message = "a job cannot be rehearsed through a login node: its checkpoints are read here"
        raise UsageError(Diagnostic(code="E547", message=message, hint="run this on the login node"))
    needed = node_count(prepared.compiled)
    if needed > nodes:
        message = f"one task of each role needs {counted(needed, 'node')}, more than --nodes {nodes}"
        raise UsageError(Diagnostic(code="E547", message=message, hint=f"give --nodes {needed}"))
    roles = load_source(session, source).roles
    fits, too_many = 1, max(role.instances for role in roles) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if _fits(session, replace(prepared.source, most_tasks=middle), prepared.compiled, nodes):
            fits = middle
        else:
            too_many = middle
    scaled = [f"{role.name} {fits} of {counted(role.instances, 'task')}" for role in roles if role.instances > fits]
    session.say(f"a copy of the job on at most {counted(nodes, 'node')}: {', '.join(scaled) or 'all tasks'}")
    return replace(source, most_tasks=fits)


def _fits(session: Session, source: Source, least: Compiled, nodes: int) -> bool:
    try:
        return node_count(compile_source(session, source, None, least.site, quiet=True)[1]) <= nodes
    except PlanError:
        return False


def node_count(compiled: Compiled) -> int:
    """Return how many nodes a job gets, or may get: a node for each task where Slurm decides."""
    roles = compiled.plan.roles
    return sum(
        sum(roles[position].instances for position in each.roles) if each.nodes is None else each.nodes
        for each in compiled.plan.components
    )


def check_resumes(options: SlurmOptions) -> None:
    """Refuse a job that does not say how it resumes, or whose checkpoints are those of real runs."""
    if options.checkpoints.startswith("/"):
        message = f"the checkpoints {options.checkpoints} may be those of real runs: a rehearsal would overwrite them"
        hint = "name them by `./` and a path below the submit folder: each rehearsal has a folder of its own"
        raise UsageError([Diagnostic(code="E547", message=message, path="$.extras.slurm.resumes.file", hint=hint)])
    if not options.checkpoints and not re.compile(options.progress_pattern).groups:
        message = "the job does not say how it continues after a failure"
        hint = 'add `extras: {slurm: {resumes: {file: "./run/*.pt", log: "step ([0-9]+)"}}}`'
        raise UsageError([Diagnostic(code="E547", message=message, path="$.extras.slurm.resumes", hint=hint)])


def link_entries(current: Path, here: Path, checkpoints: str) -> None:
    """Link the entries of the submit folder, except those in which the checkpoints are."""
    first = checkpoints.removeprefix("./").partition("/")[0]
    for entry in current.iterdir():
        if not (first and fnmatch(entry.name, first)):
            (here / entry.name).symlink_to(entry)
