"""Fill in how a job stands: from a poll and the files of its folder to the records of `view`."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import asdict, replace

from paislurm.backends.slurm.job_states import slurms_word

from ..exit_codes.table import ExitTable
from ..state.address import parse
from ..state.kept_plan import kept_plan
from ..state.result import read_lost_nodes, read_stall
from ..state.task_reports import read_scripts
from ..times import aware, seconds_of
from ..view.cost import job_cost
from ..view.jobs import JobView
from ..view.line import JobLine
from ..view.parts import AttemptView, JobChange, JobDependency, JobStall, RoleTasks, as_shown
from ..view.task import TaskScript
from ..view.waits import advice
from .log_reading import result_of
from .task_facts import web_pages, with_places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..monitor.facts import View
    from ..monitor.job_status import JobStatus
    from ..state.history import History
    from ..state.journal_records import Changed, Retry
    from ..state.kept_plan import KeptPlan
    from ..view.cost import AttemptUse, JobCost
    from ..view.task import TaskView, Usage
    from .session import Session


def line_of_status(name: str, folder: str, known: History, status: JobStatus) -> JobLine:
    """Return the line of a job from its journal and status, without its nodes and tasks."""
    user, _, job = parse(name).name.partition("~")
    return JobLine(
        name=name,
        job=known.job or job or None,
        user=known.user or user or None,
        state=status.state,
        exit_code=status.code,
        reason=status.reason or None,
        ended=status.ended,
        attempt=known.attempt,
        retries=known.counters.total,
        backend=known.backend or None,
        job_id=known.job_id or None,
        accepted=False if known.is_held_back or known.refused is not None else bool(known.job_id) or None,
        created_at=aware(known.created or None),
        submitted_at=aware(known.submitted),
        started_at=None,
        ended_at=None,
        virtual_cluster=known.virtual_cluster or None,
        partition=known.options.get("partition") or known.partition or None,
        folder=folder,
        task_count=known.tasks,
        completed=None,
        waits_began_at=aware(status.since),
        advice=advice(status.waits) or None,
        group=known.group or None,
        sweep=known.sweep,
    )


def job_line(view: View, plan: KeptPlan | None = None) -> JobLine:
    """Return the line of a job; `plan` is read if it is not given."""
    return replace(
        line_of_status(view.folder.name, str(view.folder.path), view.history, view.job_status),
        started_at=aware(view.started_at),
        ended_at=aware(view.history.ended.ended_at if view.history.ended else None),
        expected_start_at=aware(view.expected_start_at),
        node_list=view.node_list or None,
        completed=sum(task.completed for task in view.tasks) if view.tasks and view.history.retry is None else None,
        time_limit=asked_of(view, plan).time_limit,
    )


class Asked(NamedTuple):
    """The request of a job after all changes, and by Slurm: its time limit in seconds, the GPUs of all its tasks."""

    account: str | None
    qos: str | None
    time_limit: int | None
    job_gpus: int
    replaced: Mapping[str, str]
    """The requested `partition`, `account` and `time` for which Slurm shows others, which are the fields above."""


def asked_of(view: View, plan: KeptPlan | None = None) -> Asked:
    """Return the request of a job; `plan` is read if it is not given."""
    plan = plan or kept_plan(view.folder.path)
    options = dict(plan.directives)
    for change in view.history.changes:
        options |= change.values
    shown = view.history.options
    wanted = options | {"partition": view.history.partition}
    replaced = {name: wanted[name] for name, value in shown.items() if wanted.get(name) not in (None, "", value)}
    options |= shown
    try:
        limit = seconds_of(options.get("time", ""))
    except ValueError:
        limit = None
    return Asked(options.get("account") or None, options.get("qos") or None, limit, plan.gpu_count, replaced)


def job_view(
    session: Session,
    view: View,
    tasks: Sequence[TaskView] | None = None,
    cost: JobCost | None = None,
    usages: tuple[Usage, ...] | None = None,
    *,
    explain: bool = True,
) -> JobView:
    """Return how a job stands, with these tasks, or all; `cost` and `usages` if they were asked for.

    Without `explain`, do not read the logs of a failed job for the reason.
    """
    known, plan = view.history, kept_plan(view.folder.path)
    asked, placed = asked_of(view, plan), with_places(view)
    run = known.run
    failure = None
    if explain and (view.job_status.state == "FAILED" or known.retry is not None):
        from .failed_task import failure_of

        failure = failure_of(session, view)
    line: dict[str, Any] = asdict(job_line(view, plan)) | {
        "parameters": run.parameters if run else None,
        "result": result_of(view.folder, known.attempt, known.roles, run),
    }
    return JobView(
        **line,
        retry_limit=known.retry_policy.retry_limit,
        failure=failure,
        stall=job_stall(view),
        lost_nodes=() if view.job_status.ended else read_lost_nodes(view.folder.lost_nodes(known.attempt)),
        backend_state=view.backend_state or None,
        backend_reason=(view.observation.reason if view.observation else "") or None,
        backend_reachable=not view.backend_error,
        backend_error=view.backend_error or None,
        read_errors=view.read_errors,
        waits=view.job_status.waits,
        dependencies=tuple(as_shown(JobDependency, each) for each in known.dependencies),
        attempts=tuple(_attempt(each, view.table) for each in known.retries),
        changes=tuple(map(job_change, known.changes)),
        avoided_nodes=known.avoided,
        excluded_nodes=known.excluded_nodes(session.now()),
        roles=tuple(_roles(view)),
        tasks=tuple(_with_scripts(view, placed, placed if tasks is None else tasks)),
        account=asked.account,
        qos=asked.qos,
        replaced_options=asked.replaced,
        backend_notes=known.notes or None,
        job_gpus=asked.job_gpus,
        pages=() if view.job_status.ended else tuple(web_pages(view.folder, placed)),
        run=replace(run, suffix=run.suffix or None, secrets_file=run.secrets_file or None) if run else None,
        cost=cost,
        usages=usages,
    )


def job_views(
    session: Session,
    views: Iterable[View],
    uses: Sequence[Sequence[AttemptUse]] = (),
    usages: Sequence[tuple[Usage, ...]] = (),
    chosen: Callable[[Sequence[TaskView]], Sequence[TaskView]] = lambda tasks: tasks,
) -> list[JobView]:
    """Return how jobs stand, with their `chosen` tasks, and their costs and usages if these are given."""
    rows = zip_longest(views, map(job_cost, uses), usages)
    return [job_view(session, view, chosen(view.tasks), cost, used) for view, cost, used in rows]


def job_stall(view: View) -> JobStall | None:
    """Return the stall of the last attempt, which runs or has ended with it; None for none."""
    path = view.folder.stall(view.history.attempt)
    found = read_stall(path)
    if found is None:
        return None
    return as_shown(JobStall, found, stalled_tasks=found.tasks, folder=str(path.with_suffix("")))


def job_change(change: Changed) -> JobChange:
    """Return a change of a job as a record."""
    return as_shown(JobChange, change, changed_at=aware(change.happened_at), job_id=change.job_id or None)


def _attempt(retry: Retry, table: ExitTable) -> AttemptView:
    from ..monitor.job_failure import usual_advice

    said = usual_advice(table, retry.exit_code)
    word = slurms_word(retry.backend_state) or None
    why = (said.meaning, said.remedy) if said else (None, None)
    return as_shown(AttemptView, retry, backend_state=word, meaning=why[0], remedy=why[1])


def _roles(view: View) -> Iterable[RoleTasks]:
    states = {role.name: Counter[str]() for role in view.history.roles}
    for task in view.tasks:
        states[task.role][task.state] += 1
    for role in view.history.roles:
        yield RoleTasks(name=role.name, instances=role.instances, states=dict(states[role.name]))


def _with_scripts(view: View, placed: Sequence[TaskView], tasks: Sequence[TaskView]) -> Iterable[TaskView]:
    """Yield the `placed` ones of these tasks with the scripts that they ran."""
    attempt, wanted = view.history.attempt, {task.name for task in tasks}
    scripts = {role.name: read_scripts(view.folder.scripts(attempt, role)) for role in view.history.roles}
    for task in placed:
        if task.name in wanted:
            found = scripts[task.role].get(task.index, ())
            shown = tuple(as_shown(TaskScript, run, name=run.name or None) for run in found)
            yield replace(task, scripts=shown) if shown else task
