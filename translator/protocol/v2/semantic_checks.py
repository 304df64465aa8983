"""Check the names by which parts of a job file refer to each other.

It looks at the values as they stand, and so finds what is wrong with names in a file that has other diagnostics
too.

Source: PAI rest-server, semantic checks of protocol v2 jobs; PAI issue 5145 for `require`.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from .lookup import PLUGINS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...reading.document import Document, Path, Value
    from ...validation.diagnostics import DiagnosticCollector
    from .lookup import Lookup

SELECTIONS = {"dockerImage": "dockerimage", "data": "data", "output": "output", "script": "script"}
"""The keys of a role that name one prerequisite, and the type it has to be of."""
MAX_CONTROLLER_NAME = 63
"""Letters and digits of a role's name. Source: OpenPAI FrameworkController, name of a task role."""


def check_semantics(collector: DiagnosticCollector, lookup: Lookup) -> None:
    """Add a diagnostic for each name that is taken twice, and for each that names nothing."""
    _check_unique(collector)
    _check_roles(collector, lookup)
    _check_requirements(collector, lookup)
    document = collector.document
    default = document.at(("defaults", "deployment"))
    deployments = _names(document, "deployments")
    if isinstance(default, str) and default not in deployments:
        message = f"there is no deployment `{default}`"
        collector.add("E305", ("defaults", "deployment"), message, near=(default, deployments))
    roles = document.mapping(("taskRoles",))
    for path, name in _role_mentions(document):
        if name not in roles:
            code = "E308" if path[:2] == ("extras", "slurm") else "W303"
            message = f"the job has no role `{name}`" + ("" if code == "E308" else ", so this does nothing")
            collector.add(code, path, message, near=(name, roles), key=isinstance(path[-1], str))


def controller_name(role: str) -> str:
    """Return the name that OpenPAI's controller gave a role. Source: PAI rest-server, convertName."""
    return re.sub(r"[^a-z0-9]", "", role.lower())


def _check_unique(collector: DiagnosticCollector) -> None:
    seen: dict[tuple[Value, Value, Value], int] = {}
    for key, code in (("prerequisites", "E301"), ("deployments", "E302")):
        for path, value in collector.document.mappings((key,)):
            name, kind = value.get("name"), value.get("type") if key == "prerequisites" else key
            location = collector.document.location((*path, "name"))
            if not isinstance(name, str) or not isinstance(kind, str):
                continue
            first = seen.setdefault((key, kind, name), location.line)
            if first != location.line:
                what = f"prerequisite of type {kind}" if key == "prerequisites" else "deployment"
                message = f"there already is a {what} named `{name}`, at line {first}"
                collector.add(code, (*path, "name"), message, hint="rename one of the two")


def _check_roles(collector: DiagnosticCollector, lookup: Lookup) -> None:
    document, named = collector.document, lookup.named
    seen: dict[str, str] = {}
    for role in document.mapping(("taskRoles",)):
        path: Path = ("taskRoles", role)
        short = controller_name(role)
        if role.isascii() and (not short or len(short) > MAX_CONTROLLER_NAME):
            message = f"the role name needs from 1 to {MAX_CONTROLLER_NAME} letters and digits"
            collector.add("E307", path, message, key=True)
        elif seen.setdefault(short, role) != role:
            message = f"the roles `{seen[short]}` and `{role}` are both `{short}` to the variables of tasks"
            collector.add("E307", path, message, hint="rename one: case and `_` do not tell roles apart", key=True)
        for key, kind in SELECTIONS.items():
            name = document.at((*path, key))
            if isinstance(name, str) and lookup.prerequisite(kind, name) is None:
                _add_undefined(collector, (*path, key), kind, name)
        for where, name in document.texts((*path, "prerequisites")):
            if name not in named:
                collector.add("E303", where, f"there is no prerequisite `{name}`", near=(name, named))
            elif len(named[name]) > 1:
                kinds = " and ".join(str(value.get("type")) for _, value in named[name])
                message = f"`{name}` is the name of several prerequisites: {kinds}"
                collector.add("W304", where, message, hint="rename all but one of them")


def _add_undefined(collector: DiagnosticCollector, path: Path, kind: str, name: str) -> None:
    """Add the diagnostic for a role that selects a prerequisite of a type where there is none of that name."""
    if collector.is_full("E304"):
        return
    every = collector.document.mappings(("prerequisites",))
    others = [str(value.get("type")) for _, value in every if value.get("name") == name]
    if any(other not in SELECTIONS.values() for other in others):
        return  # that type is the diagnostic
    same = [str(value.get("name")) for _, value in every if value.get("type") == kind]
    message = f"there is no prerequisite of type {kind} named `{name}`"
    hint = f"`{name}` is of type {others[0]}" if others else ""
    if not every:
        hint = "add `prerequisites:` with an item of `type: dockerimage`, a `name` and a `uri`"
    collector.add("E304", path, message, hint=hint, near=(name, same))


def _check_requirements(collector: DiagnosticCollector, lookup: Lookup) -> None:
    """Add diagnostics for requirements that do not exist, and one for each that closes a cycle."""
    named = lookup.named
    open_names: dict[str, bool] = {}
    for root in named:
        # Each name is entered once; a requirement that leads to a name still open closes a cycle.
        stack: list[tuple[str, deque[tuple[Path, str]]]] = []
        if root not in open_names:
            stack.append((root, deque(lookup.requirements(root))))
            open_names[root] = True
        while stack:
            name, rest = stack[-1]
            if not rest:
                open_names[name] = False
                stack.pop()
                continue
            where, wanted = rest.popleft()
            if wanted not in named:
                collector.add("E303", where, f"there is no prerequisite `{wanted}`", near=(wanted, named))
            elif wanted not in open_names:
                open_names[wanted] = True
                stack.append((wanted, deque(lookup.requirements(wanted))))
            elif open_names[wanted]:
                collector.add("E306", where, _cycle([each for each, _ in stack], wanted))
            if wanted in named and all(value.get("type") == "dockerimage" for _, value in named[wanted]):
                message = f"`{wanted}` is a container image, which a requirement cannot put in place"
                collector.add("W309", where, message, hint="a role names its image as `dockerImage`")


def _cycle(open_names: list[str], wanted: str) -> str:
    """Return what is said of a requirement that leads back to a name whose requirements are being looked at."""
    circle = [*open_names[open_names.index(wanted) :], wanted]
    if len(circle) == 2:
        return f"`{wanted}` requires itself"
    longest = 8
    if len(circle) > longest:
        circle[longest // 2 : -longest // 2] = ["..."]
    return "prerequisites require each other in a cycle: " + " > ".join(circle)


def _names(document: Document, key: str) -> list[str]:
    found = (value.get("name") for _, value in document.mappings((key,)))
    return [name for name in found if isinstance(name, str)]


def _role_mentions(document: Document) -> Iterator[tuple[Path, str]]:
    """Yield each role that is named outside `taskRoles`, and where."""
    tables: list[Path] = [("extras", "slurm", "taskRoles"), ("extras", "hivedScheduler", "taskRoles")]
    tables.append(("extras", "slurm", "v1", "fixedPorts"))
    tables += [(*path, "taskRoles") for path, _ in document.mappings(("deployments",))]
    for table in tables:
        for role in document.mapping(table):
            yield (*table, role), role
    for path, _ in document.mappings(("extras", PLUGINS)):
        yield from document.texts((*path, "taskroles"))
