"""The answer to a scenario: its records for `--json`, and the rules as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...exit_codes.codes import DEADLINE, PREFLIGHT_FAILED, UNEXPLAINED
from ...exit_codes.table import ExitTable
from ...folded_names import folded
from ...monitor.retry import MAX_CONFLICT, MIN_CONFLICT, NEVER_RETRIED, RetryAfter, StopRetrying, conflict_delay
from ...plural import attempt_name, counted, verb
from ...rendering.provenance import field_source
from ...view.states import State, state_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .attempt_model import Attempt, TaskEnd
    from .play import Played, Setting
    from .scenario import Event


class TaskEnding(Struct, frozen=True, kw_only=True):
    """The end of a task in a scenario."""

    task: str
    """The name of the task."""
    task_attempt: int
    """The number of the task's attempt, from 0."""
    exit_status: int
    """The exit status of its commands, 0 to 255."""
    exit_code: int
    """OpenPAI's exit code of the task."""
    behaviour: str
    """How the exit code is retried."""
    retry_delay: int | None
    """Seconds until the task is retried; None if it is not."""


class ScenarioEvent(Struct, frozen=True, kw_only=True):
    """An event of a scenario."""

    event: str
    """The event, as the scenario has it."""
    meaning: str | None
    """The effect on the tasks that end; None without any."""
    task_ends: tuple[TaskEnding, ...] = ()
    """The tasks that end."""


class ScenarioAttempt(Struct, frozen=True, kw_only=True):
    """An attempt of the job in a scenario, and what follows it."""

    attempt: int
    """The number of the attempt, from 0."""
    events: tuple[ScenarioEvent, ...]
    """The events, in the order of time."""
    state: State
    """The state of the job after them; `RUNNING` also if it is retried."""
    exit_code: int | None
    """OpenPAI's exit code of the attempt; None if it goes on."""
    behaviour: str | None
    """How the exit code is retried."""
    completion_rule: str | None
    """The rule of the completion policy that decides: `C2`, `C3` or `C4`."""
    deciding_task: str | None
    """The task that triggers the rule."""
    rule: str | None
    """What decides, or why nothing does; None without events."""
    stopped_tasks: tuple[str, ...]
    """The tasks that are stopped."""
    kill_after: int | None
    """The seconds between TERM and KILL for them."""
    others: str | None
    """What happens to the tasks that are stopped; None without any."""
    next_attempt: int | None
    """The number of the next attempt; None without a retry."""
    min_delay: int | None
    """The least seconds before the next attempt."""
    max_delay: int | None
    """The most seconds before it."""
    retry_rule: str | None
    """Why the job is retried or not, and when; None if the attempt goes on."""
    excluded_nodes: tuple[str, ...]
    """The nodes that the next attempt avoids."""


class ScenarioAnswer(Struct, frozen=True, kw_only=True):
    """What happens to a job in a scenario."""

    job: str
    """The name of the job."""
    scenario: str
    """The scenario."""
    attempts: tuple[ScenarioAttempt, ...]
    """The attempts."""
    unreached: tuple[str, ...]
    """The events after the end of the job, which do not happen."""


def _threshold(setting: Setting, name: str, position: int | None = None) -> str:
    """Return the key of a rule's threshold in the job file and its line."""
    compiled = setting.compiled
    roles = [] if position is None else [compiled.plan.roles[position]]
    return field_source(compiled.plan, compiled.document, name, *roles)


RESTARTS = "all tasks stop, and start anew on another node and the rest, in the same Slurm job"


_STAYS = {"stall": "`status` tells it, and nothing ends before the time limit (`extras.slurm.progress`, action `end`)"}


def event_record(event: Event, ends: Sequence[TaskEnd], setting: Setting, *, restarts: bool) -> ScenarioEvent:
    """Return an event with its effect; `restarts` tells whether all tasks start anew after it."""
    rows = tuple(
        TaskEnding(
            task=setting.job.name(end.task), task_attempt=end.run, exit_status=event.status, exit_code=event.code,
            behaviour=event.behaviour, retry_delay=end.delay,
        )
        for end in ends
    )  # fmt: skip
    meaning = RESTARTS if restarts else _meaning(event, ends, setting) if ends else _STAYS.get(event.kind)
    return ScenarioEvent(event=event.text, meaning=meaning, task_ends=rows)


def _meaning(event: Event, ends: Sequence[TaskEnd], setting: Setting) -> str:
    job, hold = setting.job, int(setting.times.debug_hold.total_seconds())
    names = folded(job.name(end.task) for end in ends)
    subject = f"{names}: " if len(ends) > 1 or names not in event.text.split() else ""
    if event.behaviour == "success":
        code = "success"
    else:
        row = ExitTable().describe(event.code)
        code = f"code {event.code} ({row.phrase}, behaviour {event.behaviour})"
        if event.status and event.code == UNEXPLAINED:
            code += ", unless a line of its log matches a rule"
        if hold:
            code += f"; held for up to {hold // 60} min first (isDebug)"
    # With gang allocation, no task is retried in the attempt.
    texts = [
        f"{job.name(end.task)} is retried {after_text(end.delay)}"
        + (f" (task retry {end.retries})" if end.retries else "")
        for end in ends
        if end.delay is not None
    ]
    rest = [job.name(end.task) for end in ends if end.delay is None]
    if rest and event.behaviour != "success" and not job.gang:
        texts.append(f"{folded(rest)} {verb(len(rest), 'is', 'are')} not retried")
    return "; ".join([f"{subject}{code}", *texts])


def after_text(seconds: int) -> str:
    return f"after {seconds} s" if seconds else "at once"


def rule_text(played: Played, setting: Setting) -> str:
    """Return what decides the attempt, or why nothing does."""
    result, tasks = played.result, played.tasks
    assert tasks is not None, "events happen to tasks"
    if played.status is None:
        return _undecided(tasks, setting)
    if played.outside is not None:
        return _outside(played)
    trigger = result.trigger if result else None
    if trigger is None:
        failed = sum(not each.succeeded for each in tasks.exits)
        note = f"; {counted(failed, 'task')} failed, which decides nothing" if failed else ""
        return f"all tasks have ended: the attempt succeeds{note}"
    count, name = trigger.threshold or 0, trigger.role
    position, decides = setting.job.names.index(name), f"{name}-{trigger.index} decides: "
    role = setting.job.roles[position]
    if trigger.completion_rule == "C2":
        where = _threshold(setting, "min-failed", position)
        return (
            f"{decides}{counted(count, 'failed task')} of role {name} {verb(count, 'fails', 'fail')} the job ({where})"
        )
    succeeded = sum(each.succeeded and each.role == position for each in tasks.exits)
    if role.min_succeeded == count <= succeeded:
        where, which = _threshold(setting, "min-succeeded", position), f"role {name}"
    else:
        where, which = _threshold(setting, "min-succeeded-of-job"), "all roles"
    tasks_of = f"{counted(count, 'succeeded task')} of {which} {verb(count, 'completes', 'complete')}"
    return f"{decides}{tasks_of} the job ({where})"


def _outside(played: Played) -> str:
    event = played.outside
    assert event is not None, "the caller has checked this"
    if event.kind == "node":
        return "a lost node ends its tasks and the attempt, whatever the completion policy says"
    if event.kind == "time":
        return "the time limit ends the attempt"
    if event.code == PREFLIGHT_FAILED:
        return "a node that fails its preflight ends the attempt before any task starts"
    if event.kind == "script" and event.tasks:
        return "a stall ends the attempt, whatever the completion policy says (`extras.slurm.progress`, action `end`)"
    if event.kind == "script":
        return "the batch script ends the attempt, because it cannot write its files"
    return f"Slurm ends the attempt: {played.reason}"


def _undecided(tasks: Attempt, setting: Setting) -> str:
    """Return the counts of ended tasks, and those that would decide the job."""
    exits, texts = tasks.exits, []
    for position, role in enumerate(setting.job.roles):
        for word, name, threshold in (
            ("failed", "min-failed", role.min_failed),
            ("succeeded", "min-succeeded", role.min_succeeded),
        ):
            count = sum(each.role == position and each.succeeded == (word == "succeeded") for each in exits)
            if count:
                of_role = f"of role {setting.job.names[position]}"
                text = f"{counted(count, f'{word} task')} {of_role}, which no number of them decides"
                if threshold > 0:
                    text = f"{count} of {counted(threshold, f'{word} task')} {of_role} that decide the job"
                texts.append(f"{text} ({_threshold(setting, name, position)})")
    return "nothing decides yet" + (f": {'; '.join(texts)}" if texts else "")


def others_text(played: Played, setting: Setting) -> str:
    """Return what happens to the tasks that had not ended."""
    event = played.outside
    names = f"{folded(map(setting.job.name, played.stopped))} {verb(len(played.stopped), 'is', 'are')} stopped"
    if event is not None and event.kind == "time" and setting.times.warning:
        return f"{names}: TERM {played.grace} s before the time limit, KILL at the limit"
    return f"{names}: TERM, and KILL after {played.grace} s"


def delays(played: Played) -> tuple[int | None, int | None]:
    retry, decision = played.retry, played.decision
    if retry is None or not isinstance(decision, RetryAfter):
        return None, None
    if retry.behaviour == "conflict" and decision.delay == conflict_delay(played.known.tag):
        return MIN_CONFLICT, MAX_CONFLICT
    return decision.delay, decision.delay


def retry_text(played: Played, setting: Setting) -> str:
    """Return whether and when the job is retried, and by which rule."""
    retry = played.retry
    if retry is None:
        return f"none: {_no_retry(played, setting)}"
    least, most = delays(played)
    when = after_text(least or 0) if least == most else f"after {least} to {most} s"
    left_out = f"; {', '.join(played.excluded_nodes)} left out" if played.excluded_nodes else ""
    return f"{attempt_name(retry.attempt + 1)} {when}; {retry.retry_rule}{left_out}"


def _retry_key(setting: Setting) -> str:
    """Return the key of the job's budget in the job file."""
    compiled = setting.compiled
    return "jobRetryCount" if compiled.plan.protocol == "2" and compiled.job.retry_limit >= 0 else "retryCount"


def _no_retry(played: Played, setting: Setting) -> str:
    ending, decision = played.ending, played.decision
    assert ending is not None, "the attempt has ended"
    if isinstance(decision, RetryAfter):
        return "the user cancelled the job"
    if isinstance(decision, StopRetrying) and decision.rule not in ("", NEVER_RETRIED):
        return decision.rule
    if ending.code == 0:
        return "the job has succeeded"
    if state_of(ending.code) == "STOPPED":
        return "a stopped job is not retried"
    if ending.behaviour == "unknown":
        return f"{_retry_key(setting)} is 0"
    note = " unless the job sets `extras.slurm.onTimeout: retry`" if ending.code == DEADLINE else ""
    return f"code {ending.code} is permanent, which is never retried{note}"
