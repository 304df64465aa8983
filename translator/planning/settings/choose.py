"""Which settings a script has, what forms they may have, and what the runtime takes where it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .of_job import OF_JOB
from .of_role import OF_ROLE, RoleOfPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..plan import Plan, RolePlan
    from .forms import Form
    from .setting import Owner, Row, Setting


def job_settings(plan: Plan) -> list[Setting]:
    """Return the settings of a job that are not their default."""
    return [setting for row in OF_JOB if (setting := row.setting(plan))]


def role_settings(role: RolePlan, plan: Plan) -> list[Setting]:
    """Return the settings of a role that are not their default."""
    of = RoleOfPlan(role, plan)
    return [setting for row in OF_ROLE if (setting := row.setting(of))]


def job_setting_forms() -> dict[str, Form]:
    """Return the settings that a job can have, by name, and the form of each."""
    return {row.name: row.form for row in OF_JOB}


def role_setting_forms() -> dict[str, Form]:
    """Return the settings that a role can have, by name, and the form of each."""
    return {row.name: row.form for row in OF_ROLE}


def defaults() -> tuple[Iterator[tuple[str, str]], Iterator[tuple[str, str]]]:
    """Return the defaults of a job's settings and of a role's: names, and values as bash writes them."""
    return _defaults(OF_JOB), _defaults(OF_ROLE)


def _defaults(rows: tuple[Row[Owner], ...]) -> Iterator[tuple[str, str]]:
    return ((row.name, row.default) for row in rows if row.default is not None)
