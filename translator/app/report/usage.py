"""What the tasks of attempts used, by Slurm's accounting: one sacct for a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paislurm.backends.base import JobId
from paislurm.backends.registry import is_elsewhere
from paislurm.backends.slurm import commands
from paislurm.backends.slurm.steps import accounted_usages, sacct_steps

from ...errors import BackendError
from ...state.records import Submitted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from paislurm.backends.slurm.steps import StepUsage

    from ...state.history import History
    from ...state.records import Record
    from ..session import Session

SECONDS = 60.0
MAX_COMPONENTS = 128
"""Components of a heterogeneous job have consecutive numbers. Source: srun(1), --het-group."""
LOCAL = "local"


def usages(session: Session, known: History, records: Iterable[Record]) -> Mapping[int, Mapping[str, StepUsage]]:
    """Return by attempt and role what each task used on average; nothing where Slurm keeps no accounts.

    A role that ran in several steps has the figures of the step with the most tasks.
    """
    jobs = {JobId(each.job_id): each.attempt for each in records if isinstance(each, Submitted) and each.job_id}
    if not jobs or known.backend == LOCAL:
        return {}
    runner = session.slurm_runner(known.backend if is_elsewhere(known.backend) else "slurm")
    try:
        answer = runner.run(sacct_steps(jobs), timeout=SECONDS).stdout
    except BackendError:
        return {}
    leaders = {int(commands.number_of(job)): attempt for job, attempt in jobs.items()}
    roles = {role.name for role in known.roles}
    found: dict[int, dict[str, StepUsage]] = {attempt: {} for attempt in jobs.values()}
    for number, name, usage in accounted_usages(answer):
        leader = max((each for each in leaders if each <= number < each + MAX_COMPONENTS), default=None)
        if leader is not None and name in roles:
            of_attempt = found[leaders[leader]]
            of_attempt[name] = max(of_attempt.get(name, usage), usage, key=lambda each: each.tasks)
    return found
