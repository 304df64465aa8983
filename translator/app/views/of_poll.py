"""Poll results -> records of jobs."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from paislurm.backends.slurm.states import slurms_word

from ...monitor.status import backend_state
from ...report.cost import job_cost
from ...state.kept_plan import kept_plan
from ...state.result import read_stall
from ...state.task_reports import read_scripts
from ...times import aware
from ..places import task_places, web_pages
from ..results.failure import failure_of
from ..results.number import result_of
from .job import (
    JobChange,
    JobDependency,
    JobFailure,
    Jobs,
    JobStall,
    JobTask,
    JobView,
    RetriedAttempt,
    RoleTasks,
    TaskScript,
)
from .line import asked_of, job_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ...monitor.failure import Failure
    from ...monitor.poll import View
    from ...monitor.task_status import TaskView
    from ...report.cost import AttemptUse, JobCost
    from ...state.records import Changed, Retry
    from ...state.task_reports import ScriptRun
    from ..places import TaskPlace
    from ..session import Session
    from ..usage import Usage


def job_view(
    session: Session,
    view: View,
    tasks: Sequence[TaskView] | None = None,
    cost: JobCost | None = None,
    usages: tuple[Usage, ...] | None = None,
) -> JobView:
    """Return the state of a job with these tasks, or all; `cost` and `usages` if they were asked for."""
    known, plan = view.history, kept_plan(view.folder.path)
    failure = failure_of(session, view)
    asked, places = asked_of(view, plan), task_places(view)
    pages = () if view.job_status.ended else tuple(web_pages(view.folder, places.values()))
    run = known.run
    line: dict[str, Any] = asdict(job_line(view, plan)) | {
        "parameters": run.parameters if run else None,
        "result": result_of(view.folder, known.attempt, known.roles, run),
    }
    return JobView(
        **line,
        failure=job_failure(failure) if failure else None,
        stall=job_stall(view),
        backend_state=backend_state(view) or None,
        backend_reason=(view.observation.reason if view.observation else "") or None,
        backend_reachable=not view.backend_error,
        backend_error=view.backend_error or None,
        read_errors=view.read_errors,
        waits=view.job_status.waits,
        dependencies=tuple(JobDependency(name=each.name, until=each.until) for each in known.dependencies),
        attempts=tuple(map(_attempt, known.retries)),
        changes=tuple(map(job_change, known.changes)),
        avoided_nodes=known.avoided,
        excluded_nodes=known.excluded_nodes(session.now()),
        roles=tuple(_roles(view)),
        tasks=tuple(_tasks(view, view.tasks if tasks is None else tasks, places)),
        account=asked.account,
        job_gpus=asked.job_gpus,
        pages=pages,
        run=replace(run, suffix=run.suffix or None, secrets_file=run.secrets_file or None) if run else None,
        cost=cost,
        usages=usages,
    )


def job_views(
    session: Session,
    views: Iterable[View],
    uses: Sequence[Sequence[AttemptUse]] = (),
    usages: Sequence[tuple[Usage, ...]] = (),
) -> list[JobView]:
    """Return the states of jobs, with their costs and usages if these are given."""
    return [
        job_view(session, view, None, cost, used)
        for view, cost, used in zip_longest(views, map(job_cost, uses), usages)
    ]


def one_or_several(
    session: Session,
    views: Sequence[View],
    chosen: Callable[[Sequence[TaskView]], Sequence[TaskView]],
    *,
    several: bool,
    uses: Sequence[Sequence[AttemptUse]] = (),
    usages: Sequence[tuple[Usage, ...]] = (),
) -> JobView | Jobs:
    """Return the state of a job with its `chosen` tasks, its cost and usages, or the states of several jobs."""
    rows = zip_longest(views, map(job_cost, uses), usages)
    found = tuple(job_view(session, view, chosen(view.tasks), cost, used) for view, cost, used in rows)
    return Jobs(jobs=found) if several or len(found) > 1 else found[0]


def job_failure(failure: Failure) -> JobFailure:
    """Return the reason of a failure as a record."""
    task, command, first = failure.task, failure.command, failure.first
    return JobFailure(
        task=f"{task.role}-{task.index}" if task else None,
        node=(task.node or None) if task else None,
        what=failure.what,
        ended_at=aware(failure.ended_at),
        last_words=failure.last_words or None,
        cascade=tuple(f"{each.role}-{each.index}" for each in first.cascade) if first else (),
        cascade_delays_ms=first.delays_ms if first and first.cascade else None,
        stopped=tuple(f"{each.role}-{each.index}" for each in first.stopped) if first else (),
        evidence=first.evidence if first else (),
        exit_code=failure.exit_code,
        exit_status=task.exit_status if task else None,
        cause=failure.cause or None,
        meaning=failure.advice.meaning,
        advice=failure.advice.text,
        file=command.file if command else None,
        line=command.line if command else None,
        last_line=command.last_line if command else None,
        stream=failure.stream,
        last_lines=failure.last_lines,
    )


def job_stall(view: View) -> JobStall | None:
    """Return the stall of a running job, None for none."""
    path = view.folder.stall(view.history.attempt)
    found = None if view.job_status.ended or view.result is not None else read_stall(path)
    if found is None:
        return None
    return JobStall(
        found_at=aware(found.found_at), stalled_tasks=found.tasks, reason=found.reason, folder=str(path.with_suffix(""))
    )


def job_change(change: Changed) -> JobChange:
    """Return a change of a job as a record."""
    return JobChange(
        changed_at=aware(change.happened_at),
        user=change.user,
        attempt=change.attempt,
        job_id=change.job_id or None,
        values=change.values,
    )


def _attempt(retry: Retry) -> RetriedAttempt:
    return RetriedAttempt(
        attempt=retry.attempt,
        exit_code=retry.exit_code,
        behaviour=retry.behaviour,
        reason=retry.reason,
        retry_rule=retry.retry_rule,
        backend_state=slurms_word(retry.backend_state) or None,
        blamed_nodes=retry.blamed_nodes,
        started_at=aware(retry.started_at),
        ended_at=aware(retry.ended_at),
        retry_at=aware(retry.retry_at),
    )


def _roles(view: View) -> Iterable[RoleTasks]:
    states = {role.name: Counter[str]() for role in view.history.roles}
    for task in view.tasks:
        states[task.role][task.state] += 1
    for role in view.history.roles:
        yield RoleTasks(name=role.name, instances=role.instances, states=dict(states[role.name]))


def _tasks(view: View, tasks: Iterable[TaskView], places: dict[tuple[str, int], TaskPlace]) -> Iterable[JobTask]:
    attempt = view.history.attempt
    scripts = {role.name: read_scripts(view.folder.scripts(attempt, role)) for role in view.history.roles}
    for task in tasks:
        place = places.get((task.role, task.index))
        yield JobTask(
            role=task.role,
            index=task.index,
            task_attempt=task.task_attempt,
            state=task.state,
            exit_status=task.exit_status,
            exit_code=task.exit_code,
            node=task.node or None,
            started_at=aware(task.started_at),
            ended_at=aware(task.ended_at),
            hold_ends_at=aware(task.hold_ends_at),
            background_began_at=aware(task.background_began_at),
            background_processes=task.background_processes,
            scripts=tuple(map(_script, scripts[task.role].get(task.index, ()))),
            node_address=(place.address if place else "") or None,
            ports_by_label=place.ports if place else {},
        )


def _script(run: ScriptRun) -> TaskScript:
    return TaskScript(
        task_attempt=run.task_attempt,
        phase=run.phase,
        name=run.name or None,
        exit_status=run.exit_status,
        started_at=aware(run.started_at),
        ended_at=aware(run.ended_at),
    )
