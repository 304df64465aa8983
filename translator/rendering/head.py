"""The head of a script, as sections of lines for the template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ..planning.environment import SECOND_NAMES
from ..planning.preflight import preflight_words
from ..planning.settings.of_job import job_settings
from ..planning.settings.of_role import role_settings
from ..plural import counted
from ..protocol.expressions.secrets import TAG
from .lines import Line, setting_lines, srun, started_by
from .shell import ShellWord, export, export_around, here_document, our_own, quote, sbatch_line
from .summary import completion_sentence, component_comment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..planning.job_plan import Component, HookScript, Plan, RolePlan


class HereDocument(Struct, frozen=True, kw_only=True):
    """Hold the lines of a here-document, and a delimiter that differs from all of them."""

    delimiter: ShellWord
    lines: list[Line]


class HookSection(Struct, frozen=True, kw_only=True):
    """Hold a hook of a role: its text, or a plugin's settings and the call of its program."""

    title: str
    function: ShellWord
    document: HereDocument
    program: list[Line]


class RoleSection(Struct, frozen=True, kw_only=True):
    """The part of the head about one task role."""

    position: int
    title: str
    completion: str
    settings: list[Line]
    srun: list[Line]
    environment: list[Line]
    commands: list[HereDocument]
    hooks: list[HookSection]


class ComponentSection(Struct, frozen=True, kw_only=True):
    """Hold the request to Slurm for one component."""

    comment: list[str]
    lines: list[Line]


def component_sections(plan: Plan) -> list[ComponentSection]:
    """Return the `#SBATCH` lines of each component."""
    return [
        ComponentSection(
            comment=component_comment(component, plan),
            lines=[_directive(name, value, component) for name, value in component.directives],
        )
        for component in plan.components
    ]


def _directive(name: str, value: str | None, component: Component) -> Line:
    text = our_own([f"#SBATCH {sbatch_line(name, value)}"])
    return Line(text=text, entry=("options", name), roles=component.roles)


def settings(plan: Plan) -> list[Line]:
    """Return the settings of the job that differ from their default."""
    return [
        Line(text=line.text, fields=line.fields, rule=plan.layout.reason) if line.rule == "LAYOUT" else line
        for line in setting_lines(job_settings(plan))
    ]


def environment(plan: Plan) -> HereDocument:
    """Return the variables of all tasks that are known at compile time."""
    lines = [
        Line(text=export(name, value, *more), entry=("exports", name))
        for name, value, more in _exports(plan.environment.of_job)
    ]
    lines += [
        Line(text=export_around(name, parts, "PAI_USER_NAME"), entry=("exports", name))
        for name, parts in plan.environment.paths
    ]
    return _here_document("END_OF_ENVIRONMENT", lines)


def _exports(variables: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield each variable with its value and its second names, which follow it directly and have the same value."""
    found: tuple[str, str, list[str]] | None = None
    for name, value in variables:
        if found and name in SECOND_NAMES and value == found[1]:
            found[2].append(name)
            continue
        if found:
            yield found
        found = (name, value, [])
    if found:
        yield found


_LINES_AROUND = 4
"""The lines that a function adds to the head besides its body, including the comment above it."""


def variables_of_every_role(plan: Plan) -> Mapping[str, str]:
    """Return the variables that have the same value in all task roles; none if this would not shorten the head."""
    shared, *others = (dict(role.environment) for role in plan.roles)
    for other in others:
        shared = {name: value for name, value in shared.items() if other.get(name) == value}
    saved, added = len(others) * len(list(_exports(shared.items()))), len(plan.roles) + _LINES_AROUND
    return shared if saved > added else {}


def environment_of_every_role(plan: Plan, shared: Mapping[str, str]) -> list[Line]:
    """Return the lines that export the variables `shared`; they belong to all task roles."""
    roles = tuple(range(len(plan.roles)))
    return _variables(shared.items(), plan.roles[0], roles)


def role_section(role: RolePlan, plan: Plan, shared: Mapping[str, str]) -> RoleSection:
    """Return the section of a task role. The section leaves out `shared`, the variables of all roles."""
    return RoleSection(
        position=role.position,
        title=_title(role, plan),
        completion=completion_sentence(role),
        settings=setting_lines(role_settings(role, plan), role=role.position),
        srun=_srun(role, plan),
        environment=list(_environment(role, shared)),
        commands=list(_commands(role, plan)),
        hooks=[*_preflight(role, plan), *(_hook_section(hook, role) for hook in (*role.before, *role.after))],
    )


def _title(role: RolePlan, plan: Plan) -> str:
    first = plan.roles[started_by(role)].name
    tasks = counted(role.instances, "task")
    started = f" The srun of {first} starts it, as ranks of one MPI world." if first != role.name else ""
    return f"{role.name}, {tasks}, from {plan.source}, {role.lines}.{started}"


def _srun(role: RolePlan, plan: Plan) -> list[Line]:
    if started_by(role) != role.position:
        return []
    roles = role.mpi_world.roles if role.mpi_world else (role.position,)
    return [Line(text=text, entry=("lines", "srun"), roles=roles) for text in srun(role, plan)]


_EVERY_ROLE = Line(text=our_own(["  environment_of_every_role"]), entry=("lines", "every-role"))


def _environment(role: RolePlan, shared: Mapping[str, str]) -> Iterator[Line]:
    if shared:
        yield _EVERY_ROLE
    rest = [(name, value) for name, value in role.environment if name not in shared]
    yield from _variables(rest, role, (role.position,))


def _variables(variables: Iterable[tuple[str, str]], role: RolePlan, roles: tuple[int, ...]) -> list[Line]:
    of_infiniband = {name for name, _ in role.infiniband.variables} if role.infiniband else set()
    return [
        Line(
            text=our_own([f"  {export(name, value, *more)}"]),
            entry=("lines", "fabric") if name in of_infiniband else ("exports", name),
            roles=roles,
        )
        for name, value, more in _exports(variables)
    ]


def _commands(role: RolePlan, plan: Plan) -> Iterator[HereDocument]:
    if plan.environment.of_commands:
        of_job = [Line(text=export(name, value), fields=("job-envs",)) for name, value in plan.environment.of_commands]
        yield _here_document("END_OF_VARIABLES", of_job)
    yield _text("END_OF_COMMANDS", role.command.text, role.command.lines)


def _text(label: str, text: str, starts: Sequence[tuple[int, int]]) -> HereDocument:
    """Return a text of the job file; `starts` maps lines of the text to the lines of the job file that begin there."""
    delimiter, whole = here_document(text, label)
    begins = dict(starts)
    current: tuple[int, ...] = ()
    lines: list[Line] = []
    for position, line in enumerate(whole.split("\n")):
        current = (begins[position],) if position in begins else current
        lines.append(Line(text=our_own([line]), job_lines=current))
    return HereDocument(delimiter=delimiter, lines=lines)


def _here_document(label: str, lines: list[Line]) -> HereDocument:
    delimiter, _ = here_document("\n".join(line.text for line in lines), label)
    return HereDocument(delimiter=delimiter, lines=lines)


_SECRET_REFERENCE = re.compile(re.escape(TAG) + r"(\S+) %>")
"""A reference to a secret in a text whose other references are replaced."""
_PHASE_TEXT = {
    "start": "before the commands",
    "success": "after the commands succeeded",
    "failure": "after the task failed, with $PAISLURM_EXIT_STATUS",
    "exit": "after the commands, however they end, with $PAISLURM_EXIT_STATUS",
}
_POLICY_TEXT = {
    "fail": "a failure fails the task",
    "continue": "failing commands are ignored",
    "ignore": "a failure is ignored",
}


_PREFLIGHT = {"command": "Commands of the preflight for each node", "pairs": "Commands of the preflight for pairs"}


def _preflight(role: RolePlan, plan: Plan) -> Iterator[HookSection]:
    """Yield the commands of the preflight; roles with equal ones share those of the first."""
    words = preflight_words(role, plan.roles).split()
    own = role.preflight
    texts = (("command", own.node_commands), ("pairs", own.pair_commands)) if own else ()
    for kind, commands in texts:
        if f"{kind}:{role.position}" in words:
            delimiter, text = here_document(commands.rstrip("\n"), "END_OF_PREFLIGHT")
            lines = [Line(text=our_own([line]), fields=("preflight",)) for line in text.split("\n")]
            yield HookSection(
                title=f"{_PREFLIGHT[kind]}.",
                function=our_own([f"preflight_{kind}_of_role_{role.position}"]),
                document=HereDocument(delimiter=delimiter, lines=lines),
                program=[],
            )


def _hook_section(hook: HookScript, role: RolePlan) -> HookSection:
    script = hook.script
    failure = _POLICY_TEXT[hook.policy]
    when = _PHASE_TEXT[hook.phase] + ("" if hook.phase in ("failure", "exit") else f"; {failure}")
    if script.program:
        rule = f"what the plugin {script.program} does: PAI runtime, plugins"
        job_lines = tuple(range(hook.lines.first, hook.lines.last + 1))
        texts = [*(_setting(name, value) for name, value in script.settings), f"  program_of_{script.program}"]
        *lines, call = [Line(text=our_own([text.rstrip("\n")]), rule=rule, job_lines=job_lines) for text in texts]
        document, calls = _here_document("END_OF_SETTINGS", lines), [call]
    else:
        document, calls = _text("END_OF_SCRIPT", script.text, script.lines), []
        if hook.policy == "continue":
            document.lines.append(
                Line(text=our_own(["", ":"]), rule="only `exit` fails the hook: PAI runtime, plugin_utils")
            )
    return HookSection(
        title=f"{hook.kind.capitalize()} {hook.name}, {hook.lines}, {when}.",
        function=our_own([f"{hook.phase}_{hook.number}_of_role_{role.position}"]),
        document=document,
        program=calls,
    )


def _setting(name: str, value: str) -> str:
    """Return an assignment in bash. References to secrets stay; the task replaces them with quoted text."""
    parts = [
        f"{TAG}{part} quoted %>" if number % 2 else quote(part)
        for number, part in enumerate(_SECRET_REFERENCE.split(value))
    ]
    return f"{name}={''.join(parts)}\n"
