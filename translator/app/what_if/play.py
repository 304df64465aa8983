"""Play a scenario: the model of the script ends attempts, and the monitor's functions decide what follows. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from paislurm.backends.base import JobId, Observation

from ...exit_codes.codes import DEADLINE, NODE_LOST, NOT_BEGUN, PREFLIGHT_FAILED, STOPPED
from ...exit_codes.table import ExitTable
from ...monitor.facts import View
from ...monitor.job_status import LOST_NODES
from ...monitor.retry import ROOT
from ...monitor.transition import retry_decision, transition
from ...monitor.verdict import NO_ROOM, verdict
from ...state.history import apply, history
from ...state.job_folder import JobFolder
from ...state.journal_records import Cancelled, Intent, Retry, Submitted
from .attempt_model import Attempt
from .completion_model import Decision
from .scenario import fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...monitor.job_status import JobStatus
    from ...monitor.retry import AttemptEnd, RetryAfter, StopRetrying
    from ...pipeline import Compiled
    from ...planning.job_plan import TimePlan
    from ...state.history import History
    from ...state.journal_records import Created
    from ...state.result import Result
    from .attempt_model import JobModel, TaskEnd
    from .scenario import Event, Task

START = 1_000_000
"""The time of the first submission. No decision depends on it."""
LOST_NODE = "the lost node"
"""A name for a node."""


class Setting(Struct, frozen=True, kw_only=True):
    """What decisions depend on. `created` is the first record that a submit of the job would write."""

    job: JobModel
    created: Created
    times: TimePlan
    compiled: Compiled


class Played(Struct, kw_only=True):
    """An attempt and its end; None for what did not happen.

    `status` is the job's status after it, and `reason` why it ended. `ending` and `decision` are the monitor's, and
    `known` is the history with them. `grace` are the seconds from TERM to KILL for the `stopped` tasks.
    """

    number: int
    known: History
    tasks: Attempt | None = None
    events: tuple[tuple[Event, tuple[TaskEnd, ...]], ...] = ()
    result: Result | None = None
    outside: Event | None = None
    status: JobStatus | None = None
    reason: str = ""
    ending: AttemptEnd | None = None
    decision: RetryAfter | StopRetrying | None = None
    stopped: tuple[Task, ...] = ()
    grace: int = 0

    @property
    def retry(self) -> Retry | None:
        """The record of the retry."""
        return self.known.retry if self.known.ended is None else None

    @property
    def excluded_nodes(self) -> tuple[str, ...]:
        """The nodes that the next attempt excludes."""
        return self.known.excluded_nodes(self.retry.retry_at) if self.retry else ()


def play(setting: Setting, events: Sequence[Event], text: str) -> tuple[list[Played], tuple[Event, ...]]:
    """Return the attempts of a scenario, and the events after the end of the job.

    Events after the end of an attempt happen in the next one. Raises UsageError for an event that cannot happen then;
    `text` is the scenario.
    """
    left = list(events)
    known, now, found = history([setting.created]), START, []
    for number in range(len(left) + 1):
        intent = Intent(happened_at=now, attempt=number, tag=f"paislurm-1.{number}" if number else "paislurm-1")
        submitted = Submitted(
            happened_at=now, attempt=number, job_id=str(number + 1), job=known.job, user=known.user,
            backend=known.backend, task_count=known.tasks,
        )  # fmt: skip
        played = Played(number=number, known=apply(known, [intent, submitted]))
        found.append(played)
        _run(played, left, setting, now, text)
        known = played.known
        if played.retry is None or not left:
            break
        now = played.retry.retry_at
    return found, tuple(left)


def _run(played: Played, left: list[Event], setting: Setting, now: int, text: str) -> None:
    """Let events happen until the attempt has ended, and decide what follows."""
    tasks = played.tasks = Attempt(setting.job, now)
    while left:
        event = left.pop(0)
        ends = tuple(tasks.play(event)) if event.kind == "exit" else ()
        played.events += ((event, ends),)
        if event.kind == "node" and event.tasks and event.tasks[0] not in tasks.runs:
            raise fault(f"`{event.text}` cannot happen then: {_why_not(tasks, event)}", event.column, text)
        if event.kind == "stall" or (event.kind == "node" and tasks.restart(event.tasks, event.count)):
            continue
        if event.kind != "exit":
            _end_outside(played, event, setting, tasks)
            return
        if not ends:
            raise fault(f"`{event.text}` cannot happen then: {_why_not(tasks, event)}", event.column, text)
        decision = tasks.decision
        if decision is not None:
            played.stopped, played.grace = tuple(tasks.stopped()), _seconds(setting, "grace")
            played.result = tasks.result(decision)
            _decide(played, tasks)
            return


def _why_not(tasks: Attempt, event: Event) -> str:
    """Return why no task of an event can end."""
    name = tasks.job.name(event.tasks[0])
    if event.tasks[0] not in tasks.stopped():
        return f"{name} has ended, and is not retried within the attempt"
    return f"{name} waits for a slot, which {', '.join(map(tasks.job.name, sorted(tasks.running)))} has"


def _end_outside(played: Played, event: Event, setting: Setting, tasks: Attempt) -> None:
    """End an attempt that no task ends."""
    now, known, job = tasks.step(), played.known, setting.job
    played.outside = event
    state, canceller = event.state, event.user
    failed = tuple(task for task in event.tasks if task in tasks.stopped())
    lost: tuple[str, ...] = ()
    status: int | None = None
    decision = Decision("interrupted", STOPPED, "stop")
    grace = "interrupted_grace"
    if event.kind == "time" and setting.times.warning:
        decision, grace = Decision("failed", DEADLINE, "permanent"), "warning"
    elif event.kind == "time":
        state = "TIMEOUT"
    elif event.kind == "node":
        state, decision, grace = "NODE_FAIL", Decision("failed", NODE_LOST, "transient"), "grace"
        lost = (job.node(event.tasks[0]),) if event.tasks else (LOST_NODE,)
    elif event.kind == "script":
        row = ExitTable(known.exit_rows).describe(event.code)
        decision = Decision("failed", event.code, row.behaviour)
        if not event.tasks:
            state, status = "FAILED", NO_ROOM
            # The monitor waits for a result, which may come late.
            tasks.step()
    elif event.kind == "cancel":
        state = "CANCELLED"
        if not event.user:
            canceller = known.user
            asked = Cancelled(happened_at=now, attempt=known.attempt, user=canceller, job_id=known.job_id)
            played.known = apply(known, [asked])
    else:
        code = ExitTable(known.exit_rows).states[state][0].code
        lost = (LOST_NODE,) if code in LOST_NODES else ()
        if code == NOT_BEGUN:
            tasks.runs.clear()
    # A preflight fails before any task starts; a script without room leaves no result.
    played.stopped = () if event.code == PREFLIGHT_FAILED else tuple(tasks.stopped(failed))
    played.grace = _seconds(setting, grace)
    played.result = tasks.result(decision, failed) if tasks.runs and status is None else None
    raw = f"{state} by 0" if canceller == ROOT else state
    seen = Observation(job_id=JobId(known.job_id), state=state, raw_state=raw, final=True, status=status, ended=now)
    _decide(played, tasks, seen if state else None, canceller, lost)


def _decide(
    played: Played,
    tasks: Attempt,
    seen: Observation | None = None,
    canceller: str = "",
    lost: tuple[str, ...] = (),
) -> None:
    """Let the monitor decide what follows the end of an attempt."""
    facts = View(
        folder=JobFolder(path=Path(played.known.full_name)),
        history=played.known,
        observation=seen,
        backend_reachable=True,
        result=played.result,
        started=bool(tasks.runs),
        now=tasks.now,
        polled_at=tasks.now,
        canceller=canceller,
        lost=lost,
    )
    status = verdict(facts)
    assert status.ended, "every end is complete"
    assert status.code is not None, "every end has a code"
    played.ending, played.decision = retry_decision(facts, status.code)
    played.reason = status.reason
    played.status, news = transition(facts, status, completed=len(tasks.exits))
    played.known = apply(played.known, news)


def _seconds(setting: Setting, name: str) -> int:
    return int(getattr(setting.times, name).total_seconds())
