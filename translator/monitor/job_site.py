"""What the site of a job says about looking after it: who is notified, and how often Slurm is polled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .notification import due_notifications

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
