"""What the next attempt requests more of, after the last one had too little memory or time. Pure."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from ..exit_codes.codes import DEADLINE, OUT_OF_MEMORY
from ..plural import counted, memory_of_roles
from ..state.changes import MEMORY, TIME, changed_options, memory_step
from ..times import seconds_of, slurm_time
from .retry import NO_MORE, More

if TYPE_CHECKING:
    from ..state.history import History
    from ..state.result import Result


def more_after(known: History, code: int, result: Result | None) -> More:
    """Return what the attempt after an end with this code requests more of.

    Only the cause of the end makes a request grow, and only if it grows for a role that lacked memory. The same history
    and end give the same answer, so that a step that was interrupted can be repeated.
    """
    if code == OUT_OF_MEMORY:
        return _more_memory(known, result)
    return _more_time(known) if code == DEADLINE else NO_MORE


def _more_memory(known: History, result: Result | None) -> More:
    steps, step = known.retry_policy.memory_steps, memory_step(known.changes) + 1
    if step >= len(steps):
        return _no_more(known, MEMORY, len(steps))
    grown = {role: mib for role, mib in steps[step].items() if mib > steps[step - 1].get(role, 0)}
    lacking = {task.role for task in result.tasks if task.exit_code == OUT_OF_MEMORY} if result else set()
    if lacking and not lacking & grown.keys():
        return More(rule=f"the memory of {' and '.join(sorted(lacking))} does not grow (`retryWith`)")
    text = memory_of_roles(grown)
    return More(values={MEMORY: text}, rule=f"retried with more memory: {text}, {step} of {len(steps) - 1}")


def _more_time(known: History) -> More:
    steps, now = known.retry_policy.time_steps, 0
    with suppress(ValueError):
        now = seconds_of(changed_options(known.changes).get(TIME, "0"))
    count = sum(TIME in retry.more for retry in known.retries)
    longer = next((seconds for seconds in steps[count + 1 :] if seconds > now), None)
    if longer is None:
        return _no_more(known, TIME, len(steps))
    text = slurm_time(timedelta(seconds=longer))
    return More(values={TIME: text}, rule=f"retried with a longer time limit: {text}, {count + 1} of {len(steps) - 1}")


def _no_more(known: History, name: str, steps: int) -> More:
    """Return why a request does not grow any more, nothing for a job whose request never grows."""
    if why := known.retry_policy.no_more.get(name):
        return More(rule=f"no more {name}: {why}")
    return More(rule=f"`retryWith` is used up: its {name} has grown {counted(steps - 1, 'time')}") if steps else NO_MORE
