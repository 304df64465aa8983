"""Write an HTML page about a job, or a comparison of jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ...report.page import comparison_page, job_page
from ...terminal_text import one_line
from ..output_file import write_output
from .gather import job_reports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...state.job_folder import JobFolder
    from ..session import Session


class WrittenReport(Struct, frozen=True, kw_only=True):
    """A page about jobs."""

    file: str
    """The path of the page."""


def write_report(
    session: Session,
    folders: Sequence[JobFolder],
    output: str | os.PathLike[str] | None = None,
    *,
    group: str | None = None,
) -> WrittenReport:
    """Write an HTML page about a job, or a comparison of several jobs or a group; warn of missing data.

    Default for `output`: JOB.report.html in the current folder. Raises UsageError if `output` is not a file.
    """
    several = group is not None or len(folders) > 1
    reports = job_reports(session, folders, details=not several)
    page = comparison_page(reports, group or "") if several else job_page(reports[0])
    path = Path(output or f"{_page_name(folders, group)}.report.html")
    write_output(path, page.encode("utf-8", "backslashreplace"), is_named=output is not None)
    for report in reports:
        for note in report.notes:
            session.say(f"warning: {one_line(report.name)}: {note}")
    return WrittenReport(file=str(path))


def _page_name(folders: Sequence[JobFolder], group: str | None) -> str:
    """Return the name of the group or job in portable characters."""
    if group is None:
        return folders[0].name.partition("~")[2] if len(folders) == 1 else "jobs"
    return "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in group).lstrip(".") or "group"
