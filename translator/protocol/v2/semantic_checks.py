"""Checks of references between parts of a job file, and of amounts that count as others.

They also check a partial model, to report these errors together with errors of the schema.

Source: PAI rest-server, semantic checks of protocol v2 jobs; PAI issue 5145 for `require`.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from ...errors import did_you_mean
from ...validation.partial_model import placed
from .extras_schema import PLUGINS
from .schema import DockerImage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...reading.document import Path
    from ...validation.diagnostics import DiagnosticCollector
    from .prerequisite_index import PrerequisiteIndex
    from .schema import JobFile, Role

_SELECTED = ("dockerimage", "data", "output", "script")
"""The types of prerequisites that a role can select."""
DEFAULT_SHM_MIB = 512
"""Source: PAI rest-server, shmMB of protocol v2."""
MAX_CONTROLLER_NAME = 63
"""The most letters and digits in a role's name. Source: OpenPAI FrameworkController, name of a task role."""


def check_semantics(file: JobFile, index: PrerequisiteIndex, collector: DiagnosticCollector) -> None:
    """Add a diagnostic for each duplicate or unknown name, and for each amount that counts as another."""
    deployments = [*placed(("deployments",), file.deployments)]
    _check_unique(((path, each.type, each.name) for path, each in index.all), "E301", collector)
    _check_unique(((path, "", each.name) for path, each in deployments), "E302", collector)
    _check_roles(file, index, collector)
    _check_requirements(index, collector)
    default, names = file.defaults.deployment, [each.name for _, each in deployments if each.name]
    if default is not None and default not in names:
        message = f"unknown deployment `{default}`"
        collector.add("E305", ("defaults", "deployment"), message, near=(default, names))
    for path, name in _role_mentions(file):
        if name not in file.task_roles:
            code = "E308" if path[:2] == ("extras", "slurm") else "W303"
            message = f"the job has no role `{name}`" + ("" if code == "E308" else ", so this has no effect")
            collector.add(code, path, message, near=(name, file.task_roles), key=isinstance(path[-1], str))


def controller_name(role: str) -> str:
    """Return OpenPAI's controller's name of a role. Source: PAI rest-server, convertName."""
    return re.sub(r"[^a-z0-9]", "", role.lower())


def _check_unique(
    named: Iterable[tuple[Path, str | None, str | None]], code: str, collector: DiagnosticCollector
) -> None:
    """Add a diagnostic for each duplicate name among prerequisites of a type, or among deployments."""
    seen: dict[tuple[str, str], Path] = {}
    for path, kind, name in named:
        if kind is None or name is None:
            continue
        first = seen.setdefault((kind, name), path)
        if first != path:
            line = collector.document.location((*first, "name")).line
            what = f"prerequisite of type {kind}" if kind else "deployment"
            message = f"duplicate {what} `{name}`, first at line {line}"
            collector.add(code, (*path, "name"), message, hint="rename one of the two")


def _check_roles(file: JobFile, index: PrerequisiteIndex, collector: DiagnosticCollector) -> None:
    seen: dict[str, str] = {}
    for name, role in file.task_roles.items():
        path: Path = ("taskRoles", name)
        short = controller_name(name)
        if name.isascii() and (not short or len(short) > MAX_CONTROLLER_NAME):
            message = f"the role name must have from 1 to {MAX_CONTROLLER_NAME} letters and digits"
            collector.add("E307", path, message, hint="rename it, as in `worker`", key=True)
        elif seen.setdefault(short, name) != name:
            message = f"the roles `{seen[short]}` and `{name}` are both `{short}` in variable names"
            collector.add(
                "E307", path, message, hint="rename one: the names must differ in more than case and `_`", key=True
            )
        _check_amounts(role, path, collector)
        for key, kind, selected in role.selections:
            if selected is not None and index.find(kind, selected) is None:
                _add_undefined(index, (*path, key), kind, selected, collector)
        for where, listed in placed((*path, "prerequisites"), role.prerequisites):
            several = index.named.get(listed, ())
            if not several:
                _add_unknown(where, listed, index, collector)
            elif len(several) > 1:
                kinds = " and ".join(str(each.type) for _, each in several)
                message = f"`{listed}` names several prerequisites: {kinds}"
                collector.add("W304", where, message, hint="rename all but one of them")


def _add_unknown(path: Path, name: str, index: PrerequisiteIndex, collector: DiagnosticCollector) -> None:
    """Add the diagnostic for an unknown prerequisite.

    Source: PAI documentation, prerequisites: they are found by name "from local or marketplace".
    """
    hint = "" if did_you_mean(name, index.named) else f"copy `{name}` into this file: paislurm has no marketplace"
    message = f"the file has no prerequisite `{name}`"
    collector.add("E303", path, message, hint=hint, near=(name, index.named))


def _check_amounts(role: Role, path: Path, collector: DiagnosticCollector) -> None:
    wanted, shm = role.resource_per_instance, role.extra_container_options.shm_mb
    amounts: tuple[tuple[str, Path, int, int | None, str, str], ...] = (
        ("W204", ("resourcePerInstance", "cpu"), 1, wanted.cpu, "1: a task needs a CPU", "write `cpu: 1`"),
        ("W205", ("resourcePerInstance", "gpu"), 0, wanted.gpu, "0", "write `gpu: 0`"),
        (
            "W206",
            ("resourcePerInstance", "memoryMB"),
            1,
            wanted.memory_mb,
            "no amount: the site's default applies",
            "write the memory of a task in MiB",
        ),
        (
            "W207",
            ("extraContainerOptions", "shmMB"),
            0,
            shm,
            f"{DEFAULT_SHM_MIB}, the default",
            "remove it, or write a size in MiB",
        ),
    )
    for code, steps, least, amount, meaning, hint in amounts:
        if amount is not None and amount < least:
            collector.add(code, (*path, *steps), f"`{steps[-1]}: {amount}` counts as {meaning}", hint=hint)


def _add_undefined(index: PrerequisiteIndex, path: Path, kind: str, name: str, collector: DiagnosticCollector) -> None:
    """Add the diagnostic for a role that selects an unknown prerequisite of a type."""
    others = [each.type for _, each in index.all if each.name == name]
    if any(other not in _SELECTED for other in others):
        return  # already reported as a wrong type
    same = [each.name for _, each in index.all if each.type == kind and each.name]
    message = f"no prerequisite of type {kind} has the name `{name}`"
    hint = f"`{name}` is of type {others[0]}" if others else ""
    if not index.all:
        hint = f"add `prerequisites:` with an item of `type: {kind}`, a `name` and a `uri`"
    collector.add("E304", path, message, hint=hint, near=(name, same))


def _check_requirements(index: PrerequisiteIndex, collector: DiagnosticCollector) -> None:
    """Add diagnostics for unknown requirements, and one for each cycle."""
    named = index.named
    open_names: dict[str, bool] = {}
    for root in named:
        # Each name is entered once; a requirement of a name that is still open closes a cycle.
        stack: list[tuple[str, deque[tuple[Path, str]]]] = []
        if root not in open_names:
            stack.append((root, deque(index.requirements(root))))
            open_names[root] = True
        while stack:
            name, rest = stack[-1]
            if not rest:
                open_names[name] = False
                stack.pop()
                continue
            where, wanted = rest.popleft()
            if wanted not in named:
                _add_unknown(where, wanted, index, collector)
            elif wanted not in open_names:
                open_names[wanted] = True
                stack.append((wanted, deque(index.requirements(wanted))))
            elif open_names[wanted]:
                hint = "remove one of these requirements"
                collector.add("E306", where, _cycle([each for each, _ in stack], wanted), hint=hint)
            if wanted in named and all(isinstance(each, DockerImage) for _, each in named[wanted]):
                message = f"`{wanted}` is a container image and cannot be a requirement"
                collector.add("W309", where, message, hint="select the image with `dockerImage` of the role")


def _cycle(open_names: list[str], wanted: str) -> str:
    """Return the message for a requirement that leads back to an open name."""
    circle = [*open_names[open_names.index(wanted) :], wanted]
    if len(circle) == 2:
        return f"`{wanted}` requires itself"
    longest = 8
    if len(circle) > longest:
        circle[longest // 2 : -longest // 2] = ["..."]
    return "prerequisites require each other in a cycle: " + " > ".join(circle)


def _role_mentions(file: JobFile) -> Iterator[tuple[Path, str]]:
    """Yield each role named outside `taskRoles`, with its path."""
    slurm, hived = file.extras.slurm, file.extras.hived_scheduler
    tables: list[tuple[Path, Iterable[str]]] = []
    if slurm:
        tables.append((("extras", "slurm", "taskRoles"), slurm.task_roles))
        tables.append((("extras", "slurm", "v1", "fixedPorts"), slurm.v1.fixed_ports))
    if hived:
        tables.append((("extras", "hivedScheduler", "taskRoles"), hived.task_roles))
    tables += [((*path, "taskRoles"), each.task_roles) for path, each in placed(("deployments",), file.deployments)]
    for path, roles in tables:
        yield from (((*path, role), role) for role in roles)
    for path, plugin in placed(("extras", PLUGINS), file.extras.plugins):
        yield from placed((*path, "taskroles"), plugin.taskroles)
