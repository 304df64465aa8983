"""An independent model of OpenPAI's completion policy and task retry, which the bash is held against.

Source: PAI frameworkcontroller, completion policy (C1 to C4 with their tie-break) and retry policy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

INTERRUPTED_BY = 2
"""Seconds for which a death by TERM or KILL may turn out to be the end of the whole job."""


@dataclass(frozen=True)
class RoleModel:
    """A role: thresholds, -1 for never, and the budget of task retries."""

    instances: int
    min_failed: int
    min_succeeded: int
    slots: int = 1
    retries: int = 0


@dataclass(frozen=True)
class Exit:
    """A task's last exit, which no retry follows: when, which, and with what."""

    time: int
    role: int
    index: int
    status: int
    code: int
    behaviour: str
    termed: bool = False
    """Whether TERM reached the task before."""

    @property
    def succeeded(self) -> bool:
        """Tell whether it counts for minSucceeded."""
        return self.behaviour == "success"

    @property
    def accepted(self) -> int:
        """Return when it is believed."""
        return self.time + (
            INTERRUPTED_BY if self.termed or self.status == 143 or (self.status == 137 and self.code > 0) else 0
        )


@dataclass(frozen=True)
class Decision:
    """What ends a job: `trigger` is rule, role, index, threshold."""

    outcome: str
    code: int
    behaviour: str
    trigger: tuple[str, int, int, int] | None = None


def decide(roles: list[RoleModel], exits: list[Exit], of_job: int = -1) -> Decision | None:
    """Return what completed tasks, in the order of their arrival, amount to; None while nothing decides.

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


@dataclass
class TaskRetries:
    """Count the retries of one task.

    Source: PAI rest-server, which gives tasks the fancy policy whatever their count is; PAI frameworkcontroller, retry
    policy. The ceiling, the restarts and the delays are our own.
    """

    limit: int
    ceiling: int
    restarts: int = 0
    used: int = field(default=0)
    transient: int = field(default=0)

    def delay(self, behaviour: str) -> int | None:
        """Return after how many seconds a task that ended so runs again, None if it does not."""
        if behaviour in ("transient", "conflict"):
            if self.transient == self.ceiling:
                return None
            self.transient += 1
            return back_off(self.transient - 1)
        if behaviour == "permanent" or (behaviour == "success" and self.limit != -2):
            return None
        most = {-2: self.restarts, -1: math.inf}.get(self.limit, self.limit)
        if self.used >= most:
            return None
        self.used += 1
        return 0 if self.limit >= 0 else back_off(self.used - 1)


def back_off(before: int) -> int:
    """Return the delay after so many retries that have no end of the role's own."""
    return 0 if before == 0 else min(2**before, 60)
