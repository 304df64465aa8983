"""What a job asks of Slurm, by the plan in its folder and what was changed since."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...state.kept_plan import kept_plan
from ...times import seconds_of

if TYPE_CHECKING:
    from ...monitor.poll import View


class Asked(NamedTuple):
    """Hold what a job asks of Slurm, after all changes: its time limit in seconds, and the GPUs of all its tasks."""

    account: str | None
    time_limit: int | None
    job_gpus: int


def asked_of(view: View) -> Asked:
    """Return what a job asks of Slurm, as far as its folder tells."""
    plan = kept_plan(view.folder.path)
    now = plan.directives
    for change in view.history.changes:
        now |= change.values
    try:
        limit = seconds_of(now.get("time", ""))
    except ValueError:
        limit = None
    return Asked(now.get("account") or None, limit, plan.gpu_count)
