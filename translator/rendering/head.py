"""The head of a script: the job's own part, as sections of lines for the template."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..planning.settings.choose import job_settings, role_settings
from ..protocol.expressions.secrets import TAG
from .lines import Line, setting_lines
from .runtime_bundle import program
from .shell import ShellWord, export, export_around, here_document, our_own, quote, sbatch_line
from .srun import srun, started_by
from .summary import completion_sentence, component_comment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..planning.plan import Component, HookScript, Plan, RolePlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Hold the lines of a here-document, and a delimiter that none of them is."""

    delimiter: ShellWord
    lines: list[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSection:
    """Show one step around the commands of a role."""

    title: str
    function: ShellWord
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSection:
    """Show a task role: its settings, the srun that starts it, its variables, its commands and their steps."""

    position: int
    title: str
    completion: str
    settings: list[Line]
    srun: list[Line]
    environment: list[Line]
    commands: list[Document]
    steps: list[StepSection]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSection:
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
    lines = [_export(export(name, value), name, plan) for name, value in plan.environment.of_job]
    lines += [
        _export(export_around(name, parts, "PAI_USER_NAME"), name, plan) for name, parts in plan.environment.paths
    ]
    return _document("END_OF_ENVIRONMENT", lines)


def _export(text: ShellWord, name: str, plan: Plan) -> Line:
    """Return the line of a variable; one with a role's name at its end is that role's."""
    roles = tuple(role.position for role in plan.roles if name.endswith("_" + role.name))
    return Line(text=text, entry=("exports", name), roles=roles)


def role_section(role: RolePlan, plan: Plan) -> RoleSection:
    """Return the section of a task role."""
    return RoleSection(
        position=role.position,
        title=_title(role, plan),
        completion=completion_sentence(role),
        settings=setting_lines(role_settings(role, plan), role=role.position),
        srun=_srun(role, plan),
        environment=list(_environment(role)),
        commands=list(_commands(role, plan)),
        steps=[_step(step, role) for step in (*role.before, *role.after)],
    )


def _title(role: RolePlan, plan: Plan) -> str:
    first = plan.roles[started_by(role)].name
    tasks = "1 task" if role.instances == 1 else f"{role.instances} tasks"
    started = f" The srun of {first} starts it, as ranks of one MPI world." if first != role.name else ""
    return f"{role.name}, {tasks}, from {plan.source}, {role.lines}.{started}"


def _srun(role: RolePlan, plan: Plan) -> list[Line]:
    if started_by(role) != role.position:
        return []
    roles = role.mpi_group.roles if role.mpi_group else (role.position,)
    return [Line(text=text, entry=("lines", "srun"), roles=roles) for text in srun(role, plan)]


def _environment(role: RolePlan) -> Iterator[Line]:
    for name, value in role.environment:
        entry = ("exports", name)
        if role.infiniband and name in dict(role.infiniband.variables):
            entry = ("lines", "fabric")
        yield Line(text=our_own([f"  {export(name, value)}"]), entry=entry, roles=(role.position,))


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
    "exit": "after the commands, however they end",
}


def _step(step: HookScript, role: RolePlan) -> StepSection:
    script = step.script
    failure = "a failure is ignored" if step.ignore_failure else "a failure fails the task"
    when = _WHEN[step.phase] + ("" if step.phase == "exit" else f"; {failure}")
    if script.program:
        rule = f"what the plugin {script.program} does: PAI runtime, plugins"
        job_lines = tuple(range(step.lines.first, step.lines.last + 1))
        text = "".join(_setting(name, value) for name, value in script.settings) + program(script.program)
        lines = [Line(text=our_own([line]), rule=rule, job_lines=job_lines) for line in text.split("\n")]
        document = _document("END_OF_SCRIPT", lines)
    else:
        document = _text("END_OF_SCRIPT", script.text, script.lines)
    return StepSection(
        title=f"{step.kind.capitalize()} {step.name}, {step.lines}, {when}.",
        function=our_own([f"{step.phase}_{step.number}_of_role_{role.position}"]),
        document=document,
    )


def _setting(name: str, value: str) -> str:
    """Return the assignment of a variable. Secrets in it stand between quotes, and the task puts them in quoted."""
    parts = [f"{TAG}{part} quoted %>" if number % 2 else quote(part) for number, part in enumerate(_NAMED.split(value))]
    return f"{name}={''.join(parts)}\n"
