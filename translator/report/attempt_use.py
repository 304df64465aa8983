"""From the evidence of an attempt to the use of its time: its records, result, reports and allocations. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.hostlist import expand

from ..exit_codes.table import ExitTable
from ..monitor.failure import short_cause
from ..state.records import Ended, Retry, Submitted
from .cost import PRODUCTIVE, RUNNING, Allocation, AttemptUse, Key, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from paislurm.backends.slurm.steps import Allocated

    from ..monitor.job_status import JobStatus
    from ..state.history import History
    from ..state.kept_plan import KeptPlan
    from ..state.records import Record
    from ..state.result import Result
    from ..state.task_reports import Report


class AttemptEvidence(Struct, frozen=True, kw_only=True):
    """What is known of an attempt at `now`.

    `runs` are by position of the role and index of the task. `allocated` are pairs of a component and its allocation in
    sacct. `later_mark` is the newest checkpoint that the next attempt found.
    """

    number: int
    now: int
    history: History
    job_status: JobStatus
    records: Sequence[Record]
    plan: KeptPlan
    result: Result | None
    runs: Mapping[int, Mapping[int, tuple[Report, ...]]]
    allocated: Sequence[tuple[int, Allocated]]
    later_mark: int | None = None


def attempt_use(evidence: AttemptEvidence) -> AttemptUse:
    """Return the use of an attempt's time."""
    records = [record for record in evidence.records if getattr(record, "attempt", None) == evidence.number]
    submitted = next((record.happened_at for record in records if isinstance(record, Submitted)), None)
    end = next((record for record in records if isinstance(record, (Retry, Ended))), None)
    result, key = evidence.result, _key(evidence, end)
    until = end.ended_at if end and end.ended_at else result.ended_at if result and result.ended_at else None
    until = until if until is not None else evidence.now
    work = tuple(_work(evidence, key, until))
    own_mark = result.checkpoint_at if result else None
    marks = [mark for mark in (own_mark, evidence.later_mark) if mark is not None]
    return AttemptUse(
        key=key,
        allocations=tuple(_from_sacct(evidence)) or tuple(_from_records(evidence, end, work, until)),
        work=work,
        mark=max(marks, default=None) if key.use == "lost" else None,
        stalls=tuple((stall.begins, stall.ends) for stall in result.stalls) if result else (),
        submitted_at=submitted,
        ended_at=until,
    )


def _key(evidence: AttemptEvidence, end: Retry | Ended | None) -> Key:
    """Return the use of the tasks' time, as the end of the attempt judges it."""
    status = evidence.job_status
    if end is None and not status.ended:
        return RUNNING
    code = status.code if end is None else end.exit_code
    if code == 0:
        return PRODUCTIVE
    result = evidence.result
    trigger = result.trigger if result is not None and result.exit_code == code else None
    decided = (task for task in (result.tasks if result else ()) if trigger and task.role == trigger.role)
    task = next((task for task in decided if trigger and task.index == trigger.index), None)
    return _lost(evidence, code, task.exit_status if task else None)


def _lost(evidence: AttemptEvidence, code: int | None, status: int | None) -> Key:
    words = short_cause(ExitTable(evidence.history.exit_rows), code, status) if code is not None else "unknown"
    return Key("lost", words)


def _work(evidence: AttemptEvidence, key: Key, until: int) -> Iterator[Work]:
    """Yield the time of each run of each task; a failed task's own failure counts even if the job succeeded."""
    results = {(task.role, task.index): task for task in evidence.result.tasks} if evidence.result else {}
    plans = evidence.plan.roles_by_name
    for position, role in enumerate(evidence.history.roles):
        gpus = plans[role.name].resources.gpus if role.name in plans else 0
        runs = evidence.runs.get(position, {})
        for index in range(role.instances):
            task = results.get((role.name, index))
            last = task.task_attempt if task else -1
            for run in runs.get(index, ()):
                if run.attempt != last:
                    is_failed = key == PRODUCTIVE and run.code
                    own = _lost(evidence, run.code, run.status) if is_failed else key
                    yield Work(run.node, run.started, until if run.ended is None else run.ended, gpus, own)
            if task is not None and task.started_at is not None:
                is_failed = key == PRODUCTIVE and task.state == "FAILED"
                own = _lost(evidence, task.exit_code, task.exit_status) if is_failed else key
                yield Work(task.node, task.started_at, until if task.ended_at is None else task.ended_at, gpus, own)


def _from_sacct(evidence: AttemptEvidence) -> Iterator[Allocation]:
    for component, found in evidence.allocated:
        ends = found.started + found.elapsed if found.ended is None else found.ended
        yield Allocation(
            begins=found.started,
            ends=max(found.started, ends),
            elapsed=found.elapsed,
            nodes=found.nodes,
            gpus=_planned_gpus(evidence.plan, component) if found.gpus is None else found.gpus,
            node_names=_names(found.node_list),
        )


def _from_records(
    evidence: AttemptEvidence, end: Retry | Ended | None, work: Sequence[Work], until: int
) -> Iterator[Allocation]:
    """Yield the allocation as far as the job's own files tell it; none for an attempt that never started."""
    result = evidence.result
    begins = (end.started_at if end else None) or (result.started_at if result else None)
    begins = begins or min((each.begins for each in work), default=None)
    if begins is None:
        return
    ends = max(begins, until, *(each.ends for each in work))
    listed = _names(end.node_list) if isinstance(end, Ended) else ()
    names = tuple(dict.fromkeys((*listed, *(each.node for each in work if each.node))))
    yield Allocation(
        begins=begins,
        ends=ends,
        elapsed=ends - begins,
        nodes=max(1, len(names)),
        gpus=_planned_gpus(evidence.plan, None),
        node_names=names,
        from_sacct=False,
    )


def _planned_gpus(plan: KeptPlan, component: int | None) -> int:
    """Return the GPUs of all tasks of a component, of all components for None."""
    is_part = plan.layout.kind == "het" and component is not None
    roles = [role for role in plan.roles if not is_part or role.component == component]
    return sum(role.resources.gpus * role.slots for role in roles)


def _names(node_list: str) -> tuple[str, ...]:
    try:
        return tuple(expand(node_list))
    except ValueError:
        return ()
