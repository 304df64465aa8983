"""Wait for jobs and log how each ended; of many, why they failed is logged once for each cause at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...app.jobs.failure import failure_of
from ...app.jobs.folders.housekeeping import tidy_what_has_just_ended
from ...app.jobs.listing import line_of
from ...app.jobs.waiting import known_ends, wait_for_ends
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
    """Wait as `wait_for_ends` does and return how jobs ended; `groups` are those that were asked for, with their jobs.

    Raises NotFoundError for jobs of which nobody knows anything any more, and WaitTimeoutError after `timeout` seconds.
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
        told=tell,
        quiet=quiet,
        timeout=timeout,
        progress=ShownProgress(folders),
    )
    views = known_ends(ends)
    by_name = {view.folder.name: view for view in views}
    if many:
        for text in cause_texts([line_of(view) for view in views], lambda name: failure_of(session, by_name[name])):
            log(text)
    if many or groups:
        for text in total_texts(views, groups):
            log(text)
    tidy_what_has_just_ended(session, [view.folder for view in views])
    return views
