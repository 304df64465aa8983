"""plan -> script: order and wording are the templates', every value is quoted on its way in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..exit_spec import exit_rules
from ..protocol.secrets import TAG
from .bash import own_names, program, runtime
from .engine import engine
from .shell import export, export_around, here_document, our_own, quote, sbatch_line

if TYPE_CHECKING:
    from jinja2 import BytecodeCache

    from ..planning.plan import Plan, RolePlan, Step
    from .shell import ShellWord


def render(plan: Plan, compiled: BytecodeCache | None = None) -> str:
    """Return the batch script of a plan: the same plan gives the same bytes, wherever templates are kept compiled."""
    rules = exit_rules(plan.exit_patterns)
    known = [export(name, value) for name, value in plan.environment]
    paths = [export_around(name, parts, "PAI_USER_NAME") for name, parts in plan.paths]
    environment = "\n".join([*known, *paths])
    delimiter, text = here_document(environment, "END_OF_ENVIRONMENT")
    return (
        engine(compiled)
        .get_template("job.sbatch.j2")
        .render(
            plan=plan,
            components=[[sbatch_line(*directive) for directive in c.directives] for c in plan.components],
            exit_rules=[quote(rule.text) for rule in rules],
            environment_delimiter=delimiter,
            environment=text,
            roles=[_role(role, plan) for role in plan.roles],
            own_names=own_names(),
            runtime=runtime(plan.containers.runtime),
        )
    )


def _role(role: RolePlan, plan: Plan) -> dict[str, object]:
    """Return what the role's section shows, beside the role plan itself."""
    variables_delimiter, variables = here_document(
        "\n".join(export(name, value) for name, value in plan.variables), "END_OF_VARIABLES"
    )
    delimiter, commands = here_document(role.command.text, "END_OF_COMMANDS")
    command = role.command
    switches = (("-e", command.errexit), ("-u", command.nounset), ("-o pipefail", command.pipefail))
    return {
        "plan": role,
        "lines": str(role.lines),
        "reference": _reference(role),
        "aliases": " ".join(role.variable_names),
        "placement": " ".join(str(count) for count in role.placement),
        "fixed_ports": " ".join(f"{port.label}:{port.first}" for port in role.ports if port.first),
        "port_counts": " ".join(f"{port.label}:{port.count}" for port in role.ports),
        "fabric": " ".join(role.fabric.checks) if role.fabric else "",
        "ranks": role.ranks,
        "world": " ".join(str(position) for position in role.world.roles) if role.world else "",
        "plugin": role.world.plugin if role.world else "",
        "step_options": _step_options(role),
        "shell_options": " ".join(option for option, wanted in switches if wanted),
        "environment": [export(name, value) for name, value in role.environment],
        "variables_delimiter": variables_delimiter,
        "variables": variables,
        "delimiter": delimiter,
        "commands": commands,
        "steps": [_step(step, role) for step in (*role.before, *role.after)],
        "before": " ".join(map(_word, role.before)),
        "after": " ".join(map(_word, role.after)),
    }


def _reference(role: RolePlan) -> str:
    """Return the words by which the script knows an image of a registry, "" for one that has a path."""
    found = role.image_plan.reference
    return f"{found.registry} {found.repository} {found.version}" if found else ""


_NAMED = re.compile(re.escape(TAG) + r"(\S+) %>")
"""A reference to a secret, as `settled` leaves it."""
_WHEN = {
    "start": "before the commands",
    "success": "after the commands succeeded",
    "exit": "after the commands, however they end",
}


def _step(step: Step, role: RolePlan) -> dict[str, object]:
    """Return what the section of one script shows."""
    script = step.script
    settings = "".join(_setting(name, value) for name, value in script.settings)
    delimiter, text = here_document(
        settings + program(script.program) if script.program else script.text, "END_OF_SCRIPT"
    )
    failure = "a failure is ignored" if step.ignore_failure else "a failure fails the task"
    return {
        "what": f"{step.kind.capitalize()} {step.name}, {step.lines}",
        "when": _WHEN[step.moment] + ("" if step.moment == "exit" else f"; {failure}"),
        "function": our_own([f"{step.moment}_{step.number}_of_role_{role.position}"]),
        "delimiter": delimiter,
        "text": text,
    }


def _setting(name: str, value: str) -> str:
    """Return the assignment of a variable. Secrets in it stand between quotes, and the task puts them in quoted."""
    parts = [f"{TAG}{part} quoted %>" if number % 2 else quote(part) for number, part in enumerate(_NAMED.split(value))]
    return f"{name}={''.join(parts)}\n"


def _word(step: Step) -> str:
    """Return the word by which the script knows a step; names of prerequisites and plugins have no dots."""
    return f"{step.moment}.{step.number}.{step.kind}.{step.name}.{'ignore' if step.ignore_failure else 'fail'}"


def _step_options(role: RolePlan) -> str:
    words: list[ShellWord] = [sbatch_line(*option) for option in role.step_options]
    return " ".join(words)
