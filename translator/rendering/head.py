"""The head of a script: the job's own part, as sections of lines for the template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ..planning.environment import SECOND_NAMES
from ..planning.settings.of_job import job_settings
from ..planning.settings.of_role import role_settings
from ..plural import counted
from ..protocol.expressions.secrets import TAG
from .lines import Line, setting_lines, srun, started_by
from .shell import ShellWord, export, export_around, here_document, our_own, quote, sbatch_line
from .summary import completion_sentence, component_comment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..planning.plan import Component, HookScript, Plan, RolePlan


class Document(Struct, frozen=True, kw_only=True):
    """Hold the lines of a here-document, and a delimiter that none of them is."""

    delimiter: ShellWord
    lines: list[Line]


class StepSection(Struct, frozen=True, kw_only=True):
    """Show one step around the commands of a role: its text, or a plugin's settings and the call of its program."""

    title: str
    function: ShellWord
    document: Document
    program: list[Line]


class RoleSection(Struct, frozen=True, kw_only=True):
    """Show a task role: its settings, the srun that starts it, its variables, its commands and their steps."""

    position: int
    title: str
    completion: str
    settings: list[Line]
    srun: list[Line]
    environment: list[Line]
    commands: list[Document]
    steps: list[StepSection]


class ComponentSection(Struct, frozen=True, kw_only=True):
    """Show what is asked of Slurm in one component."""

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


def environment(plan: Plan) -> Document:
    """Return the variables of all tasks that are known now."""
    lines = [
        Line(text=export(name, value, *more), entry=("exports", name))
        for name, value, more in _exports(plan.environment.of_job)
    ]
    lines += [
        Line(text=export_around(name, parts, "PAI_USER_NAME"), entry=("exports", name))
        for name, parts in plan.environment.paths
    ]
    return _document("END_OF_ENVIRONMENT", lines)


def _exports(variables: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield variables with their value, and the names after each that mean the same."""
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
"""Lines of a function of the head beside its body, with what stands above it."""


def variables_of_every_role(plan: Plan) -> Mapping[str, str]:
    """Return the variables that all task roles have with the same value, none where the head is no shorter for it."""
    same, *others = (dict(role.environment) for role in plan.roles)
    for other in others:
        same = {name: value for name, value in same.items() if other.get(name) == value}
    saved, added = len(others) * len(list(_exports(same.items()))), len(plan.roles) + _LINES_AROUND
    return same if saved > added else {}


def environment_of_every_role(plan: Plan, same: Mapping[str, str]) -> list[Line]:
    """Return the lines of the variables that all task roles have alike."""
    roles = tuple(range(len(plan.roles)))
    return _variables(same.items(), plan.roles[0], roles)


def role_section(role: RolePlan, plan: Plan, same: Mapping[str, str]) -> RoleSection:
    """Return the section of a task role; `same` are its variables that all roles have alike."""
    return RoleSection(
        position=role.position,
        title=_title(role, plan),
        completion=completion_sentence(role),
        settings=setting_lines(role_settings(role, plan), role=role.position),
        srun=_srun(role, plan),
        environment=list(_environment(role, same)),
        commands=list(_commands(role, plan)),
        steps=[_step(step, role) for step in (*role.before, *role.after)],
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


def _environment(role: RolePlan, same: Mapping[str, str]) -> Iterator[Line]:
    if same:
        yield _EVERY_ROLE
    rest = [(name, value) for name, value in role.environment if name not in same]
    yield from _variables(rest, role, (role.position,))


def _variables(variables: Iterable[tuple[str, str]], role: RolePlan, roles: tuple[int, ...]) -> list[Line]:
    of_fabric = {name for name, _ in role.infiniband.variables} if role.infiniband else set()
    return [
        Line(
            text=our_own([f"  {export(name, value, *more)}"]),
            entry=("lines", "fabric") if name in of_fabric else ("exports", name),
            roles=roles,
        )
        for name, value, more in _exports(variables)
    ]


def _commands(role: RolePlan, plan: Plan) -> Iterator[Document]:
    if plan.environment.of_commands:
        of_job = [Line(text=export(name, value), fields=("job-envs",)) for name, value in plan.environment.of_commands]
        yield _document("END_OF_VARIABLES", of_job)
    yield _text("END_OF_COMMANDS", role.command.text, role.command.lines)


def _text(label: str, text: str, starts: Sequence[tuple[int, int]]) -> Document:
    """Return a text of the job file; `starts` are its lines at which a line of the job file begins, and that line."""
    delimiter, whole = here_document(text, label)
    begins = dict(starts)
    current: tuple[int, ...] = ()
    lines: list[Line] = []
    for position, line in enumerate(whole.split("\n")):
        current = (begins[position],) if position in begins else current
        lines.append(Line(text=our_own([line]), job_lines=current, is_text=True))
    return Document(delimiter=delimiter, lines=lines)


def _document(label: str, lines: list[Line]) -> Document:
    delimiter, _ = here_document("\n".join(line.text for line in lines), label)
    return Document(delimiter=delimiter, lines=lines)


_NAMED = re.compile(re.escape(TAG) + r"(\S+) %>")
"""A reference to a secret, as `settled` leaves it."""
_WHEN = {
    "start": "before the commands",
    "success": "after the commands succeeded",
    "failure": "after the task failed, with $PAISLURM_EXIT_STATUS",
    "exit": "after the commands, however they end, with $PAISLURM_EXIT_STATUS",
}


def _step(step: HookScript, role: RolePlan) -> StepSection:
    script = step.script
    failure = "a failure is ignored" if step.ignore_failure else "a failure fails the task"
    when = _WHEN[step.phase] + ("" if step.phase in ("failure", "exit") else f"; {failure}")
    if script.program:
        rule = f"what the plugin {script.program} does: PAI runtime, plugins"
        job_lines = tuple(range(step.lines.first, step.lines.last + 1))
        texts = [*(_setting(name, value) for name, value in script.settings), f"  program_of_{script.program}"]
        *lines, call = [Line(text=our_own([text.rstrip("\n")]), rule=rule, job_lines=job_lines) for text in texts]
        document, calls = _document("END_OF_SETTINGS", lines), [call]
    else:
        document, calls = _text("END_OF_SCRIPT", script.text, script.lines), []
    return StepSection(
        title=f"{step.kind.capitalize()} {step.name}, {step.lines}, {when}.",
        function=our_own([f"{step.phase}_{step.number}_of_role_{role.position}"]),
        document=document,
        program=calls,
    )


def _setting(name: str, value: str) -> str:
    """Return the assignment of a variable. Secrets in it stand between quotes, and the task puts them in quoted."""
    parts = [f"{TAG}{part} quoted %>" if number % 2 else quote(part) for number, part in enumerate(_NAMED.split(value))]
    return f"{name}={''.join(parts)}\n"
