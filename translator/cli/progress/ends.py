"""Wait for jobs and log the end of each; for many, log each reason of failures once, at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.jobs.housekeeping import tidy_what_has_just_ended
from ...app.jobs.waiting import known_ends, wait_for_ends
from ...app.results.failure import failure_of
from ...app.views.line import job_line
from ...terminal_text import one_line
from ..output.console import log
from ..output.exit_status import ending_text, log_ending
from ..output.several import A_FEW, cause_texts, total_texts
from .shown import ShownProgress

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...app.session import Session
    from ...monitor.poll import View
    from ...state.job_folder import JobFolder


def log_ends(
    session: Session,
    folders: Sequence[JobFolder],
    groups: Mapping[str, Iterable[str]],
    *,
    first: bool = False,
    quiet: bool = False,
    timeout: float | None = None,
) -> list[View]:
    """Wait like `wait_for_ends` and return the ends of jobs; `groups` contains the jobs of each named group.

    Raises NotFoundError for a job that the backend has forgotten, and WaitTimeoutError after `timeout` seconds.
    """
    many = len(folders) > A_FEW

    def tell(view: View) -> None:
        if many:
            log(one_line(ending_text(view)))
        else:
            log_ending(view, failure_of(session, view))

    ends = wait_for_ends(
        session,
        folders,
        first=first,
        reported=tell,
        quiet=quiet,
        timeout=timeout,
        progress=ShownProgress(folders),
    )
    views = known_ends(ends)
    by_name = {view.folder.name: view for view in views}
    if many:
        for text in cause_texts([job_line(view) for view in views], lambda name: failure_of(session, by_name[name])):
            log(text)
    if many or groups:
        for text in total_texts(views, groups):
            log(text)
    tidy_what_has_just_ended(session, [view.folder for view in views])
    return views
