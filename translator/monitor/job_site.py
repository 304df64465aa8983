"""What a user wants to be notified of and has not been, and what the site of the job says about it. Pure.

Source: PAI protocol v2, jobStatusChangeNotification: each once for a job, `retried` once for each growth of the count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..state.history import History
    from .poll import View


class JobSite(Struct, frozen=True, kw_only=True):
    """The program that is notified, and the seconds between two polls.

    `notifier` is () where nobody is notified; `sends_mail` tells whether it reads a mail rather than JSON. `problem`
    says why this is not what the profile says that the job was submitted with.
    """

    notifier: tuple[str, ...] = ()
    sends_mail: bool = False
    poll_interval: float = 180.0
    problem: str = ""


def with_problem(view: View, problem_of: Callable[[History], str]) -> View:
    """Return a view that reports the problem with the profile of its job, as long as that profile has a use."""
    matters = view.history.ended is None or due_notifications(view.history)
    problem = problem_of(view.history) if matters else ""
    return replace(view, read_errors=(*view.read_errors, problem)) if problem else view


OLDEST_SECONDS = 24 * 3600
"""After so long nobody is told of an event any more."""


class Notification(Struct, frozen=True, kw_only=True):
    """Hold an event as a program is told of it. `key` is the same whenever the same event is told again."""

    key: str
    event: str
    job: str
    user: str
    state: str
    exit_code: int | None
    reason: str
    attempt: int
    retries: int
    job_id: str
    happened_at: int


def due_notifications(known: History) -> tuple[Notification, ...]:
    """Return the events that the user asked to be told of and that are in no `notified` record."""
    found = (_notification(known, event) for event in known.notify)
    return tuple(
        notification for notification in found if notification is not None and notification.key not in known.notified
    )


def _notification(known: History, event: str) -> Notification | None:
    end, key = known.ended, f"{known.tag.partition('.')[0]}/{event}"
    state, code, reason = (end.state, end.exit_code, end.reason) if end else ("RUNNING", None, "")
    if event == "running":
        # Also of a job that succeeded before anybody saw it run.
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
