"""The cost of jobs: their allocated time by its use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...monitor.watching.job_files import result_of
from ...report.attempt_use import AttemptEvidence, attempt_use
from ...report.cost import job_cost
from ...state.journal import read
from ...state.kept_plan import kept_plan
from ...state.task_reports import read_runs
from .accounts import OfJob, accounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...monitor.poll import View
    from ...report.cost import AttemptUse, JobCost
    from ...state.records import Record
    from ..session import Session
    from .accounts import Accounts


def uses_of_jobs(session: Session, views: Sequence[View]) -> list[list[AttemptUse]]:
    """Return the use of each job's attempts, with one query to Slurm's accounting for all jobs of a cluster."""
    jobs = [OfJob(view.history, (*read(view.folder.journal).records, *view.news)) for view in views]
    accounted, now = accounts(session, jobs, steps=False), session.now()
    each = zip(views, jobs, accounted, strict=True)
    return [list(attempt_uses(view, job.records, found, now)) for view, job, found in each]


def job_costs(session: Session, views: Sequence[View]) -> list[JobCost]:
    """Return the cost of each job."""
    return [job_cost(uses) for uses in uses_of_jobs(session, views)]


def attempt_uses(view: View, records: Sequence[Record], accounted: Accounts, now: int) -> Iterator[AttemptUse]:
    """Yield the use of each attempt. A result that cannot be read counts as none."""
    folder, plan = view.folder, kept_plan(view.folder.path)
    results = [result_of(folder, number, late=False)[0] for number in range(view.history.attempt + 1)]
    marks = [*(result.resumed_from if result else None for result in results[1:]), None]
    for number, result in enumerate(results):
        yield attempt_use(
            AttemptEvidence(
                number=number,
                now=now,
                history=view.history,
                job_status=view.job_status,
                records=records,
                plan=plan,
                result=result,
                runs=read_runs(folder.reports(number)),
                allocated=accounted.allocated.get(number, ()),
                later_mark=marks[number],
            )
        )
