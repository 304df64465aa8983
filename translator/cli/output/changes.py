"""What `watch` prints where there is no screen: a line whenever a job stands in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...terminal_text import one_line
from ...times import format_time
from .console import log
from .job_table import WATCH_COLUMNS, cells

if TYPE_CHECKING:
    from ...app.views.line import JobLine


def change_text(line: JobLine, now: int) -> str:
    """Return how a job stands now, in a line."""
    words = " ".join(cells([line], WATCH_COLUMNS[:5], now)[0])
    why = "; ".join(filter(None, (line.reason, line.advice and f"what helps: {line.advice}")))
    return one_line(f"{format_time(now)}  {words}" + (f"  {why}" if why else ""))


def log_nothing_left() -> None:
    """Log that there is no job to watch."""
    log("no job of yours is left to watch")
