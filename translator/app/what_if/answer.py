"""The answer to a scenario, for `--json`."""

from __future__ import annotations

from msgspec import Struct

from ...view.states import State


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
