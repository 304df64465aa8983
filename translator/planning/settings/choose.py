"""Which settings a script has, and what the runtime takes where it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .of_job import OF_JOB
from .of_role import OF_ROLE, RoleOfPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..plan import Plan, RolePlan
    from .setting import Owner, Row, Setting


def job_settings(plan: Plan) -> list[Setting]:
    """Return the settings of a job that are not their default."""
    return [setting for row in OF_JOB if (setting := row.setting(plan))]


def role_settings(role: RolePlan, plan: Plan) -> list[Setting]:
    """Return the settings of a role that are not their default."""
    of = RoleOfPlan(role, plan)
    return [setting for row in OF_ROLE if (setting := row.setting(of))]


def defaults() -> tuple[Iterator[tuple[str, str]], Iterator[tuple[str, str]]]:
    """Return the defaults of a job's settings and of a role's: names, and values as bash writes them."""
    return _defaults(OF_JOB), _defaults(OF_ROLE)


def _defaults(rows: tuple[Row[Owner], ...]) -> Iterator[tuple[str, str]]:
    return ((row.name, row.default) for row in rows if row.default is not None)
