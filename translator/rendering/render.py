"""plan -> script: the head is the template's, every value is quoted on its way in, and the runtime follows its seal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .engine import engine
from .head import (
    component_sections,
    environment,
    environment_of_every_role,
    role_section,
    settings,
    variables_of_every_role,
)
from .runtime_bundle import runtime, seal, uses_of
from .summary import summary

if TYPE_CHECKING:
    from jinja2 import BytecodeCache

    from ..planning.plan import Plan
    from .lines import Line


def render(plan: Plan, compiled: BytecodeCache | None = None) -> str:
    """Return the batch script of a plan: the same plan gives the same bytes, wherever templates are kept compiled."""
    head, uses = render_head(plan, compiled), uses_of(plan)
    body = runtime(uses)
    return f"{head}{seal(head, body, plan.version, uses)}{body}"


def render_head(plan: Plan, compiled: BytecodeCache | None = None, *, marks: list[Line] | None = None) -> str:
    """Return the job's own part of a script, up to the seal.

    With `marks`, which it fills, each line that varies begins with its number there between two NUL characters.
    """
    same = variables_of_every_role(plan)
    template = engine(compiled).get_template("job.sbatch.j2")
    return template.render(
        components=component_sections(plan),
        summary=summary(plan),
        settings=settings(plan),
        environment=environment(plan),
        environment_of_every_role=environment_of_every_role(plan, same),
        roles=[role_section(role, plan, same) for role in plan.roles],
        marks=marks,
    )
