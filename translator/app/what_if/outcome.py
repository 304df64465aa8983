"""Explain what happens to the job of a job file in a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...exit_codes.table import ExitTable
from ...state.journal_records import Created, JobRole
from ...view.states import state_of
from ..jobs.logs.selection import chosen
from ..submit.prepare import retry_policy
from .attempt_model import JobModel
from .completion_model import RoleModel
from .play import START, Setting, play
from .rule_text import ScenarioAnswer, ScenarioAttempt, delays, event_record, others_text, retry_text, rule_text
from .scenario import Words, scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...pipeline import Compiled
    from ...planning.job_plan import Plan
    from .play import Played
    from .scenario import Event, Task


def answered(compiled: Compiled, text: str, user: str) -> ScenarioAnswer:
    """Return what happens to a compiled job of a user in a scenario."""
    setting = setting_of(compiled, user)
    played, unreached = play(setting, events_of(compiled, setting, text), text)
    return ScenarioAnswer(
        job=compiled.job.name,
        scenario=text,
        attempts=tuple(attempt_answer(each, setting) for each in played),
        unreached=tuple(event.text for event in unreached),
    )


def events_of(compiled: Compiled, setting: Setting, text: str) -> tuple[Event, ...]:
    """Return the events of a scenario of a job. Raises UsageError."""
    positions = {role.name: role.position for role in compiled.plan.roles}

    def tasks(word: str) -> list[Task]:
        return [(positions[role.name], index) for role, index in chosen(setting.created.roles, (word,))]

    words = Words(
        chosen=tasks,
        everything=tuple((role.position, index) for role in compiled.plan.roles for index in range(role.instances)),
        patterns=compiled.plan.exit_patterns,
        table=ExitTable(compiled.site.exit_rows),
        stall_ends=frozenset(r.position for r in compiled.plan.roles if r.progress and r.progress.action == "end"),
        has_preflight=any(role.preflight for role in compiled.plan.roles),
    )
    return scenario(text, words)


def setting_of(compiled: Compiled, user: str) -> Setting:
    """Return what the decisions about a job depend on."""
    plan = compiled.plan
    roles = tuple(JobRole(name=role.name, folder=role.folder, instances=role.instances) for role in plan.roles)
    created = Created(
        happened_at=START, job=plan.job_name, user=user, backend="slurm", roles=roles,
        retry_policy=retry_policy(compiled), exit_rows=compiled.site.exit_rows,
    )  # fmt: skip
    return Setting(job=_model(plan), created=created, times=plan.times, compiled=compiled)


def _model(plan: Plan) -> JobModel:
    roles = tuple(
        RoleModel(
            role.instances, role.completion.min_failed, role.completion.min_succeeded, role.slots, role.task_retry_limit
        )
        for role in plan.roles
    )
    return JobModel(
        names=tuple(role.name for role in plan.roles), roles=roles, gang=plan.gang, of_job=plan.min_succeeded,
        ceiling=plan.retry_policy.max_transient_retries, restarts=plan.retry_policy.max_restarts,
        spare=plan.most_losses, first_node=frozenset(_on_first_node(plan)),
    )  # fmt: skip


def _on_first_node(plan: Plan) -> Iterator[Task]:
    """Yield the tasks on the first node of a job with spare nodes. Without a gang, tasks have no fixed nodes."""
    for role in plan.roles if plan.gang and plan.spare else ():
        first = role.placement[0] if role.placement else None
        yield from ((role.position, index) for index in range(first.slots if first and not first.first else 0))


def attempt_answer(played: Played, setting: Setting) -> ScenarioAttempt:
    """Return an attempt in sentences."""
    status, result, retry, ending = played.status, played.result, played.retry, played.ending
    trigger = result.trigger if result else None
    code = ending.code if ending else None
    is_by_rule = result is not None and played.outside is None
    rule = trigger.completion_rule if trigger else "C4" if is_by_rule else None
    least, most = delays(played)
    return ScenarioAttempt(
        attempt=played.number,
        events=tuple(
            event_record(event, ends, setting, restarts=event.kind == "node" and event is not played.outside)
            for event, ends in played.events
        ),
        state=state_of(code) if code is not None and retry is None else "RUNNING",
        exit_code=code,
        behaviour=None if ending is None else ending.behaviour if ending.code else "success",
        completion_rule=rule,
        deciding_task=f"{trigger.role}-{trigger.index}" if trigger else None,
        rule=rule_text(played, setting) if played.events else None,
        stopped_tasks=tuple(map(setting.job.name, played.stopped)),
        kill_after=played.grace if status else None,
        others=others_text(played, setting) if played.stopped else None,
        next_attempt=retry.attempt + 1 if retry else None,
        min_delay=least,
        max_delay=most,
        retry_rule=retry_text(played, setting) if ending else None,
        excluded_nodes=played.excluded_nodes,
    )
