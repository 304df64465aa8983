"""Notifications that are due, and the site's settings for a job's monitor. Pure.

Source: PAI protocol v2, jobStatusChangeNotification: each once for a job, `retried` once for each growth of the
count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..state.history import History
    from .facts import View


class JobSite(Struct, frozen=True, kw_only=True):
    """The program for notifications, and the seconds between two polls.

    `notifier` is () if none is configured; `sends_mail` means that it reads a mail instead of JSON. `problem` tells
    why these settings differ from those of the job's submit, or is "".
    """

    notifier: tuple[str, ...] = ()
    sends_mail: bool = False
    poll_interval: float = 0.0
    problem: str = ""


def with_problem(view: View, problem_of: Callable[[History], str]) -> View:
    """Return a view with the problem of the job's profile, as long as the profile is needed."""
    is_needed = view.history.ended is None or due_notifications(view.history)
    problem = problem_of(view.history) if is_needed else ""
    return replace(view, read_errors=(*view.read_errors, problem)) if problem else view


OLDEST_SECONDS = 24 * 3600
"""Older events notify nobody."""


class Notification(Struct, frozen=True, kw_only=True):
    """An event, as the site's program receives it."""

    key: str
    """The name of the event, the same in repeated calls of the program."""
    event: str
    """`running`, `succeeded`, `failed`, `stopped` or `retried`."""
    job: str
    """The job's name, without the user's."""
    user: str
    """The owner of the job."""
    state: str
    """The job's state."""
    exit_code: int | None
    """OpenPAI's exit code of the job, None while it has none."""
    reason: str
    """The reason for the job's state, in a sentence."""
    attempt: int
    """The number of the last attempt, from 0."""
    retries: int
    """How often the job was retried."""
    job_id: str
    """The id of the Slurm job."""
    happened_at: int
    """When the event happened."""


def due_notifications(known: History) -> tuple[Notification, ...]:
    """Return the requested events that have no `notified` record."""
    found = (_notification(known, event) for event in known.notify)
    return tuple(
        notification for notification in found if notification is not None and notification.key not in known.notified
    )


def _notification(known: History, event: str) -> Notification | None:
    end, key = known.ended, f"{known.tag.partition('.')[0]}/{event}"
    state, code, reason = (end.state, end.exit_code, end.reason) if end else ("RUNNING", None, "")
    if event == "running":
        # A job may succeed before a poll finds it running.
        if not known.ran and state != "SUCCEEDED":
            return None
        time = end.happened_at if end else known.observed.happened_at if known.observed else known.asked
    elif event == "retried":
        if not known.retries:
            return None
        last = known.retries[-1]
        key, time = f"{key}/{last.retries}", last.happened_at
        state, code, reason = "RUNNING", last.exit_code, last.reason
    elif end is None or event != end.state.lower():
        return None
    else:
        time = end.happened_at
    return Notification(
        key=key,
        event=event,
        job=known.job,
        user=known.user,
        state=state,
        exit_code=code,
        reason=reason,
        attempt=known.attempt,
        retries=known.counters.total,
        job_id=known.job_id,
        happened_at=time,
    )
