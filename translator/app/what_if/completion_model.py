"""The model of the batch script's decisions: completion of a job, and retries of its tasks. Pure.

The bash decides in earnest (`templates/runtime/batch`); property tests compare both.
Source: PAI frameworkcontroller, completion policy (C1 to C4 with their tie-break) and retry policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ...job import RESTART_ALWAYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...state.result import Outcome

INTERRUPTED_BY = 2
"""Seconds for which a death by TERM or KILL may turn out to be the end of the whole job."""
MAX_BACK_OFF = 60
TERM, KILL = 143, 137
"""Exit statuses after these signals."""


class RoleModel(Struct, frozen=True):
    """A role: thresholds, -1 for never, and the budget of task retries."""

    instances: int
    min_failed: int
    min_succeeded: int
    slots: int = 1
    retries: int = 0


class Exit(Struct, frozen=True):
    """A task's last exit, without a retry after it. `termed` tells whether the task had got TERM."""

    time: int
    role: int
    index: int
    status: int
    code: int
    behaviour: str
    termed: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it counts for minSucceeded."""
        return self.behaviour == "success"

    @property
    def accepted(self) -> int:
        """When it is final."""
        return self.time + (INTERRUPTED_BY if self.termed or is_provisional(self.status, self.code) else 0)


class Decision(Struct, frozen=True):
    """The end of an attempt. `trigger` is rule, role, index, threshold."""

    outcome: Outcome
    code: int
    behaviour: str
    trigger: tuple[str, int, int, int] | None = None


def is_provisional(status: int, code: int) -> bool:
    """Return whether Slurm may have killed the task, because it ends the job."""
    return status == TERM or (status == KILL and code > 0)


def decide(roles: Sequence[RoleModel], exits: Sequence[Exit], of_job: int = -1) -> Decision | None:
    """Return the decision on completed tasks, in the order of their arrival; None while nothing decides.

    `of_job` is how many succeeded tasks of all roles complete the job (killAllOnCompletedTaskNumber of protocol v1).
    """
    found: list[tuple[int, int, int, Decision]] = []
    for position, role in enumerate(roles):
        for order, rule, threshold in ((0, "C2", role.min_failed), (1, "C3", role.min_succeeded)):
            counted = [each for each in exits if each.role == position and each.succeeded == (rule == "C3")]
            if 1 <= threshold <= len(counted):
                last = sorted(counted, key=lambda each: each.time)[threshold - 1]
                trigger = (rule, position, last.index, threshold)
                decision = (
                    Decision("failed", last.code, last.behaviour, trigger)
                    if rule == "C2"
                    else Decision("succeeded", 0, "success", trigger)
                )
                found.append((last.time, position, order, decision))
    succeeded = sorted((each for each in exits if each.succeeded), key=lambda each: each.time)
    if 1 <= of_job <= len(succeeded):
        last = succeeded[of_job - 1]
        decision = Decision("succeeded", 0, "success", ("C3", last.role, last.index, of_job))
        found.append((last.time, len(roles), 0, decision))
    if found:
        return min(found, key=lambda each: each[:3])[3]
    if len(exits) == sum(role.instances for role in roles):
        return Decision("succeeded", 0, "success")
    return None


class TaskRetries(Struct):
    """Count the retries of one task: `limit` is the role's, `ceiling` and `restarts` are the site's.

    Source: PAI rest-server, which gives tasks the fancy policy whatever their count is; PAI frameworkcontroller, retry
    policy. The ceiling, the restarts and the delays are our own.
    """

    limit: int
    ceiling: int
    restarts: int = 0
    used: int = 0
    transient: int = 0

    def delay(self, behaviour: str) -> int | None:
        """Return after how many seconds a task that ended so runs again, None if it does not."""
        if behaviour in ("transient", "conflict"):
            if self.transient == self.ceiling:
                return None
            self.transient += 1
            return back_off(self.transient - 1)
        if behaviour == "permanent" or (behaviour == "success" and self.limit != RESTART_ALWAYS):
            return None
        if self.most is not None and self.used >= self.most:
            return None
        self.used += 1
        return 0 if self.limit >= 0 else back_off(self.used - 1)

    @property
    def most(self) -> int | None:
        """The most retries on the role's budget, None for any number."""
        return {RESTART_ALWAYS: self.restarts, -1: None}.get(self.limit, self.limit)

    def count(self, behaviour: str) -> str:
        """Return the number of such retries and their limit, "1 of 3"; "" without a limit."""
        is_free = behaviour in ("transient", "conflict")
        used, most = (self.transient, self.ceiling) if is_free else (self.used, self.most)
        return "" if most is None else f"{used} of {most}"


def back_off(before: int) -> int:
    """Return the delay in seconds after so many retries that have no limit of the role's own."""
    return 0 if before == 0 else min(2**before, MAX_BACK_OFF)
