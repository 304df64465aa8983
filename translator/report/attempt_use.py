"""From the evidence of an attempt to the use of its time: its records, result, reports and allocations. Pure."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paislurm.backends.hostlist import expand

from ..exit_codes.codes import NODE_LOST
from ..monitor.job_failure import short_cause
from ..state.journal_records import Ended, Retry, Submitted
from ..state.kept_plan import KeptResources, amount
from ..view.cost import PRODUCTIVE, RUNNING, Allocation, AttemptUse, Key, Work

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..state.kept_plan import KeptPlan
    from ..state.result import Result
    from .from_evidence import AttemptFiles, JobEvidence


def attempt_uses(evidence: JobEvidence) -> Iterator[AttemptUse]:
    """Yield the use of each attempt's time, or of each start of its tasks. A result that cannot be read counts as none.

    The newest checkpoint of an attempt may be the one that the next attempt found.
    """
    later = [files.result.resumed_from if files.result else None for files in evidence.attempts[1:]]
    for files, later_mark in zip_longest(evidence.attempts, later):
        yield from _starts(evidence, files, _attempt_use(evidence, files, later_mark))


def _starts(evidence: JobEvidence, files: AttemptFiles, use: AttemptUse) -> Iterator[AttemptUse]:
    """Divide an attempt at the restarts of all its tasks; a start before a restart is lost to the loss of a node."""
    restarts = {each.at: each.checkpoint_at for each in files.result.restarts} if files.result else {}
    lost = _lost(evidence, NODE_LOST, None)
    # Slurm has restarted the job a while before its script notes the time.
    rows = [found.started for _, found in files.allocated] if evidence.plan.requeues else []
    for at, mark in sorted(restarts.items()):
        before, use = _divided(use, min(rows, key=lambda time: abs(time - at), default=at))
        yield replace(before, key=lost, mark=mark, work=tuple(work._replace(key=lost) for work in before.work))
    yield use


def _divided(use: AttemptUse, cut: int) -> tuple[AttemptUse, AttemptUse]:
    """Divide the use of an attempt at a time; tasks that started before have ended by then."""
    before, after = [], []
    for each in use.allocations:
        elapsed = min(each.elapsed, max(0, cut - each.begins))
        if each.begins < cut:
            before.append(replace(each, ends=min(each.ends, cut), elapsed=elapsed))
        if each.ends > cut:
            after.append(replace(each, begins=max(each.begins, cut), elapsed=each.elapsed - elapsed))
    return replace(
        use,
        allocations=tuple(before),
        work=tuple(work._replace(ends=min(work.ends, cut)) for work in use.work if work.begins < cut),
    ), replace(
        use,
        allocations=tuple(after),
        work=tuple(work for work in use.work if work.begins >= cut),
        submitted_at=max((each.ends for each in before), default=None),
        restarted=True,
    )


def _attempt_use(evidence: JobEvidence, files: AttemptFiles, later_mark: int | None) -> AttemptUse:
    records = [record for record in evidence.records if getattr(record, "attempt", None) == files.number]
    submitted = next((record.happened_at for record in records if isinstance(record, Submitted)), None)
    end = next((record for record in records if isinstance(record, (Retry, Ended))), None)
    result, key = files.result, _key(evidence, files.result, end)
    until = end.ended_at if end and end.ended_at else result.ended_at if result and result.ended_at else None
    until = until if until is not None else evidence.now
    work = tuple(_work(evidence, files, key, until))
    marks = [mark for mark in (result.checkpoint_at if result else None, later_mark) if mark is not None]
    return AttemptUse(
        key=key,
        allocations=tuple(_from_sacct(evidence.plan, files))
        or tuple(_from_records(evidence, result, end, work, until)),
        work=work,
        mark=max(marks, default=None) if key.use == "lost" else None,
        stalls=tuple((stall.begins, stall.ends) for stall in result.stalls) if result else (),
        submitted_at=submitted,
        ended_at=until,
    )


def _key(evidence: JobEvidence, result: Result | None, end: Retry | Ended | None) -> Key:
    """Return the use of the tasks' time, as the end of the attempt judges it."""
    status = evidence.view.job_status
    if end is None and not status.ended:
        return RUNNING
    code = status.code if end is None else end.exit_code
    if code == 0:
        return PRODUCTIVE
    if result is None or result.trigger is None or result.exit_code != code:
        return _lost(evidence, code, None)
    decided = (result.trigger.role, result.trigger.index)
    statuses = (task.exit_status for task in result.tasks if (task.role, task.index) == decided)
    return _lost(evidence, code, next(statuses, None))


def _lost(evidence: JobEvidence, code: int | None, status: int | None) -> Key:
    words = short_cause(evidence.view.table, code, status) if code is not None else "unknown"
    return Key("lost", words)


def _work(evidence: JobEvidence, files: AttemptFiles, key: Key, until: int) -> Iterator[Work]:
    """Yield the time of each run of each task; a failed task's own failure counts even if the job succeeded."""
    results = {(task.role, task.index): task for task in files.result.tasks} if files.result else {}
    plans = evidence.plan.roles_by_name
    for role in evidence.view.history.roles:
        resources = plans[role.name].resources if role.name in plans else KeptResources()
        amounts = (resources.cpus, resources.gpus)
        runs = files.runs.get(role.folder, {})
        for index in range(role.instances):
            task = results.get((role.name, index))
            last = task.task_attempt if task else -1
            for run in runs.get(index, ()):
                if run.attempt != last:
                    is_failed = key == PRODUCTIVE and run.code
                    own = _lost(evidence, run.code, run.status) if is_failed else key
                    yield Work(run.node, run.started, until if run.ended is None else run.ended, *amounts, own)
            if task is not None and task.started_at is not None:
                is_failed = key == PRODUCTIVE and task.state == "FAILED"
                own = _lost(evidence, task.exit_code, task.exit_status) if is_failed else key
                yield Work(task.node, task.started_at, until if task.ended_at is None else task.ended_at, *amounts, own)


def _from_sacct(plan: KeptPlan, files: AttemptFiles) -> Iterator[Allocation]:
    for component, found in files.allocated:
        roles = [role for role in plan.roles if plan.layout.kind != "het" or role.component == component]
        ends = found.started + found.elapsed if found.ended is None else found.ended
        yield Allocation(
            begins=found.started,
            ends=max(found.started, ends),
            elapsed=found.elapsed,
            nodes=found.nodes,
            cpus=amount(roles, "cpus") if found.cpus is None else found.cpus,
            gpus=amount(roles, "gpus") if found.gpus is None else found.gpus,
            whole_nodes=plan.whole_nodes,
            node_names=_names(found.node_list),
        )


def _from_records(
    evidence: JobEvidence, result: Result | None, end: Retry | Ended | None, work: Sequence[Work], until: int
) -> Iterator[Allocation]:
    """Yield the allocation as far as the job's own files tell it; none for an attempt that never started."""
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
        cpus=amount(evidence.plan.roles, "cpus"),
        gpus=amount(evidence.plan.roles, "gpus"),
        whole_nodes=evidence.plan.whole_nodes,
        node_names=names,
        from_sacct=False,
    )


def _names(node_list: str) -> tuple[str, ...]:
    try:
        return tuple(expand(node_list))
    except ValueError:
        return ()
