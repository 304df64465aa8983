"""Put a played scenario into sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from ...exit_codes.table import UNEXPLAINED, ExitTable
from ...folded_names import ranges
from ...job import RESTART_ALWAYS
from ...monitor.job_status import state_of
from ...monitor.reconcile import REFUSED, REFUSED_SECONDS
from ...monitor.retry import (
    DEADLINE,
    MAX_CONFLICT,
    MIN_CONFLICT,
    NEVER_RETRIED,
    WITHOUT_LIMIT,
    RetryAfter,
    StopRetrying,
)
from ...plural import counted, verb
from .answer import ScenarioAttempt, ScenarioEvent, TaskEnding

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...state.records import Retry
    from .attempt import Attempt, JobModel, TaskEnd
    from .play import Played, Setting
    from .scenario import Event, Task


class Sources(Struct, frozen=True, kw_only=True):
    """Words for the job file: `threshold` returns the key of a rule's threshold and its line, by rule and role.

    `retry_key` and `task_retry_key` are the keys of the budgets. `submitter` says who submits a retry if no monitor
    runs, after an end that the script decides and after others. `submit_wait` are the seconds for which a submit waits
    for a limit on jobs.
    """

    threshold: Callable[[str, int | None], str]
    retry_key: str
    submitter: tuple[str, str]
    submit_wait: int


def answer(played: Played, setting: Setting, sources: Sources) -> ScenarioAttempt:
    """Return an attempt in sentences."""
    status, result, retry, ending = played.status, played.result, played.retry, played.ending
    trigger = result.trigger if result else None
    code = ending.code if ending else played.known.ended.exit_code if played.known.ended else None
    is_by_rule = result is not None and played.outside is None
    rule = trigger.completion_rule if trigger else "C4" if is_by_rule else None
    refused = played.refusals and not played.known.job_id
    return ScenarioAttempt(
        attempt=played.number,
        submission=_submission(played, sources) if played.refusals else None,
        events=tuple(_event(event, ends, setting) for event, ends in played.events),
        state=state_of(code) if code is not None and retry is None else None if refused else "RUNNING",
        exit_code=code,
        behaviour=ending.behaviour if ending else None,
        completion_rule=rule,
        deciding_task=f"{trigger.role}-{trigger.index}" if trigger else None,
        rule=_rule(played, setting, sources) if played.events else None,
        stopped_tasks=tuple(map(setting.job.name, played.stopped)),
        kill_after=played.grace if status else None,
        others=_others(played, setting) if status else _going_on(played, setting),
        next_attempt=retry.attempt + 1 if retry else None,
        min_delay=_delays(played)[0],
        max_delay=_delays(played)[1],
        retry_rule=_retry(played, sources) if ending else None,
        budget=_budget(played, sources) if retry else None,
        excluded_nodes=played.excluded_nodes,
        nodes=_nodes(played, retry) if retry else None,
    )


def listed(job: JobModel, tasks: Iterable[Task]) -> str:
    """Return the names of tasks: `ps-0, worker-0 to worker-3`."""
    indexes: dict[int, set[int]] = {}
    for role, index in tasks:
        indexes.setdefault(role, set()).add(index)
    runs = [(job.names[role], run.split("-")) for role in sorted(indexes) for run in ranges(indexes[role]).split(",")]
    return ", ".join(
        (", " if int(run[-1]) - int(run[0]) == 1 else " to ").join(f"{name}-{index}" for index in run)
        for name, run in runs
    )


def _event(event: Event, ends: Sequence[TaskEnd], setting: Setting) -> ScenarioEvent:
    rows = tuple(
        TaskEnding(
            task=setting.job.name(end.task),
            task_attempt=end.run,
            exit_status=end.status,
            exit_code=end.code,
            behaviour=end.behaviour,
            retry_delay=end.delay,
        )
        for end in ends
    )
    return ScenarioEvent(event=event.text, meaning=_meaning(event, ends, setting) if ends else None, task_ends=rows)


def _meaning(event: Event, ends: Sequence[TaskEnd], setting: Setting) -> str:
    job, hold = setting.job, int(setting.times.debug_hold.total_seconds())
    names = listed(job, [end.task for end in ends])
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
    retried = [end for end in ends if end.delay is not None]
    return f"{subject}{code}{_task_retries(retried, ends, job)}"


def _task_retries(retried: Sequence[TaskEnd], ends: Sequence[TaskEnd], job: JobModel) -> str:
    """Return which of the tasks are retried in the attempt, and by which count; "" with gang allocation."""
    if job.gang:
        return ""
    texts = [
        f"{listed(job, [end.task])} is retried {_after(end.delay or 0)}"
        + (f" (task retry {end.retries})" if end.retries else "")
        for end in retried
    ]
    rest = [end.task for end in ends if end.delay is None]
    if rest and ends[0].behaviour != "success":
        texts.append(f"{listed(job, rest)} {verb(len(rest), 'is', 'are')} not retried")
    return "".join(f"; {text}" for text in texts)


def _after(seconds: int) -> str:
    return f"after {seconds} s" if seconds else "at once"


def _rule(played: Played, setting: Setting, sources: Sources) -> str:
    """Return what decides the attempt, or why nothing does."""
    result, tasks = played.result, played.tasks
    assert tasks is not None, "events happen to tasks"
    if played.status is None:
        return _undecided(tasks, setting, sources)
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
        where = sources.threshold("min-failed", position)
        return (
            f"{decides}{counted(count, 'failed task')} of role {name} {verb(count, 'fails', 'fail')} the job ({where})"
        )
    succeeded = sum(each.succeeded and each.role == position for each in tasks.exits)
    if role.min_succeeded == count <= succeeded:
        where, which = sources.threshold("min-succeeded", position), f"role {name}"
    else:
        where, which = sources.threshold("min-succeeded-of-job", None), "all roles"
    tasks_of = f"{counted(count, 'succeeded task')} of {which} {verb(count, 'completes', 'complete')}"
    return f"{decides}{tasks_of} the job ({where})"


def _outside(played: Played) -> str:
    event = played.outside
    assert event is not None, "the caller has checked this"
    if event.kind == "node":
        return "a lost node ends its tasks and the attempt, whatever the completion policy says"
    if event.kind == "time":
        return "the time limit ends the attempt"
    return f"Slurm ends the attempt: {played.reason}"


def _undecided(tasks: Attempt, setting: Setting, sources: Sources) -> str:
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
                texts.append(f"{text} ({sources.threshold(name, position)})")
    return "nothing decides yet" + (f": {'; '.join(texts)}" if texts else "")


def _others(played: Played, setting: Setting) -> str:
    """Return what happens to the tasks that had not ended."""
    assert played.tasks is not None, "the attempt has ended"
    event, begun = played.outside, played.tasks.runs
    running: list[Task] = []
    waiting: list[Task] = []
    for task in played.stopped:
        (running if task in begun else waiting).append(task)
    texts = []
    if running:
        gets = f"{listed(setting.job, running)} {verb(len(running), 'gets', 'get')} TERM"
        if event is not None and event.kind == "time" and setting.times.warning:
            texts.append(f"{gets} {played.grace} s before the time limit, and KILL at the limit")
        else:
            by = " from Slurm" if event is not None and event.kind != "node" else ""
            texts.append(f"{gets}{by}, and KILL after {played.grace} s")
    if waiting:
        texts.append(f"{listed(setting.job, waiting)} {verb(len(waiting), 'does', 'do')} not start")
    return "; ".join(texts) or "no other task runs"


def _going_on(played: Played, setting: Setting) -> str | None:
    """Return which tasks run after the events."""
    if played.tasks is None or not played.events:
        return None
    running = sorted(played.tasks.running)
    return f"{listed(setting.job, running)} {verb(len(running), 'runs', 'run')} on"


def _delays(played: Played) -> tuple[int | None, int | None]:
    retry, decision = played.retry, played.decision
    if retry is None or not isinstance(decision, RetryAfter):
        return None, None
    if retry.behaviour == "conflict" and decision.delay:
        return MIN_CONFLICT, MAX_CONFLICT
    return decision.delay, decision.delay


def _retry(played: Played, sources: Sources) -> str:
    """Return whether and when the job is retried, and by which rule."""
    retry = played.retry
    if retry is None:
        return f"none: {_no_retry(played, sources)}"
    least, most = _delays(played)
    when = _after(least or 0) if least == most else f"after {least} to {most} s"
    by = sources.submitter[played.result is None or played.result.outcome == "interrupted"]
    return f"attempt {retry.attempt + 1} {when}{by and f', {by}'}; {retry.retry_rule}"


def _no_retry(played: Played, sources: Sources) -> str:
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
        return f"{sources.retry_key} is 0"
    note = " unless the job sets `extras.slurm.onTimeout: retry`" if ending.code == DEADLINE else ""
    return f"code {ending.code} is permanent, which is never retried{note}"


def _budget(played: Played, sources: Sources) -> str:
    counts, policy = played.known.counters, played.known.retry_policy
    if policy.retry_limit == RESTART_ALWAYS:
        return f"{counts.total} of {counted(policy.max_restarts, 'restart')} used"
    most = "any number" if policy.retry_limit == WITHOUT_LIMIT else policy.retry_limit
    used = f"{sources.retry_key}: {counts.used} of {most} used" if most else f"{sources.retry_key} is 0"
    return f"{used}; retries without the budget: {counts.transient} of {policy.max_transient_retries} used"


def _nodes(played: Played, retry: Retry) -> str:
    if played.excluded_nodes:
        return f"{', '.join(played.excluded_nodes)} {verb(len(played.excluded_nodes), 'is', 'are')} left out"
    if retry.blamed_nodes:
        return f"{', '.join(retry.blamed_nodes)} is not left out: the site profile shows no spare node"
    return "no node is left out"


def _submission(played: Played, sources: Sources) -> str:
    """Return what happens to an attempt that Slurm refuses."""
    refused, known = played.refusals[-1], played.known
    if not played.number and not refused.reached:
        return "`paislurm submit` fails; if Slurm may have got the job, its message names the job"
    if not played.number:
        wait = f". It waits for a limit on queued jobs first, up to {sources.submit_wait} s" * bool(sources.submit_wait)
        return f"`paislurm submit` prints Slurm's message and fails; no job is left{wait}"
    times = f" {len(played.refusals)} times" if len(played.refusals) > 1 else ""
    if known.ended is not None:
        return f"refused{times}: the job ends with code {REFUSED}"
    again = f"submitted again after {refused.retry_at - refused.happened_at} s"
    if not refused.reached:
        return f"Slurm does not answer{times}: {again}, and so on until it does"
    return f"refused{times}: {again}, and so on for {REFUSED_SECONDS // 60} min; then the job ends with code {REFUSED}"
