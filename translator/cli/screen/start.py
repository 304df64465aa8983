"""Show the live screen, or print it once; and log the last states of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...terminal_text import one_line
from ..output.console import log, print_result
from ..output.exit_status import ending_text
from ..output.job_list import change_text, log_nothing_left
from .app import watch_live, watch_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...app.session import Session

MAX_LINES = 10
"""Most jobs that are logged after the screen is closed."""


def print_screen(session: Session, names: Sequence[str]) -> None:
    """Print the contents of the screen once."""
    world = watch_once(session, names)
    if world.problem:
        log(f"these are the last known states: {world.problem}")
    if world.view is None and not world.jobs:
        log_nothing_left()


def show_screen(session: Session, names: Sequence[str]) -> int:
    """Show the screen, log the last states of jobs, and return the exit code."""
    code, world = watch_live(session, names)
    for line in world.jobs[:MAX_LINES]:
        print_result(change_text(line, session.now()))
    if len(world.jobs) > MAX_LINES:
        log(f"and {len(world.jobs) - MAX_LINES} more: paislurm list")
    if not world.jobs and world.view is not None:
        print_result(one_line(ending_text(world.view)))
    elif world.polled and not world.jobs:
        log_nothing_left()
    return code
