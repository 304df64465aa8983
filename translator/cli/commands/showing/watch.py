"""`paislurm watch`: how jobs stand, as it changes."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from ....terminal_text import one_line
from ...options import examples, json_option, pass_session
from ...output.console import log, print_json_line, print_result, takes_a_screen
from ...shell.candidates import JobOrGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....app.jobs.listing import Line
    from ....app.session import Session

MAX_LINES = 10
"""So many jobs are told of when the screen is left."""


@click.command(
    epilog=examples("paislurm watch", "paislurm watch my-job", "paislurm watch 'sweep-*'", "paislurm watch --once")
)
@click.argument("jobs", metavar="[JOB]...", nargs=-1, type=JobOrGroup())
@click.option(
    "--once",
    is_flag=True,
    help="Print once what the screen shows, anywhere, and end; with --json, a line for each job.",
)
@json_option
@pass_session
def command(session: Session, jobs: tuple[str, ...], *, once: bool, as_json: bool) -> int:
    """Show how jobs stand, as it changes: all that have not ended, or those that are named.

    On a terminal that is a screen on which keys show tasks and logs, open a shell and cancel: ? lists them, q quits.
    Elsewhere, and with --json, a line for each change; that ends when all have ended. Ctrl-C ends the watching, and
    no job.
    """
    from ....app.jobs.selecting import select

    names = [folder.name for folder in select(session.store, jobs, user=session.user)] if jobs else []
    if once and not as_json:
        from ...screen.app import watch_once

        world = watch_once(session, names)
        if world.problem:
            log(f"states are those that were known last: {world.problem}")
        if world.view is None and not world.jobs:
            _log_nothing_left()
        return 0
    if not as_json and takes_a_screen(sys.stdin, sys.stdout):
        return _on_screen(session, names)
    if not _print_changes(session, names, once=once, as_json=as_json):
        _log_nothing_left()
    return 0


def _on_screen(session: Session, names: Sequence[str]) -> int:
    """Show the screen, and leave below it how the jobs stood last."""
    from ...output.exit_status import ending_text
    from ...screen.app import watch_live

    code, world = watch_live(session, names)
    for line in world.jobs[:MAX_LINES]:
        print_result(_text(session, line))
    if len(world.jobs) > MAX_LINES:
        log(f"and {len(world.jobs) - MAX_LINES} more: paislurm list")
    if not world.jobs and world.view is not None:
        print_result(one_line(ending_text(world.view)))
    elif world.looked and not world.jobs:
        _log_nothing_left()
    return code


def _log_nothing_left() -> None:
    log("no job of yours is left to watch")


def _print_changes(session: Session, names: Sequence[str], *, once: bool, as_json: bool) -> bool:
    """Print a line whenever a job stands in another way, until all have ended or `once`; False if there is none."""
    from ....app.jobs.changes import JobLines
    from ....app.jobs.listing import lasting
    from ....app.jobs.waiting import TICK

    jobs, before, told = JobLines(session, names), dict[str, "Line"](), ""
    while True:
        look = jobs.look(time.monotonic())
        if look is not None:
            if look.problem and look.problem != told:
                log(f"states are those that were known last; a backend does not answer: {look.problem}")
            told = look.problem
            for line in look.found:
                if before.get(line.name) != lasting(line):
                    before[line.name] = lasting(line)
                    if as_json:
                        print_json_line(line.as_dict())
                    else:
                        print_result(_text(session, line))
            if once or look.over:
                return bool(look.found)
        time.sleep(TICK)


def _text(session: Session, line: Line) -> str:
    from ....times import format_time
    from ...output.job_table import WATCH_COLUMNS, cells

    now = session.now()
    words = " ".join(cells([line], WATCH_COLUMNS[:5], now)[0])
    why = "; ".join(filter(None, (line.reason, line.advice and f"what helps: {line.advice}")))
    return one_line(f"{format_time(now)}  {words}" + (f"  {why}" if why else ""))
