"""Let the tasks of one attempt start, end, and be retried, as the batch script does. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...exit_codes.codes import TASK_STOPPED
from ...state.result import Result, TaskResult, Trigger
from .completion_model import (
    INTERRUPTED_BY,
    MAX_BACK_OFF,
    Decision,
    Exit,
    RoleModel,
    TaskRetries,
    decide,
    is_provisional,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from ...state.result import TaskState
    from .scenario import Event, Task

GAP = MAX_BACK_OFF + INTERRUPTED_BY + 38
"""Seconds between two events: by then the first is settled, and all retried tasks run again if they have a slot."""


class JobModel(Struct, frozen=True, kw_only=True):
    """What the script knows of a job. `ceiling` and `restarts` are the site's limits on retries of a task.

    `spare` is the number of spare nodes. Without the node of `first_node`, the tasks beside the batch script, the job
    ends anyway.
    """

    names: tuple[str, ...]
    roles: tuple[RoleModel, ...]
    gang: bool
    of_job: int
    ceiling: int
    restarts: int
    spare: int = 0
    first_node: frozenset[Task] = frozenset()

    def name(self, task: Task) -> str:
        """Return the name of a task."""
        return f"{self.names[task[0]]}-{task[1]}"

    def node(self, task: Task) -> str:
        """Return a name for the node of a task."""
        return f"the node of {self.name(task)}"

    @property
    def tasks(self) -> list[Task]:
        """All tasks, in the order of the job file."""
        return [(position, index) for position, role in enumerate(self.roles) for index in range(role.instances)]


class TaskEnd(Struct, frozen=True, kw_only=True):
    """The end of one run of a task, at a time. `delay` is that of its retry, None if the task is completed.

    `retries` is the count of such retries and their limit; "" without a retry, or without a limit.
    """

    task: Task
    time: int
    run: int
    delay: int | None
    retries: str


class Attempt:
    """The tasks of an attempt that began at a time, in seconds."""

    def __init__(self, job: JobModel, began: int) -> None:
        self.job = job
        self.began = self.now = began
        self.spare = job.spare
        self._start_all(began, 0)

    def _start_all(self, began: int, first_run: int) -> None:
        job = self.job
        self._first_run = first_run
        self.exits: list[Exit] = []
        self.runs: dict[Task, int] = {}
        self.running: set[Task] = set()
        self._retries = {task: TaskRetries(job.roles[task[0]].retries, job.ceiling, job.restarts) for task in job.tasks}
        self._waiting: dict[int, list[tuple[int, int]]] = {}
        self._next = [0] * len(job.roles)
        self._idle = [role.instances if job.gang else role.slots for role in job.roles]
        for role in range(len(job.roles)):
            self._fill(role, began)

    def restart(self, tasks: Collection[Task], nodes: int) -> bool:
        """Start all tasks anew after the loss of the node of these tasks, or of some nodes. Return whether they start.

        All counters begin again. Source: `stop_for_restart` of the runtime.
        """
        if self.spare < nodes or self.job.first_node.intersection(tasks):
            return False
        self.spare -= nodes
        self._start_all(self.step(), max(self.runs.values(), default=-1) + 1)
        return True

    @property
    def decision(self) -> Decision | None:
        """The decision of the completion policy so far."""
        return decide(self.job.roles, self.exits, self.job.of_job)

    def step(self) -> int:
        """Let time pass to the next event, and return it."""
        self.now += GAP
        return self.now

    def play(self, event: Event) -> list[TaskEnd]:
        """Let tasks exit until each of the event has once, or the job is decided. Return their ends, [] if none runs.

        Tasks that wait for a slot exit after they have got one.
        """
        left = dict.fromkeys(event.tasks)
        count = event.count or len(left)
        found: list[TaskEnd] = []
        while len(found) < count and self.decision is None:
            ready = [task for task in left if task in self.running][: count - len(found)]
            if not ready:
                break
            for task in ready:
                del left[task]
            found += self._exit(self.step(), sorted(ready), event)
        return found

    def stopped(self, failed: Collection[Task] = ()) -> list[Task]:
        """Return the tasks that had not completed, without those that `failed`, in the order of the job file."""
        done = {(each.role, each.index) for each in self.exits} | set(failed)
        return [task for task in self.job.tasks if task not in done]

    def result(self, decision: Decision, failed: Collection[Task] = ()) -> Result:
        """Return the result that the script writes. Source: `print_result` of the runtime."""
        job, exits = self.job, {(each.role, each.index): each for each in self.exits}

        def row(task: Task) -> TaskResult:
            end = exits.get(task)
            state: TaskState = "STOPPED"
            code, behaviour = TASK_STOPPED, "stop"
            if end is not None:
                state, code, behaviour = "SUCCEEDED" if end.succeeded else "FAILED", end.code, end.behaviour
            elif task in failed:
                state, code, behaviour = "FAILED", decision.code, decision.behaviour
            begun = task in self.runs
            return TaskResult(
                role=job.names[task[0]], index=task[1], task_attempt=self.runs.get(task, 0), state=state,
                exit_status=end.status if end else None, exit_code=code, behaviour=behaviour,
                node_name=job.node(task) if begun else None, started_at=self.began if begun else None,
                ended_at=self.now if begun else None,
            )  # fmt: skip

        trigger = None
        if decision.trigger is not None:
            rule, role, index, count = decision.trigger
            trigger = Trigger(role=job.names[role], index=index, completion_rule=rule, count=count, threshold=count)
        return Result(
            job_id="", outcome=decision.outcome, exit_code=decision.code, behaviour=decision.behaviour, reason="",
            started_at=self.began, ended_at=self.now, tasks=tuple(map(row, job.tasks)), trigger=trigger,
        )  # fmt: skip

    def _exit(self, now: int, tasks: Sequence[Task], event: Event) -> list[TaskEnd]:
        late = INTERRUPTED_BY if is_provisional(event.status, event.code) else 0
        roles = {role for role, _ in tasks}
        for task in tasks:
            self.running.remove(task)
            self._free(task[0])
        if late:
            # The slots of provisional exits get other tasks before the exits count.
            self._fill_all(roles, now)
        ends = [self._settled(task, event, now) for task in tasks]
        for (role, index), end in zip(tasks, ends, strict=True):
            if end.delay is None:
                self.exits.append(Exit(now, role, index, event.status, event.code, event.behaviour))
            else:
                self._waiting.setdefault(role, []).append((now + end.delay, index))
        if self.decision is None:
            self._fill_all(roles, now + late)
        return ends

    def _fill_all(self, roles: Iterable[int], now: int) -> None:
        """Give idle slots of roles to tasks, at this time and whenever a retry is due."""
        for role in roles:
            for due in (now, *sorted(due for due, _ in self._waiting.get(role, ()) if due > now)):
                self._fill(role, due)

    def _settled(self, task: Task, event: Event, now: int) -> TaskEnd:
        """Return the end of a task, with the delay of its retry. Source: `grant_retry` of the runtime."""
        counts = self._retries[task]
        delay = None if self.job.gang else counts.delay(event.behaviour)
        count = "" if delay is None else counts.count(event.behaviour)
        return TaskEnd(task=task, time=now, run=self.runs[task], delay=delay, retries=count)

    def _free(self, role: int) -> None:
        """Give the slot of an ended task to the next one if no retry waits. Source: `on_free` of the runtime."""
        self._idle[role] += 1
        if not self._waiting.get(role):
            self._start_next(role)

    def _fill(self, role: int, now: int) -> None:
        """Give idle slots to due retries, then to the next tasks. Source: `fill_slots_of_role` of the runtime."""
        waiting = self._waiting.get(role, [])
        for entry in [entry for entry in waiting if entry[0] <= now][: self._idle[role]]:
            waiting.remove(entry)
            self._start(role, entry[1])
        while self._idle[role] and self._next[role] < self.job.roles[role].instances:
            self._start_next(role)

    def _start_next(self, role: int) -> None:
        if self._next[role] < self.job.roles[role].instances:
            self._next[role] += 1
            self._start(role, self._next[role] - 1)

    def _start(self, role: int, index: int) -> None:
        self._idle[role] -= 1
        self.runs[role, index] = self.runs.get((role, index), self._first_run - 1) + 1
        self.running.add((role, index))
